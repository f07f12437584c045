//===- StructureTest.cpp - every rule of a sound artifact, broken once ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One edit per rule, and the finding that it must cause.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

#include <functional>

using namespace pprt;
using namespace pprt::test;

namespace {

/// Breaks one thing in a sound artifact; the message that must follow.
struct Case {
  const char *name;
  std::function<void(ppx::ArtifactT &)> breakIt;
  std::string message;
};

void PrintTo(const Case &c, std::ostream *stream) { *stream << c.name; }

class Structure : public testing::TestWithParam<Case> {};

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return info.param.name;
}

/// Two stages, two replicas, with a contraction among the kernels.
ppx::ArtifactT soundArtifact() {
  PipelineShape shape;
  shape.replicas = 2;
  shape.clip = true;
  ppx::ArtifactT artifact = makePipeline(shape);
  // [4, 3] x [3, 2] -> [4, 2], plus a bias row; tightly packed.
  ppx::ContractionT body;
  body.m = 4;
  body.n = 2;
  body.k = 3;
  auto view = [](uint64_t row, uint64_t column) {
    auto result = std::make_unique<ppx::MatrixViewT>();
    result->row_stride = row;
    result->column_stride = column;
    return result;
  };
  body.lhs = view(3, 1);
  body.rhs = view(2, 1);
  body.out = view(2, 1);
  body.epilogues.push_back(std::make_unique<ppx::EpilogueT>());
  body.epilogues.back()->parameter = 2;
  body.epilogues.back()->view = view(0, 1);
  body.out_parameter = 3;
  auto kernel = std::make_unique<ppx::KernelT>();
  kernel->name = "linear";
  for (uint64_t elements : {12, 6, 2, 8}) {
    kernel->parameters.push_back(std::make_unique<ppx::KernelParameterT>());
    kernel->parameters.back()->bytes = 4 * elements;
  }
  kernel->parameters.back()->access = ppx::Access_write;
  kernel->body.Set(std::move(body));
  artifact.kernels.push_back(std::move(kernel));
  return artifact;
}

ppx::ContractionT &contraction(ppx::ArtifactT &artifact) {
  return *artifact.kernels.back()->body.AsContraction();
}

// Sections of the first program.
WrittenList &setup(ppx::ArtifactT &artifact) {
  return writtenOf(*artifact.programs[0], Section::setup);
}
WrittenList &body(ppx::ArtifactT &artifact) {
  return writtenOf(*artifact.programs[0], Section::body);
}
WrittenList &teardown(ppx::ArtifactT &artifact) {
  return writtenOf(*artifact.programs[0], Section::teardown);
}

/// The first instruction with `opcode` in the body of the first program.
ppx::InstructionT &first(ppx::ArtifactT &artifact, ppx::Opcode opcode) {
  for (const auto &instruction : body(artifact))
    if (instruction->opcode == opcode)
      return *instruction;
  return *body(artifact).front();
}

} // namespace

TEST(Structure, TheUnbrokenArtifactIsSound) {
  const CheckResult result = checkStructure(soundArtifact());
  EXPECT_TRUE(result.ok()) << result.status().message();
}

TEST(Structure, AResultWithoutElementsHasAPlaceForEach) {
  ppx::ArtifactT artifact = soundArtifact();
  ppx::ContractionT &product = contraction(artifact);
  product.n = 0;
  product.rhs->row_stride = product.out->row_stride = 0;
  const CheckResult result = checkStructure(artifact);
  EXPECT_TRUE(result.ok()) << result.status().message();
}

TEST_P(Structure, IsRefused) {
  ppx::ArtifactT artifact = soundArtifact();
  GetParam().breakIt(artifact);
  const CheckResult result = checkStructure(artifact);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), ExitCode::badArtifact);
  EXPECT_EQ(result.findings.front().message, GetParam().message);
  // No other check may look at an unsound artifact.
  for (const Finding &finding : checkArtifact(artifact).findings)
    EXPECT_EQ(finding.kind, FindingKind::structure);
}

INSTANTIATE_TEST_SUITE_P(
    Artifact, Structure,
    testing::Values(
        Case{"axisSize", [](auto &a) { a.axes[1]->size = 0; },
             "mesh axis 'dp' expects a size >= 1, got 0"},
        Case{"groupAxis", [](auto &a) { a.groups[0]->axes = {7}; },
             "group 0: group expects axes below 3, got 7"},
        Case{"missingRank", [](auto &a) { a.programs[0]->ranks.pop_back(); },
             "the programs expect to list each of 4 ranks once, got 3 ranks"},
        Case{"rankTwice", [](auto &a) { a.programs[0]->ranks[0] = 2; },
             "program 'program1' expects each rank once, got rank 2 twice"},
        Case{"rankTooLarge", [](auto &a) { a.programs[0]->ranks[0] = 9; },
             "program 'program0' expects ranks below 4, got 9"},
        Case{"slotElement",
             [](auto &a) {
               a.programs[0]->slots[0]->element = ppx::ElementType(77);
             },
             "program 'program0', slot 0 'master' expects a known element "
             "type, got 77"},
        Case{"slotBytes", [](auto &a) { a.programs[0]->slots[0]->bytes = 47; },
             "program 'program0', slot 0 'master' expects the bytes of its "
             "shape, 48, got 47"},
        Case{"slotShapeOverflows",
             [](auto &a) {
               a.programs[0]->slots[0]->shape = {1ull << 40, 1ull << 40};
             },
             "program 'program0', slot 0 'master' expects the bytes of its "
             "shape, 2^63 or more, got 48"},
        Case{"slotAlignment",
             [](auto &a) { a.programs[0]->slots[0]->offset = 32; },
             "program 'program0', slot 0 'master' expects an offset aligned "
             "to 64, got 32"},
        Case{"slotOutsideOfArena",
             [](auto &a) { a.programs[0]->slots[0]->offset = 1ull << 63; },
             "program 'program0', slot 0 'master' expects to end within the "
             "arena of 992 bytes, got offset 9223372036854775808 and 48 "
             "bytes"},
        Case{"slotEndsOutside",
             [](auto &a) { a.programs[0]->slots[0]->offset = 960; },
             "program 'program0', slot 0 'master' expects to end within the "
             "arena of 992 bytes, got offset 960 and 48 bytes"},
        Case{"timeOverflows",
             [](auto &a) {
               for (uint32_t size : {2, 65536, 65536}) {
                 a.axes.push_back(std::make_unique<ppx::AxisT>());
                 a.axes.back()->name = "t";
                 a.axes.back()->size = size;
                 a.axes.back()->kind = ppx::AxisKind_time;
               }
             },
             "mesh expects at most 2^31-1 micro-batches, got more at axis "
             "'t'"},
        Case{
            "arenaBehindTheSlots",
            [](auto &a) { a.programs[0]->arena_bytes = 1ull << 40; },
            "program 'program0' expects an arena that ends with its last slot, "
            "at 992 bytes, got 1099511627776"},
        Case{
            "queueKind",
            [](auto &a) { a.programs[0]->queues[0]->kind = ppx::QueueKind(9); },
            "program 'program0', queue 'compute' expects a known kind, got "
            "9"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Kernel, Structure,
    testing::Values(
        Case{"access",
             [](auto &a) {
               a.kernels[0]->parameters[0]->access = ppx::Access(5);
             },
             "kernel 'kernel0' expects a known access, got 5"},
        Case{"noBody", [](auto &a) { a.kernels[0]->body.Reset(); },
             "kernel 'kernel0' expects a compiled kernel or a contraction, "
             "got 0"},
        Case{"noSymbol",
             [](auto &a) {
               a.kernels[0]->body.AsCompiledKernel()->symbol.clear();
             },
             "kernel 'kernel0' expects a symbol, got none"},
        Case{"rows",
             [](auto &a) {
               auto &kernel = *a.kernels[0];
               kernel.body.AsCompiledKernel()->symbol = "f_01234567";
               kernel.body.AsCompiledKernel()->rows = 1u << 20;
             },
             "kernel 'kernel0' expects machine code made for its rows and "
             "parameters, 1029599b, got 'f_01234567'"},
        Case{"scratch",
             [](auto &a) {
               auto &kernel = *a.kernels[0];
               kernel.body.AsCompiledKernel()->scratch_bytes = 1u << 20;
               kernel.body.AsCompiledKernel()->symbol = kernelSignature(kernel);
             },
             "kernel 'kernel0' expects a last parameter that is written, of at "
             "least 1048576 bytes, for its scratch, got none"},
        Case{"library",
             [](auto &a) { contraction(a).library = ppx::MatrixLibrary(9); },
             "kernel 'linear' expects a known library, got 9"},
        Case{"outElementsMeet",
             [](auto &a) { contraction(a).out->row_stride = 0; },
             "kernel 'linear' expects a place for each element of out, got "
             "stride 0 over 1 elements"},
        Case{"outRowsOverlap",
             [](auto &a) { contraction(a).out->row_stride = 1; },
             "kernel 'linear' expects a place for each element of out, got "
             "stride 1 over 2 elements"},
        Case{"outIsNoOperand",
             [](auto &a) { contraction(a).out_parameter = 1; },
             "kernel 'linear' expects out within the 24 bytes of parameter 1, "
             "got element 7 of f32"},
        Case{"epilogueReadsOut",
             [](auto &a) {
               a.kernels.back()->parameters[3]->access = ppx::Access_read_write;
               contraction(a).epilogues[0]->parameter = 3;
             },
             "kernel 'linear' expects an epilogue's operand before out, "
             "parameter 3, got parameter 3"},
        Case{"operandIsWritten",
             [](auto &a) {
               a.kernels.back()->parameters[1]->access = ppx::Access_read_write;
             },
             "kernel 'linear' expects to read parameter 1 only, got access "
             "read_write"},
        Case{"parameterToSpare",
             [](auto &a) {
               a.kernels.back()->parameters.push_back(
                   std::make_unique<ppx::KernelParameterT>());
             },
             "kernel 'linear' expects 4 parameters, got 5"},
        Case{"noView", [](auto &a) { contraction(a).lhs.reset(); },
             "kernel 'linear' expects a view of lhs, got none"},
        Case{"viewOutside", [](auto &a) { contraction(a).lhs->offset = 1; },
             "kernel 'linear' expects lhs within the 48 bytes of parameter 0, "
             "got element 12 of f32"},
        Case{"viewOverflows",
             [](auto &a) { contraction(a).rhs->row_stride = ~0ull; },
             "kernel 'linear' expects rhs within the 24 bytes of parameter 1, "
             "got element 2^64 of f32"},
        Case{"batchStrides", [](auto &a) { contraction(a).batch = {2}; },
             "kernel 'linear' expects 1 batch strides of lhs, got 0"},
        Case{"contractionElement",
             [](auto &a) { contraction(a).element = ppx::ElementType(9); },
             "kernel 'linear' expects a known element type, got 9"},
        Case{"outParameter", [](auto &a) { contraction(a).out_parameter = 4; },
             "kernel 'linear' expects out in one of 4 parameters, got "
             "parameter 4"},
        Case{"outIsRead",
             [](auto &a) {
               a.kernels.back()->parameters[3]->access = ppx::Access_read;
             },
             "kernel 'linear' expects to write out, got access read"},
        Case{"accumulateIntoWriteOnly",
             [](auto &a) { contraction(a).accumulate = true; },
             "kernel 'linear' expects to read out, got access write"},
        Case{"epilogueKind",
             [](auto &a) {
               contraction(a).epilogues[0]->kind = ppx::EpilogueKind(9);
             },
             "kernel 'linear' expects a known epilogue, got 9"},
        Case{"factorParameter",
             [](auto &a) {
               contraction(a).epilogues[0]->kind = ppx::EpilogueKind_multiply;
               contraction(a).epilogues[0]->parameter = 8;
             },
             "kernel 'linear' expects an epilogue in one of 4 parameters, got "
             "parameter 8"},
        Case{"epilogueParameter",
             [](auto &a) { contraction(a).epilogues[0]->parameter = 8; },
             "kernel 'linear' expects an epilogue in one of 4 parameters, got "
             "parameter 8"},
        Case{"noWorkspace",
             [](auto &a) { contraction(a).workspace_bytes = 64; },
             "kernel 'linear' expects a parameter for its workspace after "
             "out, got none"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Argument, Structure,
    testing::Values(
        Case{"role", [](auto &a) { a.arguments[0]->role = ppx::Role(9); },
             "argument 'master' expects a known role, got 9"},
        Case{"paddedRank", [](auto &a) { a.arguments[0]->padded_shape = {}; },
             "argument 'master' expects a padded shape of 1 dimensions, got "
             "0"},
        Case{"paddedTooSmall",
             [](auto &a) { a.arguments[0]->padded_shape = {11}; },
             "argument 'master' expects dimension 0 padded to at least 12, "
             "got 11"},
        Case{"shardingRank", [](auto &a) { a.arguments[0]->sharding.clear(); },
             "argument 'master' expects a sharding of 1 dimensions, got 0"},
        Case{"shardingAxis",
             [](auto &a) { a.arguments[0]->sharding[0]->axes = {5}; },
             "argument 'master' expects mesh axes below 3, got 5"},
        Case{"axisTwice",
             [](auto &a) { a.arguments[0]->sharding[0]->axes = {1, 1}; },
             "argument 'master' expects each mesh axis once, got 'dp' twice"},
        Case{"shardRemainder",
             [](auto &a) {
               a.arguments[0]->padded_shape = {13};
               a.arguments[0]->sharding[0]->axes = {1};
             },
             "argument 'master' expects axes that divide its padded shape, "
             "got a remainder"},
        Case{"storedShape",
             [](auto &a) { a.arguments[0]->stored_shape = {3, 5}; },
             "argument 'master' expects a stored shape of as many elements "
             "as its shape"},
        Case{"slotTable",
             [](auto &a) { a.programs[1]->argument_slots.pop_back(); },
             "program 'program1' expects a slot, or -1, for each of 2 "
             "arguments, got 1"},
        Case{"slotIndex",
             [](auto &a) { a.programs[0]->argument_slots[0] = 99; },
             "argument 'master' expects -1 or one of 15 slots of program "
             "'program0', got 99"},
        Case{"slotCopies",
             [](auto &a) {
               ppx::ProgramT &program = *a.programs[0];
               program.slots[size_t(program.argument_slots[0])]->more = {0};
             },
             "argument 'master' expects a slot of one copy in program "
             "'program0', got 2"},
        Case{"slotSize",
             [](auto &a) { a.arguments[0]->sharding[0]->axes = {1}; },
             "argument 'master' expects a slot of 24 bytes f32 in program "
             "'program0', got 48 bytes f32"},
        Case{"keptInPartsOfTime",
             [](auto &a) {
               a.axes.push_back(std::make_unique<ppx::AxisT>());
               a.axes.back()->name = "mb";
               a.axes.back()->size = 1;
               a.axes.back()->kind = ppx::AxisKind_time;
               a.arguments[0]->sharding[0]->axes = {2};
             },
             "argument 'master' expects axes of devices, got time axis 'mb'"},
        Case{"overlap",
             [](auto &a) {
               *a.arguments[1] = *a.arguments[0];
               a.arguments[1]->name = "input";
               for (auto &program : a.programs)
                 program->argument_slots[1] = program->argument_slots[0];
             },
             "program 'program0' expects arguments 'master' and 'input' apart "
             "in memory, got slots that overlap"},
        Case{"inputWithASlot",
             [](auto &a) { a.programs[0]->argument_slots[1] = 0; },
             "argument 'input' expects no slot of its own in program "
             "'program0', as it is loaded, got 0"},
        Case{"heldByNobody",
             [](auto &a) {
               for (auto &program : a.programs)
                 program->argument_slots[0] = -1;
             },
             "argument 'master' expects a stage that holds it, got none"},
        Case{"heldByHalfAStage",
             [](auto &a) {
               makePrivateProgram(a, 1);
               a.programs.back()->argument_slots[0] = -1;
             },
             "argument 'master' expects all ranks of stage 0 to hold it or "
             "none, got 1 of its 2 programs"},
        Case{"emittedByNobody", [](auto &a) { a.outputs[0]->stages.clear(); },
             "output 'loss' expects a stage that emits it, got none"},
        Case{"emittedByAnotherStage",
             [](auto &a) { a.outputs[0]->stages = {0}; },
             "output 'loss' expects program 'program1' of stage 1 not to emit "
             "it, as the stage is none of its stages"},
        Case{"outputStage", [](auto &a) { a.outputs[0]->stages = {2}; },
             "output 'loss' expects stages below 2, got 2"},
        Case{"outputStageTwice", [](auto &a) { a.outputs[0]->stages = {1, 1}; },
             "output 'loss' expects its stages in ascending order, got 1 "
             "after 1"},
        Case{"noEmit", [](auto &a) { teardown(a).pop_back(); },
             "output 'weights' expects program 'program0' of stage 0 to emit "
             "it, got no such instruction"},
        Case{"emittedInPart",
             [](auto &a) {
               a.axes.push_back(std::make_unique<ppx::AxisT>());
               a.axes.back()->name = "mb";
               a.axes.back()->size = 2;
               a.axes.back()->kind = ppx::AxisKind_time;
               a.outputs[1]->shape = a.outputs[1]->padded_shape = {24};
               a.outputs[1]->sharding[0]->axes = {2};
             },
             "output 'weights' expects program 'program0' of stage 0 to emit "
             "each of its 2 parts over time, got 1"},
        Case{"lossAfterTheStep",
             [](auto &a) {
               a.outputs.push_back(
                   std::make_unique<ppx::OutputT>(*a.outputs[0]));
               WrittenList &end = writtenOf(*a.programs[1], Section::teardown);
               end.push_back(std::make_unique<ppx::InstructionT>(*end.back()));
               end.back()->binding = 2;
               end.back()->arguments = {10};
             },
             "output 'loss' expects program 'program1' of stage 1 to emit the "
             "loss in its body, got it elsewhere"},
        Case{"outputRole",
             [](auto &a) { a.outputs[0]->role = ppx::OutputRole(9); },
             "output 'loss' expects a known role, got 9"},
        Case{"lossIsATensor",
             [](auto &a) { a.outputs[1]->role = ppx::OutputRole_loss; },
             "output 'weights' expects one element as the loss"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Instruction, Structure,
    testing::Values(
        Case{"opcode", [](auto &a) { body(a)[1]->opcode = ppx::Opcode(99); },
             "rank 0, body #1 '0P ': expects a known opcode, got 99"},
        Case{"phase", [](auto &a) { body(a)[0]->phase = ppx::Phase(99); },
             "rank 0, body #0 '0? run': expects a known phase, got 99"},
        Case{"stage", [](auto &a) { body(a)[0]->stage = 2; },
             "rank 0, body #0 '2P run': expects a stage below 2, got 2"},
        Case{"part", [](auto &a) { body(a)[0]->micro_batch = 2; },
             "rank 0, body #0 '0P2 run': expects a micro-batch below 2, got 2"},
        Case{"queue", [](auto &a) { body(a)[0]->queue = 99; },
             "rank 0, body #0 '0P run': expects a queue below 7, got 99"},
        Case{"waitQueue",
             [](auto &a) { body(a)[0]->waits = {ppx::Wait(99, 1)}; },
             "rank 0, body #0 '0P run': expects to wait for a queue below 7, "
             "got 99"},
        Case{"waitForNothing",
             [](auto &a) { body(a)[0]->waits = {ppx::Wait(2, 0)}; },
             "rank 0, body #0 '0P run': expects to wait for one of the "
             "instructions of queue 'send' in this routine, numbered 1 to "
             "2, got number 0"},
        Case{"waitForMoreThanThereAre",
             [](auto &a) { body(a)[0]->waits = {ppx::Wait(2, 3)}; },
             "rank 0, body #0 '0P run': expects to wait for one of the "
             "instructions of queue 'send' in this routine, numbered 1 to "
             "2, got number 3"},
        Case{"slot", [](auto &a) { body(a)[0]->arguments = {99}; },
             "rank 0, body #0 '0P run': expects slots below 15, got 99"},
        Case{"kernel", [](auto &a) { body(a)[0]->kernel = 99; },
             "rank 0, body #0 '0P run': expects a kernel below 10, got 99"},
        Case{"argumentCount",
             [](auto &a) { body(a)[0]->arguments.push_back(0); },
             "rank 0, body #0 '0P run': expects 2 arguments, got 3"},
        Case{"argumentBytes", [](auto &a) { body(a)[0]->arguments[0] = 0; },
             "rank 0, body #0 '0P run': expects 64 bytes as parameter 0 of "
             "kernel 'kernel1', got slot 'master' of 48 bytes"},
        Case{"writesOverlap", [](auto &a) { body(a)[0]->arguments[1] = 3; },
             "rank 0, body #0 '0P run': expects what it writes apart from its "
             "other slots, got 'rate 0' and 'rate 0'"},
        // The schema defines which results engines compute in place.
        Case{"kernelInPlace",
             [](auto &a) {
               ppx::InstructionT &run = *body(a)[3];
               run.arguments[2] = run.arguments[1];
             },
             "rank 0, body #3 '0F0 run': expects what it writes apart from its "
             "other slots, got 'residual0' and 'residual0'"},
        Case{"permuteInPlace",
             [](auto &a) {
               ppx::InstructionT &permute = *setup(a)[1];
               permute.arguments[1] = permute.arguments[0];
             },
             "rank 0, setup #1 '0P collective': expects what it writes "
             "apart from its other slots, got 'weights' and 'weights'"},
        Case{"crossedSums",
             [](auto &a) {
               first(a, ppx::Opcode_collective).arguments = {3, 4, 4, 3};
             },
             "rank 0, body #12 '0U collective': expects what it writes apart "
             "from its other slots, got 'rate 0' and 'rate 0'"},
        Case{"copyInPlace", [](auto &a) { teardown(a)[0]->arguments = {1, 1}; },
             "rank 0, teardown #0 '0U copy': expects what it writes apart from "
             "its other slots, got 'weights' and 'weights'"},
        Case{"flagOverItsInput",
             [](auto &a) {
               ppx::InstructionT &flag = first(a, ppx::Opcode_flag);
               flag.arguments[0] = flag.arguments[1];
             },
             "rank 0, body #15 '0U flag': expects what it writes apart from "
             "its other slots, got 'flag' and 'flag'"},
        Case{"peerStage",
             [](auto &a) { first(a, ppx::Opcode_send).peer_stage = 2; },
             "rank 0, body #4 '0F0 send': expects a peer stage below 2, got "
             "2"},
        Case{"ownStage",
             [](auto &a) { first(a, ppx::Opcode_send).peer_stage = 0; },
             "rank 0, body #4 '0F0 send': expects another stage as peer, got "
             "the own stage 0"},
        Case{"edgeInTwoQueues",
             [](auto &a) { first(a, ppx::Opcode_send).queue = 0; },
             "rank 0, body #7 '0F1 send': expects queue 'compute' as others "
             "with the same peer stage, got queue 'send'"},
        Case{
            "group",
            [](auto &a) { first(a, ppx::Opcode_collective).group = 9; },
            "rank 0, body #12 '0U collective': expects a group below 4, got 9"},
        Case{"groupWithoutStage", [](auto &a) { a.groups[0]->stages = {1}; },
             "rank 0, body #12 '0U collective': expects a group with stage "
             "0, got group 0 without it"},
        Case{"oddArguments",
             [](auto &a) {
               first(a, ppx::Opcode_collective).arguments.pop_back();
             },
             "rank 0, body #12 '0U collective': expects as many outputs as "
             "inputs, got 1 arguments"},
        Case{"reduction",
             [](auto &a) {
               first(a, ppx::Opcode_collective).reduction = ppx::Reduction_or_;
             },
             "rank 0, body #12 '0U collective': expects elements that 'or' can "
             "reduce, got f32"},
        Case{"dimension",
             [](auto &a) {
               ppx::InstructionT &gather = first(a, ppx::Opcode_collective);
               gather.collective = ppx::CollectiveKind_all_gather;
               gather.dimensions = {0};
             },
             "rank 0, body #12 '0U collective': expects output 0 'gradient' of "
             "384 bytes in the shape that the collective gives, got 192 bytes"},
        Case{"dimensionOfEachInput",
             [](auto &a) {
               ppx::InstructionT &exchange = first(a, ppx::Opcode_collective);
               exchange.collective = ppx::CollectiveKind_all_to_all;
               exchange.split_dimensions = {0, 0};
             },
             "rank 0, body #12 '0U collective': expects 1 dimensions and 1 to "
             "split, got 0 and 2"},
        Case{"remainder",
             [](auto &a) {
               ppx::InstructionT &scatter = first(a, ppx::Opcode_collective);
               scatter.collective = ppx::CollectiveKind_reduce_scatter;
               scatter.dimensions = {0};
               a.programs[0]->slots[scatter.arguments[0]]->shape = {3, 16};
             },
             "rank 0, body #12 '0U collective': expects dimension 0 divisible "
             "by 2 members, got 3"},
        Case{"target",
             [](auto &a) { setup(a)[1]->target_group = body(a)[12]->group; },
             "rank 0, setup #1 '0P collective': expects the axes and all "
             "stages of group 2 in its target group, got group 0"},
        Case{"noTarget", [](auto &a) { setup(a)[1]->target_group = 9; },
             "rank 0, setup #1 '0P collective': expects a target group below "
             "4, got 9"},
        Case{"copy", [](auto &a) { teardown(a)[0]->arguments[1] = 2; },
             "rank 0, teardown #0 '0U copy': expects a destination of 48 "
             "bytes, got 192"},
        Case{"load", [](auto &a) { first(a, ppx::Opcode_load).binding = 9; },
             "rank 0, body #2 '0F0 load': expects an argument below 2, got 9"},
        Case{"loadOfAParameter",
             [](auto &a) { first(a, ppx::Opcode_load).binding = 0; },
             "rank 0, body #2 '0F0 load': expects an input or label, got param "
             "'master'"},
        Case{"loadIntoAParameter",
             [](auto &a) {
               const auto slot = uint32_t(a.programs[0]->argument_slots[0]);
               first(a, ppx::Opcode_load).arguments = {slot};
             },
             "rank 0, body #2 '0F0 load': expects a slot that holds no "
             "parameter or state, got 'master'"},
        Case{"loadBytes",
             [](auto &a) { first(a, ppx::Opcode_load).arguments = {2}; },
             "rank 0, body #2 '0F0 load': expects a slot for one shard of "
             "'input', 48 bytes f32, got 192 bytes f32"},
        Case{"emit", [](auto &a) { teardown(a)[1]->binding = 9; },
             "rank 0, teardown #1 '0U emit': expects an output below 2, got 9"},
        Case{"emitBytes", [](auto &a) { teardown(a)[1]->arguments = {2}; },
             "rank 0, teardown #1 '0U emit': expects a slot for one shard of "
             "'weights', 48 bytes f32, got 192 bytes f32"},
        Case{"flag",
             [](auto &a) { first(a, ppx::Opcode_flag).arguments.back() = 0; },
             "rank 0, body #15 '0U flag': expects one i32 as its flag, got 48 "
             "bytes f32"},
        Case{"noStep", [](auto &a) { body(a).pop_back(); },
             "program 'program0' expects a body that ends with a step, got 0U "
             "run"},
        Case{"stepInside",
             [](auto &a) { std::swap(body(a)[0], body(a).back()); },
             "program 'program0' expects a body that ends with a step, got 0P "
             "run"}),
    nameOf);

//===- Pipelines.cpp - small training programs of many shapes -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::test;

/// Elements of every tensor but the gradient.
static constexpr uint64_t kElements = 12;
/// Of the gradient, divisible by up to four replicas, and of a rate.
static constexpr uint64_t kBucket = 48, kRate = 16;

namespace {

/// Objects that the programs of all stages refer to.
struct Shared {
  uint32_t replicas, stages, byReplica, byStage; ///< groups
  uint32_t master, input;                        ///< arguments
  uint32_t loss, weights;                        ///< outputs
};

/// Writes the program of one stage.
class StageWriter {
public:
  StageWriter(const PipelineShape &shape, const Shared &shared,
              ArtifactBuilder &artifact, ProgramBuilder program, uint32_t stage)
      : shape(shape), shared(shared), program(std::move(program)), stage(stage),
        first(stage == 0), last(stage + 1 == shape.stages) {
    addQueues();
    addSlots(artifact);
  }

  void write();

private:
  void addQueues();
  void addSlots(ArtifactBuilder &artifact);
  std::vector<Action> order() const;
  void forward(Action action);
  void backward(Action action);
  void update();

  uint32_t residual(Action action) const {
    return residuals[size_t(action.microBatch) % residuals.size()];
  }

  const PipelineShape &shape;
  const Shared &shared;
  ProgramBuilder program;
  const uint32_t stage;
  const bool first, last;

  uint32_t compute = 0, forwardIn = 0, forwardOut = 0, backwardIn = 0,
           backwardOut = 0, collectives = 0, copies = 0;
  uint32_t master = 0, weights = 0, gradient = 0, output = 0,
           outputGradient = 0, inputGradient = 0, loss = 0, norm = 0, flag = 0,
           shard = 0;
  std::vector<uint32_t> residuals, rates;
};

} // namespace

void StageWriter::addQueues() {
  compute = program.queue("compute");
  if (shape.queues == QueueStyle::single)
    return;
  forwardIn = backwardIn = program.queue("receive", ppx::QueueKind_recv);
  forwardOut = backwardOut = program.queue("send", ppx::QueueKind_send);
  if (shape.queues == QueueStyle::perEdge) {
    backwardIn = program.queue("receive backward", ppx::QueueKind_recv);
    backwardOut = program.queue("send backward", ppx::QueueKind_send);
  }
  collectives = program.queue("collectives", ppx::QueueKind_collective);
  copies = program.queue("copies", ppx::QueueKind_copy);
}

void StageWriter::addSlots(ArtifactBuilder &artifact) {
  master = program.slot("master", kElements);
  artifact.hold(shared.master, master);
  weights = program.slot("weights", kElements);
  gradient = program.slot("gradient", kBucket);
  for (uint64_t i = 0; i < 3; ++i)
    rates.push_back(program.slot("rate " + std::to_string(i), kRate));
  const uint32_t inFlight =
      shape.oneForwardOneBackward
          ? std::min(shape.microBatches, shape.stages - stage)
          : shape.microBatches;
  for (uint32_t i = 0; i < inFlight; ++i)
    residuals.push_back(
        program.slot("residual" + std::to_string(i), kElements));
  output = program.slot("output", kElements);
  outputGradient = program.slot("output gradient", kElements);
  const uint64_t shared = program.get().slots[output]->offset;
  inputGradient = shape.reuseMemory
                      ? program.slotAt(shared, "input gradient", kElements)
                      : program.slot("input gradient", kElements);
  loss = program.slot("loss", 1);
  norm = shape.reuseMemory ? program.slotAt(shared, "norm", 1)
                           : program.slot("norm", 1);
  flag = program.slot("flag", 1);
  program.get().slots[flag]->element = ppx::ElementType_i32;
  shard = program.slot("shard", kBucket / shape.replicas);
}

std::vector<Action> StageWriter::order() const {
  const int32_t count = int32_t(shape.microBatches);
  const int32_t warmUp =
      shape.oneForwardOneBackward
          ? std::min(count, int32_t(shape.stages - stage - 1))
          : count;
  std::vector<Action> actions;
  for (int32_t i = 0; i < warmUp; ++i)
    actions.push_back({ppx::Phase_forward, i});
  for (int32_t i = 0; i < count; ++i) {
    if (warmUp + i < count)
      actions.push_back({ppx::Phase_forward, warmUp + i});
    actions.push_back({ppx::Phase_backward, i});
  }
  return actions;
}

void StageWriter::forward(Action action) {
  const uint32_t in = residual(action);
  if (first)
    program.load(copies, shared.input, in);
  else
    program.recv(forwardIn, stage - 1, in);
  program.run(compute, {weights, in}, {output});
  if (!last) {
    program.send(forwardOut, stage + 1, output);
    return;
  }
  program.run(compute, {output}, {loss});
  program.emit(copies, shared.loss, loss);
}

void StageWriter::backward(Action action) {
  const uint32_t in = residual(action);
  if (last)
    program.run(compute, {in}, {outputGradient});
  else
    program.recv(backwardIn, stage + 1, outputGradient);
  program.run(compute, {weights, in, outputGradient}, {inputGradient},
              {gradient});
  if (!first)
    program.send(backwardOut, stage - 1, inputGradient);
}

void StageWriter::update() {
  program.set({ppx::Phase_update, -1});
  const bool sharded = shape.shardedUpdate && shape.replicas > 1;
  if (sharded)
    program.collective(collectives, ppx::CollectiveKind_reduce_scatter,
                       shared.replicas, {gradient}, {shard});
  else if (shape.replicas > 1)
    program.collective(collectives, ppx::CollectiveKind_all_reduce,
                       shared.replicas, {gradient}, {gradient});
  const uint32_t reduced = sharded ? shard : gradient;
  if (shape.clip) {
    program.run(compute, {reduced}, {norm});
    program.collective(collectives, ppx::CollectiveKind_all_reduce,
                       shared.stages, {norm}, {norm});
    program.flag(compute, {norm}, flag);
    program.gate(compute, {norm}, {reduced}, flag);
  }
  if (sharded)
    program.collective(collectives, ppx::CollectiveKind_all_gather,
                       shared.replicas, {shard}, {gradient});
  for (uint32_t rate : rates)
    program.run(compute, {gradient, rate}, {}, {master});
  program.run(compute, {master}, {weights});
}

void StageWriter::write() {
  program.begin(Section::setup);
  program.run(compute, {master}, {weights});
  if (shape.replicas > 1)
    program
        .collective(collectives, ppx::CollectiveKind_permute, shared.byReplica,
                    {weights}, {output})
        .target_group = shared.byStage;

  program.begin(Section::body);
  program.run(compute, {}, {rates[0], rates[1]});
  program.run(copies, {}, {gradient, rates[2]});
  for (Action action : order()) {
    program.set(action);
    if (action.phase == ppx::Phase_forward)
      forward(action);
    else
      backward(action);
  }
  update();
  program.step(compute);

  program.begin(Section::teardown);
  program.set({ppx::Phase_update, -1});
  program.copy(copies, weights, output);
  program.emit(copies, shared.weights, output);
}

ppx::ArtifactT test::makePipeline(const PipelineShape &shape) {
  ArtifactBuilder artifact;
  const uint32_t stages =
      artifact.axis("pp", shape.stages, ppx::AxisKind_stage);
  const uint32_t replicas = artifact.axis("dp", shape.replicas);
  const uint32_t microBatches =
      artifact.axis("mb", shape.microBatches, ppx::AxisKind_time);
  Shared shared;
  shared.replicas = artifact.group({replicas});
  shared.stages = artifact.group({stages});
  shared.byReplica = artifact.group({replicas, stages});
  shared.byStage = artifact.group({stages, replicas});
  shared.master = artifact.argument("master", ppx::Role_param, kElements);
  shared.input = artifact.argument("input", ppx::Role_input,
                                   kElements * shape.microBatches);
  shared.loss = artifact.output("loss", 1, ppx::OutputRole_loss);
  shared.weights = artifact.output("weights", kElements);
  for (uint32_t stage = 0; stage < shape.stages; ++stage) {
    std::vector<uint32_t> ranks(shape.replicas);
    for (uint32_t i = 0; i < shape.replicas; ++i)
      ranks[i] = stage * shape.replicas + i;
    StageWriter(shape, shared, artifact, artifact.program(ranks, stage), stage)
        .write();
  }
  ppx::ArtifactT result = artifact.take();
  result.arguments[shared.input]->sharding[0]->axes = {microBatches};
  return result;
}

PipelineShape test::randomShape(std::mt19937_64 &random) {
  PipelineShape shape;
  shape.stages = uint32_t(2 + random() % 3);
  shape.microBatches = uint32_t(1 + random() % 4);
  shape.replicas = uint32_t(1 + random() % (shape.stages == 4 ? 2 : 3));
  shape.queues = QueueStyle(random() % 3);
  // With one order for sends to both sides, 1F1B deadlocks by design.
  shape.oneForwardOneBackward =
      shape.queues == QueueStyle::perEdge && random() % 2;
  shape.reuseMemory = random() % 2;
  shape.clip = random() % 2;
  shape.shardedUpdate = random() % 2;
  return shape;
}

uint32_t test::makePrivateProgram(ppx::ArtifactT &artifact, uint32_t rank) {
  const uint32_t count = uint32_t(artifact.programs.size());
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<uint32_t> &ranks = artifact.programs[i]->ranks;
    auto self = std::find(ranks.begin(), ranks.end(), rank);
    if (self == ranks.end())
      continue;
    if (ranks.size() == 1)
      return i;
    ranks.erase(self);
    artifact.programs.push_back(
        std::make_unique<ppx::ProgramT>(*artifact.programs[i]));
    artifact.programs.back()->ranks = {rank};
    return count;
  }
  return count;
}

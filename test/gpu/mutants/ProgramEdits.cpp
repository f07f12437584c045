//===- ProgramEdits.cpp - single edits of artifacts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ProgramEdits.h"
#include "pprt/Program.h"

using namespace pprt;
using namespace pprt::mutants;

/// Calls f(program, list, index) for each instruction, until it has changed the
/// list.
template <typename Function>
static void forEachInstruction(ppx::ArtifactT &artifact, Function &&f) {
  for (const auto &program : artifact.programs)
    for (auto *list : {&program->setup, &program->body, &program->teardown})
      for (size_t i = 0; i < list->size(); ++i)
        if (f(*program, *list, i))
          return;
}

/// The same of f(instruction), which returns nothing.
template <typename Function>
static void visitInstructions(ppx::ArtifactT &artifact, Function &&f) {
  forEachInstruction(artifact, [&](ppx::ProgramT &, auto &list, size_t i) {
    f(*list[i]);
    return false;
  });
}

template <typename Function>
static void visitProducts(ppx::ArtifactT &artifact, Function &&f) {
  for (const auto &kernel : artifact.kernels)
    if (ppx::ContractionT *product = kernel->body.AsContraction())
      f(*product);
}

template <typename Function>
static void visitCompiled(ppx::ArtifactT &artifact, Function &&f) {
  for (const auto &kernel : artifact.kernels)
    if (ppx::CompiledKernelT *body = kernel->body.AsCompiledKernel())
      f(*body);
}

static void leaveWaitOut(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitInstructions(artifact, [&](ppx::InstructionT &its) {
    for (size_t i = 0; i < its.waits.size(); ++i)
      if (isPlace()) {
        its.waits.erase(its.waits.begin() + long(i));
        return;
      }
  });
}

static void waitForOneLess(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitInstructions(artifact, [&](ppx::InstructionT &its) {
    for (ppx::Wait &wait : its.waits)
      if (wait.count() > 1 && isPlace())
        wait = ppx::Wait(wait.queue(), wait.count() - 1);
  });
}

static void shiftSlot(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  for (const auto &program : artifact.programs)
    for (const auto &slot : program->slots)
      if (isPlace())
        slot->offset += 64;
}

/// Another slot of as many bytes.
static void takeAnotherSlot(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  forEachInstruction(
      artifact, [&](ppx::ProgramT &program, auto &list, size_t index) {
        for (uint32_t &argument : list[index]->arguments)
          for (uint32_t other = 0; other < program.slots.size(); ++other) {
            const ppx::SlotT &one = *program.slots[argument];
            const ppx::SlotT &two = *program.slots[other];
            if (one.bytes != two.bytes || one.element != two.element ||
                one.offset == two.offset)
              continue;
            if (isPlace())
              argument = other;
            break;
          }
        return false;
      });
}

static void leaveInstructionOut(ppx::ArtifactT &artifact,
                                const AtPlace &isPlace) {
  forEachInstruction(artifact, [&](ppx::ProgramT &, auto &list, size_t i) {
    if (!isPlace())
      return false;
    list.erase(list.begin() + long(i));
    return true;
  });
}

static void swapInstructions(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  forEachInstruction(artifact, [&](ppx::ProgramT &, auto &list, size_t i) {
    if (i + 1 == list.size() || list[i]->queue != list[i + 1]->queue ||
        !isPlace())
      return false;
    std::swap(list[i], list[i + 1]);
    return true;
  });
}

static void reduceOtherwise(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitInstructions(artifact, [&](ppx::InstructionT &its) {
    if (its.opcode == ppx::Opcode_collective &&
        (its.collective == ppx::CollectiveKind_all_reduce ||
         its.collective == ppx::CollectiveKind_reduce_scatter) &&
        isPlace())
      its.reduction = its.reduction == ppx::Reduction_sum ? ppx::Reduction_max
                                                          : ppx::Reduction_sum;
  });
}

static void launchABlockLess(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitCompiled(artifact, [&](ppx::CompiledKernelT &its) {
    if (its.grid > 1 && isPlace())
      --its.grid;
  });
}

static void launchABlockMore(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitCompiled(artifact, [&](ppx::CompiledKernelT &its) {
    if (isPlace())
      ++its.grid;
  });
}

static void launchHalfABlock(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitCompiled(artifact, [&](ppx::CompiledKernelT &its) {
    if (its.block > 1 && isPlace())
      its.block /= 2;
  });
}

/// Where a kernel of as many parameters is to run.
static void takeAnotherKernel(ppx::ArtifactT &artifact,
                              const AtPlace &isPlace) {
  visitInstructions(artifact, [&](ppx::InstructionT &its) {
    if (its.opcode != ppx::Opcode_run)
      return;
    const size_t count = artifact.kernels.size();
    for (size_t next = 1; next < count; ++next) {
      const size_t other = (its.kernel + next) % count;
      if (artifact.kernels[other]->parameters.size() !=
          artifact.kernels[its.kernel]->parameters.size())
        continue;
      if (isPlace())
        its.kernel = uint32_t(other);
      return;
    }
  });
}

static void takeAnotherMicroBatch(ppx::ArtifactT &artifact,
                                  const AtPlace &isPlace) {
  visitInstructions(artifact, [&](ppx::InstructionT &its) {
    if (its.opcode == ppx::Opcode_load && its.micro_batch >= 0 && isPlace())
      its.micro_batch ^= 1;
  });
}

static void multiplyOneLess(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    if (its.k > 1 && isPlace())
      --its.k;
  });
}

static void scaleTwice(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    if (isPlace())
      its.alpha *= 2;
  });
}

static void addOrNot(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    if (isPlace())
      its.accumulate = !its.accumulate;
  });
}

static void transpose(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    if (its.lhs && its.lhs->row_stride != its.lhs->column_stride && isPlace())
      std::swap(its.lhs->row_stride, its.lhs->column_stride);
  });
}

static void shiftView(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    for (const auto &view : {its.lhs.get(), its.rhs.get(), its.out.get()})
      if (view && isPlace())
        view->offset += 1;
  });
}

static void leaveEpilogueOut(ppx::ArtifactT &artifact, const AtPlace &isPlace) {
  visitProducts(artifact, [&](ppx::ContractionT &its) {
    if (!its.epilogues.empty() && isPlace())
      its.epilogues.pop_back();
  });
}

const std::vector<ProgramEdit> mutants::kProgramEdits = {
    {"wait left out", leaveWaitOut},
    {"wait for one less", waitForOneLess},
    {"slot 64 bytes further", shiftSlot},
    {"another slot of the size", takeAnotherSlot},
    {"instruction left out", leaveInstructionOut},
    {"neighbours of a queue swapped", swapInstructions},
    {"another reduction", reduceOtherwise},
    {"a block less", launchABlockLess},
    {"a block more", launchABlockMore},
    {"half a block", launchHalfABlock},
    {"another kernel", takeAnotherKernel},
    {"load of another micro-batch", takeAnotherMicroBatch},
    {"product of one less", multiplyOneLess},
    {"product twice as large", scaleTwice},
    {"product added or not", addOrNot},
    {"left matrix transposed", transpose},
    {"matrix an element further", shiftView},
    {"epilogue left out", leaveEpilogueOut},
};

uint64_t mutants::countPlaces(const ppx::ArtifactT &artifact,
                              const ProgramEdit &edit) {
  ppx::ArtifactT copy = artifact;
  uint64_t count = 0;
  edit.visit(copy, [&count] {
    ++count;
    return false;
  });
  return count;
}

ppx::ArtifactT mutants::edited(const ppx::ArtifactT &artifact,
                               const ProgramEdit &edit, uint64_t number) {
  ppx::ArtifactT copy = artifact;
  edit.visit(copy, [&number] { return number-- == 0; });
  return copy;
}

//===- StageCuts.cpp - where to cut a model into stages -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes a differentiated level 1 function: forward ops are numbered by
// pp.origin in their order, derived ops carry the number of theirs. Gives a
// partition of that sequence into contiguous stages of least bottleneck, by
// dynamic programming over all boundaries.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"
#include "pp/IR/Kernel.h"
#include "llvm/ADT/DenseSet.h"
#include <limits>

using namespace mlir;
using namespace pp;

namespace {

/// Per forward op, in order: what its stage pays for it, what crosses the
/// boundary before it, and whether it is work: it depends on an input, so that
/// it is not cloned to wherever it is used.
struct Sequence {
  SmallVector<double> cost;
  SmallVector<double> crossing;
  SmallVector<bool> isWork;
};

FailureOr<Sequence> measure(func::FuncOp main) {
  int64_t count = 0;
  Block &body = main.getBody().front();
  for (Operation &op : body)
    count = std::max(count, getOrigin(&op) + 1);
  Sequence sequence;
  sequence.cost.assign(count, 0.0);
  sequence.crossing.assign(count + 1, 0.0);
  sequence.isWork.assign(count, false);

  // Only what depends on an input crosses: parameters live where they are used
  // and constants are cloned.
  llvm::DenseSet<Value> activations;
  for (BlockArgument arg : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, arg.getArgNumber());
    if (role == Role::Input || role == Role::Label)
      activations.insert(arg);
  }
  for (Operation &op : body.without_terminator()) {
    int64_t origin = getOrigin(&op);
    if (origin < 0)
      continue;
    auto cost = dyn_cast<CostOpInterface>(&op);
    if (!cost)
      return op.emitError("expects an op that knows its cost, got ")
             << op.getName();
    sequence.cost[origin] += cost.getFlops();
    if (getKind(&op) != Kind::Forward ||
        llvm::none_of(op.getOperands(),
                      [&](Value v) { return activations.contains(v); }))
      continue;
    // A scalar is of all examples together, and adding scalars no stage's work.
    if (cast<RankedTensorType>(op.getResult(0).getType()).getRank() > 0)
      sequence.isWork[origin] = true;
    for (Value result : op.getResults()) {
      activations.insert(result);
      int64_t last = origin;
      for (Operation *user : result.getUsers())
        if (getOrigin(user) >= 0 && getKind(user) == Kind::Forward)
          last = std::max(last, getOrigin(user));
      double bytes = getTensorBytes(result.getType());
      // Crosses the boundaries before ops origin+1 .. last.
      sequence.crossing[origin + 1] += bytes;
      sequence.crossing[last + 1 <= count ? last + 1 : count] -= bytes;
    }
  }
  for (int64_t i = 1; i <= count; ++i)
    sequence.crossing[i] += sequence.crossing[i - 1];
  return sequence;
}

} // namespace

FailureOr<SmallVector<int64_t>>
pp::chooseStageCuts(func::FuncOp main, int64_t stages, double flopsPerByte) {
  if (stages == 1)
    return SmallVector<int64_t>();
  FailureOr<Sequence> sequence = measure(main);
  if (failed(sequence))
    return failure();
  int64_t count = sequence->cost.size();

  SmallVector<double> prefix(count + 1, 0.0);
  SmallVector<int64_t> work(count + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    prefix[i + 1] = prefix[i] + sequence->cost[i];
    work[i + 1] = work[i] + sequence->isWork[i];
  }
  if (work.back() < stages)
    return main.emitError("expects at most ")
           << work.back()
           << " stages, one for each forward op that depends on an input, got "
           << stages << ": a stage would be empty";
  // What a stage pays: its own work and what it receives, forward and backward.
  auto price = [&](int64_t begin, int64_t end) {
    return prefix[end] - prefix[begin] +
           (begin == 0 ? 0.0 : 2 * flopsPerByte * sequence->crossing[begin]);
  };
  // best[s][b]: least bottleneck of s stages that end before op b.
  double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(
      stages + 1, std::vector<double>(count + 1, infinity));
  std::vector<std::vector<int64_t>> previous(
      stages + 1, std::vector<int64_t>(count + 1, 0));
  best[0][0] = 0.0;
  for (int64_t stage = 1; stage <= stages; ++stage)
    for (int64_t end = stage; end <= count; ++end)
      for (int64_t begin = stage - 1; begin < end; ++begin) {
        if (work[begin] == work[end])
          continue;
        double bottleneck = std::max(best[stage - 1][begin], price(begin, end));
        if (bottleneck < best[stage][end]) {
          best[stage][end] = bottleneck;
          previous[stage][end] = begin;
        }
      }
  SmallVector<int64_t> cuts(stages - 1);
  for (int64_t stage = stages, end = count; stage > 1; --stage) {
    end = previous[stage][end];
    cuts[stage - 2] = end;
  }
  return cuts;
}

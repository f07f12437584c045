//===- Layers.cpp - which parameters are read together --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Layers.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

namespace {

/// The layers that read a value: the first and the last.
struct Readers {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;

  void add(Readers others) {
    first = std::min(first, others.first);
    last = std::max(last, others.last);
  }
};

} // namespace

SmallVector<int64_t> pp::findLayers(func::FuncOp main) {
  Block &body = main.getBody().front();
  // Of what derives from inputs: the products that lead to it. Of what derives
  // from parameters alone: who reads it.
  DenseMap<Value, int64_t> activations;
  DenseMap<Value, Readers> parameters;
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Input || role == Role::Label)
      activations[argument] = 0;
    else if (role == Role::Param)
      parameters[argument];
  }
  auto isForward = [](Operation &op) { return getKind(&op) == Kind::Forward; };
  for (Operation &op :
       llvm::make_filter_range(body.without_terminator(), isForward)) {
    int64_t depth = -1;
    bool readsParameter = false;
    for (Value operand : op.getOperands()) {
      if (auto known = activations.find(operand); known != activations.end())
        depth = std::max(depth, known->second);
      readsParameter |= parameters.contains(operand);
    }
    for (Value result : op.getResults())
      if (depth >= 0)
        activations[result] = depth + (readsParameter && isContraction(&op));
      else if (readsParameter)
        parameters[result];
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isForward(op) || op.getNumResults() == 0)
      continue;
    Readers readers = parameters.lookup(op.getResult(0));
    if (auto own = activations.find(op.getResult(0)); own != activations.end())
      readers = {own->second, own->second};
    for (Value operand : op.getOperands())
      if (auto read = parameters.find(operand); read != parameters.end())
        read->second.add(readers);
  }
  SmallVector<int64_t> layers;
  for (BlockArgument argument : main.getArguments()) {
    const Readers readers = parameters.lookup(argument);
    layers.push_back(readers.first == readers.last ? readers.first : -1);
  }
  return layers;
}

//===- Layers.cpp - layers of parameters ----------------------------------===//
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

/// Numbers layers in the order of the program, which is that of the work.
class LayerCounter {
public:
  /// The layer of `op`, which reads a parameter beside activations; `latest` is
  /// the last layer that leads to these, or -1.
  int64_t add(Operation *op, int64_t latest) {
    const bool isFirst = latest < 0;
    if (current < 0 ||
        (isFirst ? !hasFirstsOnly : isContraction(op) && latest == current)) {
      ++current;
      hasFirstsOnly = true;
    }
    hasFirstsOnly &= isFirst;
    return current;
  }

private:
  int64_t current = -1;
  bool hasFirstsOnly = true; ///< the current layer reads inputs alone
};

} // namespace

SmallVector<int64_t> pp::findLayers(func::FuncOp main) {
  Block &body = main.getBody().front();
  // For values that derive from inputs: the last layer that leads to them. For
  // values that derive from parameters alone: the layer that reads them.
  DenseMap<Value, int64_t> activations;
  DenseMap<Value, Readers> parameters;
  DenseMap<Operation *, int64_t> layerOf;
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Input || role == Role::Label)
      activations[argument] = -1;
    else if (role == Role::Param)
      parameters[argument];
  }
  auto isForward = [](Operation &op) { return getKind(&op) == Kind::Forward; };
  LayerCounter counter;
  for (Operation &op :
       llvm::make_filter_range(body.without_terminator(), isForward)) {
    int64_t latest = -1;
    bool readsActivation = false, readsParameter = false;
    for (Value operand : op.getOperands()) {
      if (auto known = activations.find(operand); known != activations.end()) {
        latest = std::max(latest, known->second);
        readsActivation = true;
      }
      readsParameter |= parameters.contains(operand);
    }
    if (readsActivation && readsParameter) {
      const int64_t layer = counter.add(&op, latest);
      layerOf[&op] = layer;
      if (latest < 0 || isContraction(&op))
        latest = layer;
    }
    for (Value result : op.getResults())
      if (readsActivation)
        activations[result] = latest;
      else if (readsParameter)
        parameters[result];
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isForward(op) || op.getNumResults() == 0)
      continue;
    Readers readers = parameters.lookup(op.getResult(0));
    if (auto layer = layerOf.find(&op); layer != layerOf.end())
      readers = {layer->second, layer->second};
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

//===- Hazards.cpp - arguments that are overwritten too early -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Hazards.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PP.h"

using namespace mlir;
using namespace pp;

static bool isOneElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
}

/// Whether an element of the result needs of this operand the one at the same
/// place in memory alone. One element has one place, whatever its shape.
static bool keepsPlaces(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (isOneElement(operand.get()) &&
      llvm::all_of(op->getResults(), isOneElement))
    return true;
  if (op->hasTrait<OpTrait::Elementwise>() || isa<ReshapeOp>(op))
    return true;
  return isa<ScatterAddOp, DynamicUpdateSliceOp>(op) &&
         operand.getOperandNumber() == 0;
}

namespace {

/// How a result's element depends on an argument.
enum class Reads { Nothing, Itself, Others };

class Reader {
public:
  Reader(BlockArgument argument, llvm::function_ref<bool(Value)> isReadBefore)
      : argument(argument), isReadBefore(isReadBefore) {}

  Reads of(Value value) {
    if (value == argument)
      return Reads::Itself;
    Operation *op = value.getDefiningOp();
    if (!op || isReadBefore(value))
      return Reads::Nothing;
    if (auto it = known.find(value); it != known.end())
      return it->second;
    Reads reads = Reads::Nothing;
    for (OpOperand &operand : op->getOpOperands()) {
      Reads here = of(operand.get());
      if (here == Reads::Itself && !keepsPlaces(operand))
        here = Reads::Others;
      reads = std::max(reads, here);
    }
    return known[value] = reads;
  }

private:
  BlockArgument argument;
  llvm::function_ref<bool(Value)> isReadBefore;
  DenseMap<Value, Reads> known;
};

} // namespace

LogicalResult pp::gpu::verifyInPlace(
    func::FuncOp kernel, llvm::function_ref<bool(Value)> isReadBefore,
    llvm::function_ref<bool(unsigned, unsigned)> areTogether) {
  Operation *end = kernel.getBody().front().getTerminator();
  for (unsigned index = 0; index < kernel.getNumResults(); ++index) {
    const int64_t overwritten = getInplaceOperand(kernel, index);
    if (overwritten < 0)
      continue;
    Reader reader(kernel.getArgument(overwritten), isReadBefore);
    for (unsigned other = 0; other < kernel.getNumResults(); ++other) {
      Reads reads = reader.of(end->getOperand(other));
      if (reads == Reads::Others ||
          (reads == Reads::Itself && !areTogether(index, other)))
        return kernel.emitError("expects a kernel whose result ")
               << index << " overwrites what no other thread reads, got "
               << "argument " << overwritten << " read for result " << other;
    }
  }
  return success();
}

//===- OpVerifiers.cpp - checks that several ops share --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: dimensions as an op's attributes have them, unchecked.
//
//===----------------------------------------------------------------------===//
#include "OpVerifiers.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace pp;

LogicalResult pp::expectShape(Operation *op, Value value,
                              ArrayRef<int64_t> shape, StringRef label) {
  auto type = ranked(value);
  if (type.getShape() == shape)
    return success();
  return op->emitOpError() << "expects type "
                           << RankedTensorType::get(shape,
                                                    type.getElementType())
                           << ", got " << type << " (" << label << ")";
}

LogicalResult pp::expectIncreasing(Operation *op, ArrayRef<int64_t> dims,
                                   int64_t rank, StringRef label) {
  int64_t last = -1;
  for (int64_t dim : dims) {
    if (dim <= last || dim >= rank)
      return op->emitOpError()
             << "expects strictly increasing dimensions below " << rank
             << ", got [" << dims << "] (" << label << ")";
    last = dim;
  }
  return success();
}

bool pp::areDistinct(int64_t rank, ArrayRef<ArrayRef<int64_t>> lists) {
  llvm::SmallBitVector seen(rank);
  for (ArrayRef<int64_t> list : lists)
    for (int64_t dim : list) {
      if (dim < 0 || dim >= rank || seen.test(dim))
        return false;
      seen.set(dim);
    }
  return true;
}

SmallVector<int64_t> pp::othersThan(int64_t rank,
                                    ArrayRef<ArrayRef<int64_t>> lists) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (llvm::none_of(lists, [&](ArrayRef<int64_t> list) {
          return llvm::is_contained(list, dim);
        }))
      others.push_back(dim);
  return others;
}

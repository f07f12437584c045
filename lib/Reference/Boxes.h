//===- Boxes.h - cutting tensors along a dimension --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the collectives and the layouts of the SPMD evaluation.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_REFERENCE_BOXES_H
#define PP_LIB_REFERENCE_BOXES_H

#include "Strides.h"

namespace pp::reference {

inline mlir::RankedTensorType resized(mlir::RankedTensorType type, int64_t dim,
                                      int64_t size) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

/// Part `index` of `count` equal parts along `dim`.
inline HostTensor partOf(const HostTensor &whole, int64_t dim, int64_t index,
                         int64_t count) {
  int64_t size = whole.shape()[dim] / count;
  HostTensor part(resized(whole.type, dim, size));
  View view{0, rowMajorStrides(whole.shape())};
  view.base = index * size * view.strides[dim];
  readView(whole, view, part);
  return part;
}

/// Equal parts joined along `dim`.
inline HostTensor joinParts(llvm::ArrayRef<const HostTensor *> parts,
                            int64_t dim) {
  int64_t size = parts[0]->shape()[dim];
  HostTensor whole(
      resized(parts[0]->type, dim, size * static_cast<int64_t>(parts.size())));
  View view{0, rowMajorStrides(whole.shape())};
  for (const HostTensor *part : parts) {
    writeView(*part, view, whole);
    view.base += size * view.strides[dim];
  }
  return whole;
}

} // namespace pp::reference

#endif // PP_LIB_REFERENCE_BOXES_H

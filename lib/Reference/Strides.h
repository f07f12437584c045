//===- Strides.h - walking a box of a tensor --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A view maps an index to `base + sum of index[d] * strides[d]`. Most ops that
// move elements are one walk over a view.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_REFERENCE_STRIDES_H
#define PP_LIB_REFERENCE_STRIDES_H

#include "pp/Reference/HostTensor.h"
#include "llvm/ADT/SmallVector.h"

namespace pp::reference {

using Index = llvm::SmallVector<int64_t, 6>;

/// Distance between neighbours along each dimension of a row-major tensor.
inline Index rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Index strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

struct View {
  int64_t base = 0;
  Index strides;
};

/// Calls `visit(linear, offset)` for every index of `shape` in row-major order:
/// `linear` counts 0, 1, 2, ..., `offset` is the view's.
template <typename Visit>
void walk(llvm::ArrayRef<int64_t> shape, const View &view, Visit visit) {
  if (shape.empty())
    return visit(int64_t(0), view.base);
  if (product(shape) == 0)
    return;
  size_t last = shape.size() - 1;
  Index index(shape.size(), 0);
  int64_t linear = 0, offset = view.base;
  while (true) {
    for (int64_t i = 0, at = offset; i < shape[last];
         ++i, at += view.strides[last])
      visit(linear++, at);
    int64_t dim = static_cast<int64_t>(last) - 1;
    for (; dim >= 0; --dim) {
      offset += view.strides[dim];
      if (++index[dim] < shape[dim])
        break;
      offset -= view.strides[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// `to[i] = from[view(i)]`, i over the shape of `to`.
inline void readView(const HostTensor &from, const View &view, HostTensor &to) {
  walk(to.shape(), view, [&](int64_t linear, int64_t offset) {
    to.values[linear] = from.values[offset];
  });
}

/// `to[view(i)] = from[i]`, i over the shape of `from`.
inline void writeView(const HostTensor &from, const View &view,
                      HostTensor &to) {
  walk(from.shape(), view, [&](int64_t linear, int64_t offset) {
    to.values[offset] = from.values[linear];
  });
}

} // namespace pp::reference

#endif // PP_LIB_REFERENCE_STRIDES_H

//===- Reductions.cpp - reference reductions, products and lookups --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sums run in row-major order of the operand.
//
//===----------------------------------------------------------------------===//
#include "Evaluators.h"
#include "Strides.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::reference;

namespace {

HostTensor reduce(ReduceOp op, const HostTensor &from) {
  Reduction reduction = op.getReduction();
  Type element = from.elementType();
  HostTensor result(cast<RankedTensorType>(op.getType()),
                    identityOf(reduction, element));
  // The view maps an operand index to its result element.
  View view{0, Index(from.rank(), 0)};
  Index strides = rowMajorStrides(result.shape());
  for (int64_t dim = 0, kept = 0; dim < from.rank(); ++dim)
    if (!llvm::is_contained(op.getDimensions(), dim))
      view.strides[dim] = strides[kept++];
  bool isFloatSum = reduction == Reduction::Sum && isa<FloatType>(element);
  walk(from.shape(), view, [&](int64_t linear, int64_t offset) {
    double &slot = result.values[offset];
    slot = isFloatSum ? slot + from.values[linear]
                      : combine(reduction, element, slot, from.values[linear]);
  });
  return result;
}

/// A tensor seen as [outer, size, inner] around one dimension.
struct Split {
  int64_t outer, size, inner;
  Split(ArrayRef<int64_t> shape, int64_t dim)
      : outer(product(shape.take_front(dim))), size(shape[dim]),
        inner(product(shape.drop_front(dim + 1))) {}
  int64_t at(int64_t o, int64_t s, int64_t i) const {
    return (o * size + s) * inner + i;
  }
};

HostTensor argmax(ArgmaxOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  Split split(from.shape(), op.getDimension());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      int64_t best = 0;
      for (int64_t s = 1; s < split.size; ++s) {
        double value = from.values[split.at(o, s, i)];
        double top = from.values[split.at(o, best, i)];
        if (value > top || (std::isnan(value) && !std::isnan(top)))
          best = s;
      }
      result.values[o * split.inner + i] = static_cast<double>(best);
    }
  return result;
}

/// By sorting all of them.
HostTensor topK(TopKOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  Split split(from.shape(), op.getDimension()),
      chosen(result.shape(), op.getDimension());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      auto key = [&](int64_t s) {
        double value = from.values[split.at(o, s, i)];
        return std::isnan(value) ? std::pair(0, 0.0) : std::pair(1, -value);
      };
      auto order = llvm::to_vector(llvm::seq<int64_t>(split.size));
      llvm::stable_sort(order,
                        [&](int64_t a, int64_t b) { return key(a) < key(b); });
      for (int64_t s = 0; s < chosen.size; ++s)
        result.values[chosen.at(o, s, i)] = static_cast<double>(order[s]);
    }
  return result;
}

HostTensor cumsum(CumsumOp op, const HostTensor &from) {
  HostTensor result(from.type);
  Split split(from.shape(), op.getDimension());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      double sum = 0.0;
      for (int64_t s = 0; s < split.size; ++s) {
        int64_t at = split.at(o, op.getReverse() ? split.size - 1 - s : s, i);
        sum = combine(Reduction::Sum, from.elementType(), sum, from.values[at]);
        result.values[at] = sum;
      }
    }
  return result;
}

/// The elements of `from` with dimensions in the order `dims`, row-major.
std::vector<double> pack(const HostTensor &from, ArrayRef<int64_t> dims) {
  Index strides = rowMajorStrides(from.shape()), shape;
  View view;
  for (int64_t dim : dims) {
    shape.push_back(from.shape()[dim]);
    view.strides.push_back(strides[dim]);
  }
  std::vector<double> packed(from.values.size());
  walk(shape, view, [&](int64_t linear, int64_t offset) {
    packed[linear] = from.values[offset];
  });
  return packed;
}

SmallVector<int64_t> joined(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                            ArrayRef<int64_t> c) {
  SmallVector<int64_t> all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

HostTensor dotGeneral(DotGeneralOp op, const HostTensor &lhs,
                      const HostTensor &rhs) {
  auto sizeOf = [](const HostTensor &tensor, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= tensor.shape()[dim];
    return size;
  };
  HostTensor result(cast<RankedTensorType>(op.getType()));
  int64_t batch = sizeOf(lhs, op.getLhsBatch());
  int64_t rows = sizeOf(lhs, op.getLhsFree());
  int64_t columns = sizeOf(rhs, op.getRhsFree());
  int64_t depth = sizeOf(lhs, op.getLhsContract());
  // [batch, rows, depth] and [batch, depth, columns]: the inner loop then runs
  // over neighbours of both the right operand and the result.
  std::vector<double> a =
      pack(lhs, joined(op.getLhsBatch(), op.getLhsFree(), op.getLhsContract()));
  std::vector<double> b =
      pack(rhs, joined(op.getRhsBatch(), op.getRhsContract(), op.getRhsFree()));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = 0; i < rows; ++i) {
      double *out = result.values.data() + (n * rows + i) * columns;
      for (int64_t k = 0; k < depth; ++k) {
        double scale = a[(n * rows + i) * depth + k];
        const double *row = b.data() + (n * depth + k) * columns;
        for (int64_t j = 0; j < columns; ++j)
          out[j] += scale * row[j];
      }
    }
  if (isa<IntegerType>(result.elementType()))
    result.roundToElement();
  return result;
}

/// Sizes of gather and scatter_add: `table` rows of `rest` elements for each
/// of `batch` entries, `count` indices each.
struct Rows {
  int64_t batch, table, rest, count;
  Rows(const HostTensor &operand, const HostTensor &indices, int64_t batchDims)
      : batch(product(operand.shape().take_front(batchDims))),
        table(operand.shape()[batchDims]),
        rest(product(operand.shape().drop_front(batchDims + 1))),
        count(product(indices.shape().drop_front(batchDims))) {}

  /// Calls `visit(row, tableRow)` in index order with the positions of the
  /// first element of a row among rows and in the table; `tableRow` is -1 when
  /// the index lies outside.
  template <typename Visit>
  void forEach(const HostTensor &indices, bool clamp, Visit visit) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < count; ++i) {
        auto index = static_cast<int64_t>(indices.values[b * count + i]);
        if (clamp)
          index = std::clamp<int64_t>(index, 0, table - 1);
        bool inside = index >= 0 && index < table;
        visit((b * count + i) * rest,
              inside ? (b * table + index) * rest : int64_t(-1));
      }
  }
};

HostTensor gather(GatherOp op, Operands in) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  Rows rows(*in[0], *in[1], op.getBatchDims());
  if (rows.table == 0)
    return result;
  rows.forEach(*in[1], /*clamp=*/true, [&](int64_t row, int64_t tableRow) {
    for (int64_t r = 0; r < rows.rest; ++r)
      result.values[row + r] = in[0]->values[tableRow + r];
  });
  return result;
}

HostTensor scatterAdd(ScatterAddOp op, Operands in) {
  HostTensor result = *in[0];
  Rows rows(*in[0], *in[1], op.getBatchDims());
  rows.forEach(*in[1], /*clamp=*/false, [&](int64_t row, int64_t tableRow) {
    for (int64_t r = 0; tableRow >= 0 && r < rows.rest; ++r)
      result.values[tableRow + r] =
          combine(Reduction::Sum, result.elementType(),
                  result.values[tableRow + r], in[2]->values[row + r]);
  });
  return result;
}

} // namespace

std::optional<HostTensor> pp::reference::evaluateContraction(Operation *op,
                                                             Operands in) {
  return llvm::TypeSwitch<Operation *, std::optional<HostTensor>>(op)
      .Case([&](ReduceOp op) { return reduce(op, *in[0]); })
      .Case([&](ArgmaxOp op) { return argmax(op, *in[0]); })
      .Case([&](TopKOp op) { return topK(op, *in[0]); })
      .Case([&](CumsumOp op) { return cumsum(op, *in[0]); })
      .Case([&](DotGeneralOp op) { return dotGeneral(op, *in[0], *in[1]); })
      .Case([&](GatherOp op) { return gather(op, in); })
      .Case([&](ScatterAddOp op) { return scatterAdd(op, in); })
      .Default([](Operation *) { return std::nullopt; });
}

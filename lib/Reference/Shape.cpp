//===- Shape.cpp - reference meaning of ops that move elements ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each op is one walk over a strided view of its operand or its result.
//
//===----------------------------------------------------------------------===//
#include "Evaluators.h"
#include "Strides.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;
using namespace pp::reference;

namespace {

HostTensor iota(IotaOp op) {
  HostTensor result(op.getType());
  View view{0, Index(result.rank(), 0)};
  view.strides[op.getDimension()] = 1;
  walk(result.shape(), view, [&](int64_t linear, int64_t position) {
    result.values[linear] = static_cast<double>(position);
  });
  return result;
}

HostTensor randomBitsOf(RandomBitsOp op, Operands in) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  ArrayRef<int64_t> global =
      op.getGlobalShape() ? *op.getGlobalShape() : result.shape();
  View view{0, rowMajorStrides(global)};
  for (size_t dim = 0; dim < op.getOffsets().size(); ++dim)
    view.base +=
        static_cast<int64_t>(in[2 + dim]->values[0]) * view.strides[dim];
  auto seed = static_cast<int64_t>(in[0]->values[0]);
  auto step = static_cast<int64_t>(in[1]->values[0]);
  walk(result.shape(), view, [&](int64_t linear, int64_t index) {
    result.values[linear] = randomBits(seed, step, op.getStream(), index);
  });
  return result;
}

HostTensor broadcast(BroadcastOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  View view{0, Index(result.rank(), 0)};
  for (auto [dim, stride] :
       llvm::zip_equal(op.getDimensions(), rowMajorStrides(from.shape())))
    view.strides[dim] = stride;
  readView(from, view, result);
  return result;
}

HostTensor transpose(TransposeOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  Index strides = rowMajorStrides(from.shape());
  View view;
  for (int64_t dim : op.getPermutation())
    view.strides.push_back(strides[dim]);
  readView(from, view, result);
  return result;
}

HostTensor reverse(ReverseOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  View view{0, rowMajorStrides(from.shape())};
  for (int64_t dim : op.getDimensions()) {
    view.base += (from.shape()[dim] - 1) * view.strides[dim];
    view.strides[dim] = -view.strides[dim];
  }
  readView(from, view, result);
  return result;
}

HostTensor slice(SliceOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  View view{0, rowMajorStrides(from.shape())};
  for (int64_t dim = 0; dim < from.rank(); ++dim) {
    view.base += op.getStarts()[dim] * view.strides[dim];
    view.strides[dim] *= op.getStrides()[dim];
  }
  readView(from, view, result);
  return result;
}

HostTensor pad(PadOp op, const HostTensor &from, double value) {
  HostTensor result(cast<RankedTensorType>(op.getType()), value);
  View view{0, rowMajorStrides(result.shape())};
  for (int64_t dim = 0; dim < from.rank(); ++dim) {
    view.base += op.getLow()[dim] * view.strides[dim];
    view.strides[dim] *= op.getInterior()[dim] + 1;
  }
  writeView(from, view, result);
  return result;
}

HostTensor concatenate(ConcatenateOp op, Operands in) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  View view{0, rowMajorStrides(result.shape())};
  int64_t dim = op.getDimension();
  for (const HostTensor *part : in) {
    writeView(*part, view, result);
    view.base += part->shape()[dim] * view.strides[dim];
  }
  return result;
}

/// The box of shape `part` in `whole` that begins at `starts`, clamped.
View boxAt(ArrayRef<int64_t> whole, ArrayRef<int64_t> part, Operands starts) {
  View view{0, rowMajorStrides(whole)};
  for (size_t dim = 0; dim < whole.size(); ++dim) {
    auto start = static_cast<int64_t>(starts[dim]->values[0]);
    view.base += std::clamp<int64_t>(start, 0, whole[dim] - part[dim]) *
                 view.strides[dim];
  }
  return view;
}

HostTensor dynamicSlice(DynamicSliceOp op, Operands in) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  readView(*in[0], boxAt(in[0]->shape(), result.shape(), in.drop_front()),
           result);
  return result;
}

HostTensor dynamicUpdateSlice(Operands in) {
  HostTensor result = *in[0];
  writeView(*in[1], boxAt(in[0]->shape(), in[1]->shape(), in.drop_front(2)),
            result);
  return result;
}

} // namespace

std::optional<HostTensor> pp::reference::evaluateShape(Operation *op,
                                                       Operands in) {
  return llvm::TypeSwitch<Operation *, std::optional<HostTensor>>(op)
      .Case([&](IotaOp op) { return iota(op); })
      .Case([&](RandomBitsOp op) { return randomBitsOf(op, in); })
      .Case([&](BroadcastOp op) { return broadcast(op, *in[0]); })
      .Case([&](ReshapeOp op) {
        return HostTensor(cast<RankedTensorType>(op.getType()), in[0]->values);
      })
      .Case([&](TransposeOp op) { return transpose(op, *in[0]); })
      .Case([&](ReverseOp op) { return reverse(op, *in[0]); })
      .Case([&](SliceOp op) { return slice(op, *in[0]); })
      .Case([&](PadOp op) { return pad(op, *in[0], in[1]->values[0]); })
      .Case([&](ConcatenateOp op) { return concatenate(op, in); })
      .Case([&](DynamicSliceOp op) { return dynamicSlice(op, in); })
      .Case([&](DynamicUpdateSliceOp) { return dynamicUpdateSlice(in); })
      .Default([](Operation *) { return std::nullopt; });
}

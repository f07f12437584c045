//===- Contractions.cpp - products and convolutions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// StableHLO's convolution has one dimension of images, one of features and
// groups inside of the features; pp's has lists of each. Operands and result
// are brought to StableHLO's order, by nothing where they have it.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

using Dims = SmallVector<int64_t>;

static Hlo writeDot(DotGeneralOp op, ArrayRef<Hlo> in, HloWriter &out) {
  std::string batch;
  if (!op.getLhsBatch().empty())
    batch = ", batching_dims = " + spell(op.getLhsBatch()) + " x " +
            spell(op.getRhsBatch());
  return out.pretty("dot_general " + names(in) + batch +
                        ", contracting_dims = " + spell(op.getLhsContract()) +
                        " x " + spell(op.getRhsContract()),
                    in, resultType(op));
}

static int64_t sizeOf(Ints shape, Ints dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= shape[dim];
  return size;
}

/// Brings dimensions into the order of `parts` and merges all of each part.
static Hlo merge(const Hlo &operand, ArrayRef<Dims> parts, Ints window,
                 HloWriter &out) {
  Dims order, shape;
  for (const Dims &part : parts) {
    llvm::append_range(order, part);
    shape.push_back(sizeOf(operand.shape(), part));
  }
  for (int64_t dim : window) {
    order.push_back(dim);
    shape.push_back(operand.shape()[dim]);
  }
  return out.reshape(out.transpose(operand, order), shape);
}

static Dims concat(Ints a, Ints b) {
  Dims all(a);
  llvm::append_range(all, b);
  return all;
}

/// `b, f, 0, 1`.
static std::string spellLabels(StringRef first, StringRef second,
                               size_t spatial) {
  std::string labels = "[" + first.str() + ", " + second.str();
  for (size_t dim = 0; dim < spatial; ++dim)
    labels += ", " + std::to_string(dim);
  return labels + "]";
}

static std::string spellWindow(ConvolutionOp op) {
  std::string padding;
  for (auto [low, high] : llvm::zip_equal(op.getLow(), op.getHigh()))
    padding += (padding.empty() ? "" : ", ") + spell({low, high});
  std::string reversal;
  for (size_t dim = 0; dim < op.getLow().size(); ++dim)
    reversal +=
        (dim ? ", " : "") + std::string(op.getReverse() ? "true" : "false");
  return "window = {stride = " + spell(op.getStrides()) + ", pad = [" +
         padding + "], lhs_dilate = " + spell(op.getLhsDilation()) +
         ", rhs_dilate = " + spell(op.getRhsDilation()) + ", reverse = [" +
         reversal + "]}";
}

static Hlo writeConvolution(ConvolutionOp op, ArrayRef<Hlo> in,
                            HloWriter &out) {
  const Ints lhs = in[0].shape(), rhs = in[1].shape();
  const Ints result = resultType(op).getShape();
  const Dims lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  const int64_t groups = sizeOf(lhs, op.getLhsBatch());
  const size_t spatial = op.getLhsWindow().size();

  Hlo images =
      merge(in[0], {lhsFree, concat(op.getLhsBatch(), op.getLhsContract())},
            op.getLhsWindow(), out);
  Hlo filters = merge(
      in[1], {concat(op.getRhsBatch(), rhsFree), Dims(op.getRhsContract())},
      op.getRhsWindow(), out);
  Dims shape = {sizeOf(lhs, lhsFree), groups * sizeOf(rhs, rhsFree)};
  for (int64_t dim : op.getResultWindow())
    shape.push_back(result[dim]);
  Hlo product =
      out.pretty("convolution(" + names({images, filters}) +
                     ") dim_numbers = " + spellLabels("b", "f", spatial) + "x" +
                     spellLabels("o", "i", spatial) + "->" +
                     spellLabels("b", "f", spatial) + ", " + spellWindow(op) +
                     " {batch_group_count = 1 : i64, feature_group_count = " +
                     Twine(groups) + " : i64}",
                 {images, filters},
                 RankedTensorType::get(shape, resultType(op).getElementType()));

  // From [free of lhs, batch, free of rhs, window] to pp's order.
  const Dims plain = op.getResultPlain();
  const size_t batch = op.getLhsBatch().size();
  Dims order = concat(ArrayRef(plain).slice(batch, lhsFree.size()),
                      ArrayRef(plain).take_front(batch));
  llvm::append_range(order, ArrayRef(plain).drop_front(batch + lhsFree.size()));
  llvm::append_range(order, op.getResultWindow());
  Dims split, inverse(order.size());
  for (auto [from, to] : llvm::enumerate(order)) {
    split.push_back(result[to]);
    inverse[to] = from;
  }
  return out.transpose(out.reshape(product, split), inverse);
}

void hlo::addContractionForms(Forms &forms) {
  add<DotGeneralOp>(forms,
                    [](DotGeneralOp op, ArrayRef<Hlo> in, Device &device) {
                      return writeDot(op, in, device.out);
                    });
  add<ConvolutionOp>(forms,
                     [](ConvolutionOp op, ArrayRef<Hlo> in, Device &device) {
                       return writeConvolution(op, in, device.out);
                     });
}

//===- Remainders.cpp - products whose extents are no multiples -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Remainders.h"
#include "pprt/Program.h"

using namespace pprt;
using namespace pprt::cuda;

/// With fewer, out is most of the traffic, and would be written twice.
static constexpr uint64_t kLeastSteps = 256;

namespace {

using Vector = MatrixProducts::Vector;
using Activation = MatrixProducts::Activation;

/// Finds the parts of products whose elements are `factor` and `result` bytes.
class Splitter {
public:
  Splitter(uint64_t factor, uint64_t result, uint64_t leastWork)
      : factorUnit(kTensorCoreBytes / factor),
        resultUnit(kTensorCoreBytes / result), leastWork(leastWork) {}

  void split(const MatrixProducts &whole) {
    const uint64_t rows = whole.out.rows, columns = whole.out.columns,
                   steps = whole.steps();
    const double work = double(rows) * double(columns) * double(steps) *
                        double(whole.batch) * double(whole.calls.size());
    const bool mayGain = work >= double(leastWork) && isAligned(whole);
    // Loads go along the neighbours of each matrix. The library sums no factor
    // that has a single row or column.
    const auto hasOneSum = [&](uint64_t extent, Vector sums) {
      return extent % factorUnit == 1 && whole.vectorRole == sums;
    };
    if (mayGain && hasRest(rows) && !hasOneSum(rows, Vector::leftSums))
      return splitInto(whole, rows, rowsOf);
    if (mayGain && whole.right.isTransposed && hasRest(columns) &&
        !hasOneSum(columns, Vector::rightSums))
      return splitInto(whole, columns, columnsOf);
    if (mayGain && (whole.left.isTransposed || !whole.right.isTransposed) &&
        hasRest(steps) && steps >= kLeastSteps && maySplitSteps(whole))
      return splitSteps(whole);
    parts.push_back(whole);
  }

  std::vector<MatrixProducts> parts;

private:
  bool hasRest(uint64_t extent) const {
    return extent > factorUnit && extent % factorUnit != 0;
  }
  static bool isAligned(const Matrix &matrix, uint64_t unit) {
    return matrix.leading % unit == 0 && matrix.batchStride % unit == 0;
  }
  /// Whether all but the extents is aligned: otherwise splitting gains nothing.
  bool isAligned(const MatrixProducts &products) const {
    uint64_t factors = 0, results = 0;
    for (const MatrixProducts::Call &call : products.calls) {
      factors |= call.left | call.right;
      results |= call.out;
    }
    if (products.addend)
      results |= products.addend->offset | products.addendLayout.leading;
    return factors % factorUnit == 0 && results % resultUnit == 0 &&
           isAligned(products.left, factorUnit) &&
           isAligned(products.right, factorUnit) &&
           isAligned(products.out, resultUnit);
  }

  /// Epilogues beside a product apply to all of its steps.
  static bool maySplitSteps(const MatrixProducts &products) {
    return products.activation == Activation::none &&
           (products.vectorRole == Vector::none ||
            products.vectorRole == Vector::bias);
  }

  static void move(MatrixProducts &products,
                   uint64_t MatrixProducts::Call::*place, uint64_t elements) {
    for (MatrixProducts::Call &call : products.calls)
      call.*place += elements;
  }
  /// Restricts the matrix to `count` rows, or columns, from `begin`, and
  /// returns the element offset of the first.
  static uint64_t cutRows(Matrix &matrix, uint64_t begin, uint64_t count) {
    matrix.rows = count;
    return begin;
  }
  static uint64_t cutColumns(Matrix &matrix, uint64_t begin, uint64_t count) {
    matrix.columns = count;
    return begin * matrix.leading;
  }

  static MatrixProducts rowsOf(MatrixProducts its, uint64_t begin,
                               uint64_t count) {
    using Call = MatrixProducts::Call;
    move(
        its, &Call::left,
        (its.left.isTransposed ? cutColumns : cutRows)(its.left, begin, count));
    move(its, &Call::out, cutRows(its.out, begin, count));
    if (its.vectorRole == Vector::bias || its.vectorRole == Vector::leftSums)
      its.vector.offset += begin;
    else if (begin > 0)
      its.vectorRole = Vector::none; // the right factor's were summed
    if (its.addend)
      its.addend->offset += cutRows(its.addendLayout, begin, count);
    if (its.auxiliary)
      its.auxiliary->offset += begin;
    return its;
  }

  static MatrixProducts columnsOf(MatrixProducts its, uint64_t begin,
                                  uint64_t count) {
    using Call = MatrixProducts::Call;
    move(its, &Call::right,
         (its.right.isTransposed ? cutRows : cutColumns)(its.right, begin,
                                                         count));
    move(its, &Call::out, cutColumns(its.out, begin, count));
    if (its.vectorRole == Vector::rightSums)
      its.vector.offset += begin;
    else if (begin > 0 && its.vectorRole == Vector::leftSums)
      its.vectorRole = Vector::none;
    if (its.addend)
      its.addend->offset += cutColumns(its.addendLayout, begin, count);
    if (its.auxiliary)
      its.auxiliary->offset += begin * its.auxiliaryLeading;
    return its;
  }
  template <typename Part>
  void splitInto(const MatrixProducts &whole, uint64_t extent, Part part) {
    const uint64_t most = extent - extent % factorUnit;
    split(part(whole, 0, most));
    split(part(whole, most, extent - most));
  }

  static MatrixProducts stepsOf(MatrixProducts its, uint64_t begin,
                                uint64_t count) {
    using Call = MatrixProducts::Call;
    move(
        its, &Call::left,
        (its.left.isTransposed ? cutRows : cutColumns)(its.left, begin, count));
    move(its, &Call::right,
         (its.right.isTransposed ? cutColumns : cutRows)(its.right, begin,
                                                         count));
    return its;
  }
  void splitSteps(const MatrixProducts &whole) {
    const uint64_t left = whole.steps() % factorUnit,
                   most = whole.steps() - left;
    MatrixProducts rest = stepsOf(whole, most, left);
    rest.vectorRole = Vector::none;
    split(rest);
    MatrixProducts main = stepsOf(whole, 0, most);
    main.addend.reset();
    main.accumulates = true;
    split(main);
  }

  const uint64_t factorUnit, resultUnit, leastWork;
};

} // namespace

std::vector<MatrixProducts>
cuda::findParts(const ppx::ContractionT &contraction,
                const MatrixProducts &products, uint64_t leastWork) {
  const bool usesTensorCores =
      isNarrowFloat(contraction.element) ||
      (contraction.element == ppx::ElementType_f32 && contraction.tf32);
  if (!usesTensorCores)
    return {products};
  Splitter splitter(elementSize(contraction.element),
                    elementSize(contraction.out_element), leastWork);
  splitter.split(products);
  return std::move(splitter.parts);
}

uint64_t cuda::tableBytes(const std::vector<MatrixProducts> &parts) {
  uint64_t bytes = 0;
  for (const MatrixProducts &part : parts)
    bytes += part.tableBytes();
  return bytes;
}

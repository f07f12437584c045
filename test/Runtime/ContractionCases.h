//===- ContractionCases.h - contractions and their results ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a shape, layouts, types and epilogues. Out: the contraction as in an
// artifact, values for its parameters, and the results of three plain loops.
// All libraries are compared with the same cases.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_CONTRACTIONCASES_H
#define PP_TEST_RUNTIME_CONTRACTIONCASES_H

#include "pprt/Ppx.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pprt::test {

/// Layout of a matrix in memory.
enum class Layout {
  rows,         ///< row-major
  columns,      ///< column-major
  gaps,         ///< row-major with a longer row stride
  steps,        ///< no unit stride at all
  interleaved,  ///< [row, batch, column]: the batch between the dimensions
  heads,        ///< [batch but the last, row, last of batch, column]
  broadcastRow, ///< row stride 0
  oneForAll,    ///< row-major, batch strides 0
};

struct View {
  std::unique_ptr<ppx::MatrixViewT> view = std::make_unique<ppx::MatrixViewT>();
  uint64_t elements = 0;
};

View makeView(Layout layout, const std::vector<uint64_t> &batch, uint64_t rows,
              uint64_t columns);

struct Case {
  std::vector<uint64_t> batch;
  uint64_t m, n, k;
  Layout lhs = Layout::rows, rhs = Layout::rows, out = Layout::rows;
  ppx::ElementType element = ppx::ElementType_f32,
                   outElement = ppx::ElementType_f32;
  double alpha = 1;
  bool accumulate = false;
  /// Layout of an epilogue's output, if any; gelu_tanh has one if `keepsGiven`.
  std::vector<std::pair<ppx::EpilogueKind, Layout>> epilogues = {};
  bool keepsGiven = false;
  /// Whether addends and sums begin at a multiple of 16 bytes, as GELU's input
  /// always does; else anywhere.
  bool alignsBeside = false;
  bool alignsFactors = false; ///< and out
};

/// A contraction, values for its parameters up to the last result, and the
/// expected bytes of its results: untouched outside of their views.
struct Sample {
  /// Without a workspace.
  explicit Sample(const Case &c);
  /// Makes one for an artifact's contraction, with a matrix for each operand.
  Sample(const ppx::ContractionT &contraction, const ppx::KernelT &kernel);

  /// Returns nothing if `got` is the expected out, or another result behind it,
  /// within `slack` times the rounding errors of sums that are cut into blocks.
  std::string compare(const std::vector<std::byte> &got, double slack = 1,
                      uint32_t result = 0) const;
  /// Number of results: out and the outputs of epilogues.
  uint32_t numResults() const { return uint32_t(others.size()) + 1; }

  ppx::ContractionT contraction;
  /// Up to the last one that is written.
  std::vector<std::vector<std::byte>> parameters;
  std::vector<std::byte> expected;
  std::vector<std::vector<std::byte>> others; ///< results behind out

private:
  void fill(const std::vector<uint64_t> &bytes);
  void addUp();
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_CONTRACTIONCASES_H

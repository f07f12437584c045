//===- ContractionCases.h - contractions and their results ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a shape, layouts, types and epilogues. Out: the contraction as an
// artifact has it, values for its parameters, and what three plain loops make
// of them. Whoever multiplies is held against the same cases.
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

/// How a matrix lies in memory.
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
  std::vector<std::pair<ppx::EpilogueKind, Layout>> epilogues = {};
};

/// A contraction, values for its parameters up to out, and the bytes of out
/// behind it: untouched where the view does not reach.
struct Sample {
  /// Without a workspace.
  explicit Sample(const Case &c);
  /// One of an artifact, a matrix for each operand.
  Sample(const ppx::ContractionT &contraction, const ppx::KernelT &kernel);

  /// Empty if `got` is what is expected, within what rounding explains where
  /// sums are cut into blocks, `slack` times.
  std::string compare(const std::vector<std::byte> &got,
                      double slack = 1) const;

  ppx::ContractionT contraction;
  std::vector<std::vector<std::byte>> parameters;
  std::vector<std::byte> expected;

private:
  void fill(const std::vector<uint64_t> &bytes);
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_CONTRACTIONCASES_H

//===- KernelCases.h - a kernel for every op, and then some -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What kernels of every target are judged by.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TARGET_KERNELCASES_H
#define PP_TEST_TARGET_KERNELCASES_H

#include <string>
#include <vector>

namespace pp::testing {

struct KernelCase {
  std::string name;
  /// A module with @main. %f: the float type, such as f32.
  std::string text;
  /// Between these are the inputs.
  double low = -2, high = 2;

  /// The text in every float type, once where it has none, and the error that a
  /// result may have, of the largest element.
  struct Typed {
    std::string text;
    double bound;
  };
  std::vector<Typed> inEveryType() const;

private:
  /// Of narrow floats, in units of their last bit: two roundings, and twice as
  /// many where products stand behind each other, whose values are rounded in
  /// memory.
  double boundOfNarrow() const;
};

std::vector<KernelCase> elementwiseCases();
std::vector<KernelCase> shapeCases();
/// Reductions, contractions, indexing and windows.
std::vector<KernelCase> reductionCases();
/// Integers, truth values and what stands between types.
std::vector<KernelCase> typeCases();
/// All of these.
std::vector<KernelCase> allCases();

/// A module with @main of these arguments, ops and results.
std::string mainOf(const std::string &arguments, const std::string &ops,
                   const std::string &values, const std::string &types);

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to);

} // namespace pp::testing

#endif // PP_TEST_TARGET_KERNELCASES_H

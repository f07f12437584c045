//===- RandomProgram.h - small random training graphs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs that mix all kinds of graph ops, for tests that compare two ways of
// computing the same function. A seed fixes the program.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_RANDOMPROGRAM_H
#define PP_TEST_RANDOM_RANDOMPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pp/Reference/HostTensor.h"

namespace pp::testing {

struct RandomProgramOptions {
  int64_t numOps = 16;
  /// Sizes that dimensions are drawn from; 0 is one where types are mixed.
  std::vector<int64_t> sizes = {2, 3, 4};
  /// No value has more elements.
  int64_t maxElements = 256;
  /// No value exceeds this by much: it goes through tanh before. Small values
  /// have exact difference quotients; large ones leave sums as they are.
  double maxMagnitude = 1.0;
  /// Number of examples: the size of the leading dimension of inputs, across
  /// which no op looks but the loss. 0: no dimension is special.
  int64_t batch = 0;
  /// Values that are results beside the loss, as metrics.
  int64_t numMetrics = 0;
  /// States that the graph reads and writes, and metrics that tell them.
  bool hasStates = false;
  /// No op whose value or gradient jumps, so that rounding stays small.
  bool isSmooth = false;
  /// Literals of many numbers, and gradients that stop: no difference quotient
  /// tells these.
  bool hasLiterals = false, stopsGradients = false;
  /// Mostly ops that regroup dimensions, and look-ups in what they leave.
  bool regroups = false;
  /// Parameters that are read in a narrower type than they are stored in: where
  /// nothing is rounded, or what is compared may be.
  bool hasConverts = false;
  /// Values of every element type. In all but f64 they are whole numbers, so
  /// small that nothing is rounded and any order of sums has the same bits.
  bool mixesTypes = false;
  /// Says what dimensions are, for plans to speak of: a sequence, and experts.
  bool namesDims = false;
};

/// A module whose @main has parameters, a float and an integer input, and a
/// scalar loss on which all values have an influence, in f64.
mlir::OwningOpRef<mlir::ModuleOp>
makeRandomProgram(mlir::MLIRContext &context, unsigned seed,
                  const RandomProgramOptions &options = {});

/// Values for every argument: floats in (-1, 1), and integers in [0, bound)
/// where `pp.bound` says so, else such that some are no index.
std::vector<reference::HostTensor> makeRandomInputs(mlir::func::FuncOp function,
                                                    unsigned seed);

} // namespace pp::testing

#endif // PP_TEST_RANDOM_RANDOMPROGRAM_H

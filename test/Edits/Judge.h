//===- Judge.h - what becomes of an edited module ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: modules that are right, and one with an edit. Out: whether the tools
// refuse it at a place, or compile and train it. A signal is not caught: the
// caller is a process of its own.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_EDITS_JUDGE_H
#define PP_TEST_EDITS_JUDGE_H

#include "mlir/IR/MLIRContext.h"
#include <string>
#include <vector>

namespace pp::testing {

/// A module that is right, or a plan for one, as text.
struct Sample {
  enum class Kind { Model, Step, Partitioned, Program, Plan };

  std::string name, text;
  Kind kind;
  /// What to make of a model.
  std::string goal;
  /// What it was made from, for what is no model itself.
  std::string model;
  /// All its floats are f64.
  bool isExact;
};

/// Example models and random ones at every level, and some plans.
std::vector<Sample> makeSamples(mlir::MLIRContext &context);

/// How an edit ended, and why that is wrong, if it is.
struct Verdict {
  int code = 0;
  bool isRun = false; ///< the program was run, too
  std::string fault, message;
};

/// Compiles `text`, a sample after an edit; if `runs`, and it compiles, also
/// takes steps. A model or its training step, under whatever plan, must compute
/// what the interpreter does; so must a partitioned module, of which the
/// interpreter knows the meaning. How far that is from the model that it was
/// made from, pp-run must be able to tell. Writes to `folder`.
Verdict judge(mlir::MLIRContext &context, const Sample &sample,
              const std::string &text, bool runs, const std::string &folder);

} // namespace pp::testing

#endif // PP_TEST_EDITS_JUDGE_H

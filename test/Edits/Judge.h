//===- Judge.h - what becomes of an edited module ----------------*- C++
//-*-===//
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

#include <string>
#include <vector>

namespace pp::testing {

/// A module that is right, as text.
struct Sample {
  std::string name, text;
  /// What to make of it; empty for a module that has its plan.
  std::string goal;
};

/// Example models and random ones at every level.
std::vector<Sample> makeSamples();

/// How an edit ended, and why that is wrong, if it is.
struct Verdict {
  int code = 0;
  bool isRun = false; ///< the program was run, too
  std::string fault, message;
};

/// Compiles `text`, a sample after an edit; if `runs`, and it compiles, also
/// trains a step and compares it with the model. Writes to `folder`.
Verdict judge(const Sample &sample, const std::string &text, bool runs,
              const std::string &folder);

} // namespace pp::testing

#endif // PP_TEST_EDITS_JUDGE_H

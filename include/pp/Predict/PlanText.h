//===- PlanText.h - the keys of a plan as text ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Artifacts, checkpoints and traces carry their plan as text, which is read
// where there is no compiler.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_PLANTEXT_H
#define PP_PREDICT_PLANTEXT_H

#include <map>
#include <string>

namespace pp::predict {

/// Splits `#pp.plan<mesh = <...>, zero = 1>` into `mesh` and `<...>` and so on.
/// Text that is no plan has no keys.
std::map<std::string, std::string> keysOfPlan(const std::string &plan);

/// The text between the quotes of a key; empty if the plan has no such key.
std::string quotedInPlan(const std::string &plan, const std::string &key);

} // namespace pp::predict

#endif // PP_PREDICT_PLANTEXT_H

//===- Advice.h - advice and its effect -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: findings of pp-lint-shardings about a model, and its programs. Out: text
// with the outcomes of the changes that avoid them; without the model, the
// changes are only named.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPLAIN_ADVICE_H
#define PP_LIB_EXPLAIN_ADVICE_H

#include "pp/Explain/Explain.h"
#include "pp/Transforms/Findings.h"

namespace pp {

/// For people: findings of `programs`, what is the same of every layer once,
/// and a table of what their plan would come to with each change that is for
/// some; as it is, it comes to `now`. Empty if there are no findings.
std::string printAdvice(const std::vector<Finding> &findings,
                        mlir::ModuleOp programs, const Outcome &now,
                        const Trials &trials);

} // namespace pp

#endif // PP_LIB_EXPLAIN_ADVICE_H

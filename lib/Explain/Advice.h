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

/// Text for findings of `programs`, equal ones of all layers once, and a table
/// of the outcomes of their changes beside the present one, `now`. Empty if
/// there are no findings.
std::string printAdvice(const std::vector<Finding> &findings,
                        mlir::ModuleOp programs, const Outcome &now,
                        const Trials &trials);

} // namespace pp

#endif // PP_LIB_EXPLAIN_ADVICE_H

//===- PlanText.h - plans as people write and change them -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `os << plan` is one line, as in a module; people edit and compare lines.
// Advice is a change as text, which a user types, a trial applies and a test
// checks: keys, as in `--pp-parallelize`, or one seed, as in a plan.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PLANTEXT_H
#define PP_IR_PLANTEXT_H

#include "pp/IR/PP.h"

namespace pp {

/// `plan` with the defaults of the settings that it leaves out, so that it
/// keeps its meaning when defaults change.
PlanAttr withDefaults(PlanAttr plan);

/// `plan` without settings that change nothing, such as those of axes that the
/// mesh lacks.
PlanAttr withoutIdleSettings(PlanAttr plan);

/// Prints `plan` with a line for every decision and every seed, and all
/// hyperparameters. pp-load-plan reads this form and that of `os << plan`.
void printLines(PlanAttr plan, llvm::raw_ostream &os);

/// Whether `change` is a `#pp.seed`, and not `key=value ...`.
bool isSeedChange(llvm::StringRef change);

/// Whether `change` has a key that only chooses seeds.
bool choosesSeeds(llvm::StringRef change);

/// `plan` with `change`. A seed replaces those for the same name; a key may
/// also be an axis that only the mesh knows. An axis of one device is removed
/// from mesh, seeds and settings. Reports a change that cannot be read and a
/// plan that contradicts itself.
mlir::FailureOr<PlanAttr>
withChange(PlanAttr plan, llvm::StringRef change,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace pp

#endif // PP_IR_PLANTEXT_H

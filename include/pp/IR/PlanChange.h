//===- PlanChange.h - a change of a plan, as one types it -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Advice is a text that a user can type, a trial can obey and a test can check:
// keys, as in `--pp-parallelize`, or one seed, as a plan has it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PLANCHANGE_H
#define PP_IR_PLANCHANGE_H

#include "pp/IR/PP.h"

namespace pp {

/// Whether `change` is a `#pp.seed`, and not `key=value ...`.
bool isSeedChange(llvm::StringRef change);

/// Whether `change` has a key that only chooses seeds.
bool choosesSeeds(llvm::StringRef change);

/// `plan` with `change`: a seed replaces those for the same name; a key may
/// also be an axis that only the mesh knows. An axis of one device goes, and
/// with it what seeds and settings say of it. Reports a change that cannot be
/// read and a plan that contradicts itself.
mlir::FailureOr<PlanAttr>
withChange(PlanAttr plan, llvm::StringRef change,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace pp

#endif // PP_IR_PLANCHANGE_H

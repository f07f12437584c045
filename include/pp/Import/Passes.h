//===- Passes.h - models from other frameworks ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A pass that takes a module with ops of StableHLO, from whatever dialect they
// come: the real one, or the parser of StableHLOReader.h.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IMPORT_PASSES_H
#define PP_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace pp {

/// The pass that makes a model of StableHLO.
inline constexpr llvm::StringLiteral kImportStableHLO = "pp-import-stablehlo";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pp/Import/Passes.h.inc"

} // namespace pp

#endif // PP_IMPORT_PASSES_H

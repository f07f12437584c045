//===- Diagnostics.h - what tools add to MLIR's diagnostics -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Modules of builders have locations that name layers and arguments, not lines
// of a file. MLIR prints those as `<unknown>:0`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_DIAGNOSTICS_H
#define PP_IR_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace pp {

/// Prints a diagnostic and its notes, a line each, where MLIR's own form would
/// help nobody: it has no line in `file`, or `source`, the text of the file, is
/// not known, or the line is very long, as that of a function with hundreds of
/// arguments. Else it prints nothing and returns false.
///
///   gpt.mlir: error: at "h.0.attn": expects ...
bool printPlainly(mlir::Diagnostic &diagnostic, llvm::StringRef file,
                  llvm::StringRef source, llvm::raw_ostream &out);

/// Where it is, as people say it: `FILE:LINE:COLUMN`, else the name of a layer
/// or an argument, else nothing.
std::string describeLocation(mlir::Location location);

/// Lets a tool that fails with this error exit with `code` instead of 1.
void setExitCode(mlir::InFlightDiagnostic &diagnostic, int code);
/// That code; 1 when none was set.
int getExitCode(mlir::Diagnostic &diagnostic);

} // namespace pp

#endif // PP_IR_DIAGNOSTICS_H

//===- Diagnostics.h - additions to MLIR's diagnostics ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Modules from builders have locations that name layers and arguments, not
// lines of a file. MLIR prints those as `<unknown>:0`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_DIAGNOSTICS_H
#define PP_IR_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace pp {

/// Prints a diagnostic and its notes, a line each, and returns true where
/// MLIR's form would not help: there is no line of a file, the text of `file`
/// (`source`) is unknown, or its line is very long, such as a function with
/// hundreds of arguments.
///
///   gpt.mlir: error: at "h.0.attn": expects ...
bool printPlainly(mlir::Diagnostic &diagnostic, llvm::StringRef file,
                  llvm::StringRef source, llvm::raw_ostream &out);

/// A place for explanations: the name of a layer or an argument, or
/// `FILE:LINE:COLUMN`, or empty.
std::string describeLocation(mlir::Location location);

/// Makes a tool that fails with this error exit with `code` instead of 1.
void setExitCode(mlir::InFlightDiagnostic &diagnostic, int code);
/// The text of a file of at most so many bytes. If it cannot be read, reports
/// at `op` that `what` was expected, with the exit code of the cause.
mlir::FailureOr<std::string> readFile(mlir::Operation *op,
                                      const std::string &file,
                                      uint64_t mostBytes, llvm::StringRef what);

/// The exit code set on an error; 1 by default.
int getExitCode(mlir::Diagnostic &diagnostic);

} // namespace pp

#endif // PP_IR_DIAGNOSTICS_H

//===- Reporter.h - diagnostics of pp-opt -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Prints them as mlir-opt does, and remembers the exit code that they carry,
// which mlir-opt has no room for.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_REPORTER_H
#define PP_OPT_REPORTER_H

#include "mlir/IR/DialectRegistry.h"
#include <string>

namespace pp::opt {

/// Sees the errors of every context that is made with its registry. It outlives
/// them.
class Reporter {
public:
  /// `source` is the text of `file`. With `printsNothing` all printing is left
  /// to others, which `--verify-diagnostics` asks for.
  Reporter(std::string file, llvm::StringRef source, bool printsNothing)
      : file(std::move(file)), source(source), printsNothing(printsNothing) {}

  void attachTo(mlir::DialectRegistry &registry);

  /// Shows no line of the source from now on, because another text is read.
  void forgetSource() { source = {}; }

  /// The exit code after a failure: that of the first error that has one, else
  /// 1.
  int exitCode() const { return code; }

private:
  friend struct ReporterExtension;
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  std::string file;
  llvm::StringRef source;
  bool printsNothing;
  int code = 1;
};

} // namespace pp::opt

#endif // PP_OPT_REPORTER_H

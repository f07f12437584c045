//===- StableHLO.h - modules as StableHLO -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level graph (one device), spmd (one program for all devices,
// whose mesh has no stages) or pipeline. Out: its text in StableHLO, whose
// replicas are the devices, one per stage, and JSON that says what its
// arguments and results are. An op that has no form there is an error at its
// place.
//
// Nothing of StableHLO is linked, so a program that has the real dialects may
// use this library.
//
//===----------------------------------------------------------------------===//
#ifndef PP_EXPORT_STABLEHLO_H
#define PP_EXPORT_STABLEHLO_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace pp {

/// A file to write.
struct ExportedFile {
  std::string path, text;
};

/// The text of `module`, for the file `path`, and the description of its
/// arguments and results, for `path`.json. Stage 1 of a pipeline goes to
/// step.1.mlir if `path` is step.mlir.
mlir::FailureOr<std::vector<ExportedFile>>
exportStableHLO(mlir::ModuleOp module, llvm::StringRef path);

/// Whether the form of the op is known, or known to be none.
bool hasStableHLOForm(llvm::StringRef op);

} // namespace pp

#endif // PP_EXPORT_STABLEHLO_H

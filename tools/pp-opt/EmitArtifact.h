//===- EmitArtifact.h - pp-opt --emit=ppx -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What comes after the passes of a command line. In: the module as mlir-opt's
// driver has written it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_EMITARTIFACT_H
#define PP_OPT_EMITARTIFACT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace pp::opt {

/// Reads a module and writes it with the machine code of its kernels to the
/// artifact `path`, whole or not at all. Without `targets` it is of level 4;
/// else of level 3, and for each target it takes the passes from there. Reports
/// what is wrong, with an exit code. `cacheLimit`: see CommandLine.
mlir::LogicalResult emitArtifact(llvm::StringRef module,
                                 const std::string &path,
                                 const std::vector<std::string> &targets,
                                 uint64_t cacheLimit,
                                 const mlir::DialectRegistry &registry);

} // namespace pp::opt

#endif // PP_OPT_EMITARTIFACT_H

//===- Explain.h - why a program communicates as it does --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_EXPLAIN_EXPLAIN_H
#define PP_EXPLAIN_EXPLAIN_H

#include "pp/Explain/Trials.h"
#include <string>

namespace pp {

/// For people: what a step of the programs in `module`, which is of level
/// program, sends over which axes, and of each collective where it is, why, to
/// which seeds of the plan that goes back, its size and its predicted time.
/// What is alike is told once. What could be better is told with what a change
/// of the plan comes to, if `trials` have the model.
mlir::FailureOr<std::string> explain(mlir::ModuleOp module,
                                     const Trials &trials);

/// For people: how each value of `module`, which is of level graph and has
/// shardings, lies, and who asked for each axis. With `pattern`, in which `*`
/// is any text, by which way each axis came to the values of that name; none
/// is an error.
mlir::FailureOr<std::string> describeShardings(mlir::ModuleOp module,
                                               llvm::StringRef pattern);

} // namespace pp

#endif // PP_EXPLAIN_EXPLAIN_H

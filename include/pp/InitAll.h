//===- InitAll.h - registers everything that tools need ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What pp-opt, the plugin, the language server and the C interface have in
// common. The reader of StableHLO's text is not part of it: a program that
// links the real StableHLO would have two dialects of one name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_INITALL_H
#define PP_INITALL_H

#include "mlir/IR/DialectRegistry.h"
#include "pp/Transforms/Pipelines.h"
#include <functional>

namespace pp {

/// The dialects of a model, and the op interfaces that passes ask.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Every pass, and pp-parallelize; `adjust` as in registerPipelines. To be
/// called once in a process.
void registerAllPasses(
    const std::function<void(PipelineOptions &)> &adjust = nullptr);

} // namespace pp

#endif // PP_INITALL_H

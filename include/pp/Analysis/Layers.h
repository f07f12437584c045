//===- Layers.h - which parameters are read together ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layer is a product of activations with a parameter and what follows until
// the next one: its weight, its bias, the norm behind it. Parallel products, as
// those of queries, keys and values, are one layer. The graph says so, and no
// name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_LAYERS_H
#define PP_ANALYSIS_LAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

/// By argument of `main`, of level 1: how many products with parameters lead to
/// the forward ops that read a parameter beside activations, on the longest
/// way; these ops count. -1 where that is not one number, as of a table that is
/// read again at the end, and for other arguments.
llvm::SmallVector<int64_t> findLayers(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_ANALYSIS_LAYERS_H

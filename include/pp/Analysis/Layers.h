//===- Layers.h - which parameters are read together ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layer is a product of activations with a parameter, and all that reads
// parameters until one reads what it made: products beside it, as of queries,
// keys and values, its bias, the norm behind it. So what is read together
// stands together in the program, which runs in its order; what begins anew
// from the inputs, as another tower or a decoder, begins a layer. The graph
// says so, and no name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_LAYERS_H
#define PP_ANALYSIS_LAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

/// By argument of `main`, of level 1: the layer of the forward ops that read a
/// parameter beside activations, counted from 0 in the order of the program. -1
/// where that is not one, as of a table that is read again at the end, and for
/// other arguments.
llvm::SmallVector<int64_t> findLayers(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_ANALYSIS_LAYERS_H

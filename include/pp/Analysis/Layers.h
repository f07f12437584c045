//===- Layers.h - layers of parameters --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layer is a product of activations with a parameter and the readers of
// parameters behind it, up to the next product that reads its result: products
// beside it (queries, keys and values), its bias, the norm behind it.
// Parameters of a layer are read together, since programs run in the order of
// the graph; a second tower or a decoder begins a new layer. Names do not
// count.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_LAYERS_H
#define PP_ANALYSIS_LAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

/// For each argument of `main` (level 1): the layer of the forward ops that
/// read it as a parameter beside activations, counted from 0 in program order.
/// -1 for other arguments, and for a parameter of several layers, such as a
/// table that is read again at the end.
llvm::SmallVector<int64_t> findLayers(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_ANALYSIS_LAYERS_H

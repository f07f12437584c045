//===- ValueNames.h - names of values inside a model ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Values are named by the locations of their ops, which the model gives them
// and which all passes keep: `h.0.attn`, `layers.3.mlp`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_VALUENAMES_H
#define PP_ANALYSIS_VALUENAMES_H

#include "mlir/IR/Operation.h"

namespace pp {

/// The name in the op's location, or an empty text.
llvm::StringRef getOpName(mlir::Operation *op);

/// The layer that `name` lies in (pprt/LayerName.h), as h.0.
llvm::StringRef findLayerName(llvm::StringRef name);
llvm::StringRef findLayerName(mlir::Operation *op);

} // namespace pp

#endif // PP_ANALYSIS_VALUENAMES_H

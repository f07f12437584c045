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
#include <optional>

namespace pp {

/// The name in the op's location, or an empty text.
llvm::StringRef getOpName(mlir::Operation *op);

/// The layer that `name` lies in (pprt/LayerName.h), as h.0.
llvm::StringRef findLayerName(llvm::StringRef name);
llvm::StringRef findLayerName(mlir::Operation *op);

/// Patterns of values, separated by commas.
class ValuePatterns {
public:
  explicit ValuePatterns(llvm::StringRef text);

  bool empty() const { return patterns.empty(); }
  /// True if some pattern names the results of `op`.
  bool match(mlir::Operation *op);
  /// A pattern that has matched nothing so far, if there is one.
  std::optional<llvm::StringRef> findUnmatched() const;

private:
  struct Pattern {
    llvm::StringRef text, name, op;
    bool hasMatched = false;
  };
  llvm::SmallVector<Pattern, 2> patterns;
};

} // namespace pp

#endif // PP_ANALYSIS_VALUENAMES_H

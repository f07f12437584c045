//===- GradientSums.h - sums of gradients -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A gradient for a split layout is split where it is summed over devices, since
// a reduce_scatter does both. The ops behind it, such as converts and the sum
// over a parameter's readers, then work on parts. A parameter may have
// thousands of readers, and so its gradient as many sums in a chain: each op is
// visited once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_GRADIENTSUMS_H
#define PP_LIB_TRANSFORMS_SHARD_GRADIENTSUMS_H

#include "pp/IR/PP.h"
#include "llvm/ADT/DenseMap.h"

namespace pp {

/// True for an op that makes a part of its result from the same parts of its
/// operands, and that states no layout itself.
bool isMadeInParts(mlir::Operation *op);

class GradientSums {
public:
  /// The op that makes `value` in parts, if some of its operands are sums or
  /// made of sums in this way; null for a value that is split directly.
  mlir::Operation *findMakerOfParts(mlir::Value value) {
    return find(value) == Form::OfSums ? value.getDefiningOp() : nullptr;
  }

private:
  enum class Form {
    Other,
    Partial, ///< a sum that devices may have parts of, or like one
    OfSums,  ///< made in parts from partial values
  };

  /// Visits the values that `value` is made of and that have no other reader.
  Form find(mlir::Value value);
  /// For a value whose operands are known.
  Form judge(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, Form> known;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_GRADIENTSUMS_H

//===- Alternatives.h - what a collective could have been -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner obeys rules that look at no cost. These functions tell what
// else would have been right, and what it would send: of a partial value, a
// reduction elsewhere; of an operand that is brought to another layout, an op
// that computes with it as it lies; of an exchange, a gather.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_ALTERNATIVES_H
#define PP_LIB_TRANSFORMS_SHARD_ALTERNATIVES_H

#include "Resharder.h"
#include "pp/Transforms/Cause.h"

namespace pp {

class Alternatives {
public:
  /// `layouts` tells how any value of the op at hand lies.
  Alternatives(const MeshView &mesh, Resharder &resharder,
               llvm::function_ref<const Layout &(mlir::Value)> layouts)
      : mesh(mesh), resharder(resharder), layouts(layouts) {}

  /// Those to bringing the value of `use`, which is there as `from`, to
  /// `layout`.
  std::vector<Cause::Alternative>
  find(mlir::OpOperand &use, const LocalValue &from, const Layout &layout);

  /// What to do about a parameter that is gathered for its one use, or about a
  /// value that is whole on its way from one split layout to another; empty if
  /// it is neither.
  std::string advise(mlir::OpOperand &use, const LocalValue &from,
                     const Layout &layout);

private:
  /// What a rank sends from one layout to another, and how long.
  struct Price {
    double bytes = 0, seconds = 0;
  };
  std::optional<Price> priceOf(mlir::Value value, const Layout &has,
                               const PartialAxes &partial, const Layout &wants);
  std::optional<Price> priceAsItLies(mlir::OpOperand &use, const Layout &has,
                                     const Layout &layout);
  std::optional<Cause::Alternative>
  findScan(mlir::OpOperand &use, const Layout &has, const Layout &layout);
  std::optional<Price> priceBehind(mlir::OpOperand &use,
                                   const LocalValue &from);

  const MeshView &mesh;
  Resharder &resharder;
  llvm::function_ref<const Layout &(mlir::Value)> layouts;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_ALTERNATIVES_H

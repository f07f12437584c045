//===- Alternatives.h - alternatives to a collective ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner obeys rules that ignore costs. These functions name correct
// alternatives, and the bytes they would send: for a partial value, a reduction
// elsewhere; for an operand that is brought to another layout, an op that
// computes in the present one; for an exchange, a gather.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_ALTERNATIVES_H
#define PP_LIB_TRANSFORMS_SHARD_ALTERNATIVES_H

#include "Resharder.h"
#include "pp/Transforms/Cause.h"

namespace pp {

class Alternatives {
public:
  /// `layouts` gives the layout of any value of the current op.
  Alternatives(const MeshView &mesh, Resharder &resharder,
               llvm::function_ref<const Layout &(mlir::Value)> layouts)
      : mesh(mesh), resharder(resharder), layouts(layouts) {}

  /// Those to bringing the value of `use`, which is there as `from`, to
  /// `layout`.
  std::vector<Cause::Alternative>
  find(mlir::OpOperand &use, const LocalValue &from, const Layout &layout);

  /// Advice about a parameter that is gathered for its one use, or about a
  /// value that is whole on its way from one split layout to another; empty for
  /// other values.
  std::string advise(mlir::OpOperand &use, const LocalValue &from,
                     const Layout &layout);

private:
  /// Bytes that a rank sends from one layout to another, and the time.
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

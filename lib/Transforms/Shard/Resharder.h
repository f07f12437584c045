//===- Resharder.h - reshard plans as ops -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The bridge between the partitioner and the reshard planner: attributes to
// the planner's structs, its steps to collectives.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_RESHARDER_H
#define PP_LIB_TRANSFORMS_SHARD_RESHARDER_H

#include "mlir/IR/Builders.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Transforms/Cause.h"

namespace pp {

/// A tensor as one device holds it.
struct LocalValue {
  mlir::Value value;
  Layout layout;
  PartialAxes partial;
};

class Resharder {
public:
  Resharder(MeshView mesh, const schedule::Topology &topology);

  /// Builds the cheapest collectives from `from` to `layout`, with nothing or
  /// only `partial` left to reduce. Their locations fuse `loc` with the reason
  /// `cause`, which also goes into a remark each. Time is no link: a value may
  /// be cut into micro-batches, never joined (TimeChecks.cpp). Unreachable
  /// targets are reported.
  mlir::FailureOr<mlir::Value>
  build(mlir::OpBuilder &builder, mlir::Location loc, const Cause &cause,
        const LocalValue &from, llvm::ArrayRef<int64_t> globalShape,
        const Layout &layout, const PartialAxes &partial = {});

  /// The collectives that would be built.
  const reshard::ReshardPlan &plan(const LocalValue &from,
                                   llvm::ArrayRef<int64_t> globalShape,
                                   const Layout &layout,
                                   const PartialAxes &partial);
  /// Chooses among several forms of a value the first from which collectives
  /// take least.
  LocalValue chooseCheapest(llvm::ArrayRef<LocalValue> forms,
                            llvm::ArrayRef<int64_t> globalShape,
                            const Layout &layout);

private:
  mlir::FailureOr<LocalValue>
  buildPlanned(mlir::OpBuilder &builder, mlir::Location loc, const Cause &cause,
               LocalValue from, llvm::ArrayRef<int64_t> globalShape,
               const Layout &layout, const PartialAxes &partial);
  mlir::Value buildStep(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, const reshard::ReshardStep &step);

  MeshView mesh;
  reshard::ReshardPlanner planner;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_RESHARDER_H

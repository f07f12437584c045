//===- CauseFinder.h - what is known of a collective's cause ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the partitioner, while the global function is there: who made a value,
// who wants it otherwise, and to which of the plan's seeds that goes back.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H
#define PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H

#include "Resharder.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/Transforms/Cause.h"
#include "llvm/ADT/SetVector.h"

namespace pp {

class CauseFinder {
public:
  /// In `main` all ops have rules. `plan` may be null.
  CauseFinder(mlir::func::FuncOp main, MeshView mesh, PlanAttr plan);

  /// Why the value of `use`, which is there as `from`, is brought to `layout`.
  Cause find(mlir::OpOperand &use, const LocalValue &from,
             const Layout &layout);

private:
  using Class = FactorClasses::Class;
  /// A seed of the plan, by number, that puts an axis on a dimension of a
  /// class.
  struct Seeding {
    mlir::StringAttr axis;
    unsigned seed;
  };

  void enterSeeds();
  void appendReduced(mlir::Value value, mlir::StringAttr axis,
                     llvm::SetVector<unsigned> &found) const;
  void appendSeeds(llvm::ArrayRef<Class> ofClasses, mlir::StringAttr axis,
                   llvm::SetVector<unsigned> &found) const;
  std::vector<std::string> findOrigins(mlir::OpOperand &use,
                                       const LocalValue &from,
                                       const Layout &layout) const;

  mlir::func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  FactorClasses classes;
  llvm::DenseMap<Class, llvm::SmallVector<Seeding, 1>> seedings;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H

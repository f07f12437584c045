//===- SeedAdvice.h - seeds that would split an op --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For findings: keys that have an effect on a model and an axis, and seeds for
// named values. In: level 1 with a sharding on every value, where constraints
// keep the names of values.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_SEEDADVICE_H
#define PP_LIB_TRANSFORMS_SHARD_SEEDADVICE_H

#include "pp/Analysis/Factors.h"
#include "pp/Planner/KeyDims.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace pp {

/// Whether a key has an effect on `axis`.
bool concerns(PlanKey key, llvm::StringRef axis);

class SeedAdvice {
public:
  SeedAdvice(mlir::func::FuncOp main, const MeshView &mesh, PlanAttr plan);

  /// Changes of the plan, as withChange() reads them, each of which would let
  /// `axis` split one of these factors of an op. Keys cannot help if the rest
  /// of the axis splits around the op.
  std::vector<std::string> find(mlir::Operation *op,
                                llvm::ArrayRef<int64_t> factors, int axis,
                                bool isInside);

  /// A seed that leaves a dimension of an argument whole.
  std::string spellWhole(mlir::BlockArgument argument, unsigned dim) const;

private:
  /// Something that a seed can name.
  struct Named {
    enum Kind { Parameter, Inside, Input };
    mlir::Value value;
    unsigned dim;
    std::string name;
    Kind kind;
  };

  /// More is better.
  struct Ranked {
    const Named *named = nullptr;
    int rank = 0;
  };

  std::string nameOf(mlir::BlockArgument argument) const;
  void enter(mlir::Value value, std::string name, Named::Kind kind);
  bool isOn(PlanKey key, int axis);
  bool splitsParameters(int axis);
  const Ranked &findNamed(const FactorClasses::Class &part, int axis);
  const Named *findNamed(mlir::Operation *op, llvm::ArrayRef<int64_t> factors,
                         int axis);
  SeedAttr findSeed(llvm::StringRef name, int64_t rank, int64_t priority) const;
  std::string spellSplit(const Named &named, mlir::StringAttr axis) const;

  mlir::func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  KeyDims dims;
  /// Names for all layers, of which not all arguments have one shape and one
  /// sharding.
  llvm::StringSet<> mixed;
  /// By class of the major part of a dimension.
  std::map<FactorClasses::Class, std::vector<Named>> named;
  std::vector<mlir::Value> values; ///< that have names
  std::map<std::pair<PlanKey, int>, bool> areOn;
  std::map<int, bool> parameterAxes;
  std::map<std::pair<FactorClasses::Class, int>, Ranked> bests;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_SEEDADVICE_H

//===- TensorSeeds.h - candidates of tensor parallelism ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Which dimensions tensor parallelism may split, read off the forward graph: a
// class of dimensions that share a factor qualifies if a contraction with a
// parameter introduces it, the only reductions over it are contractions with
// parameters, no op needs it whole, and no input carries it. On a transformer
// these are the heads and the inner dimension of the feed-forward part: each
// class opens with one contraction and closes with another, between which
// everything is local, and one sum remains (Megatron-LM's scheme).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_TENSORSEEDS_H
#define PP_LIB_PLANNER_TENSORSEEDS_H

#include "TensorAxis.h"
#include "pp/Analysis/RuleTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace pp {

/// A dimension of a parameter.
struct ParameterDim {
  mlir::BlockArgument parameter;
  unsigned dim;
};

/// Another split of an axis, for parameters of all layers.
struct SplitOption {
  /// By dimension of these parameters, alike for all of them.
  llvm::SmallVector<std::pair<unsigned, AxisPart>, 2> dims;
  llvm::SmallVector<mlir::BlockArgument> parameters;
  AxisParts classes;
};

class TensorSeeds {
public:
  using Class = FactorClasses::Class;

  /// For an axis of `shards` devices.
  TensorSeeds(mlir::func::FuncOp main, int64_t shards)
      : main(main), shards(shards) {}

  mlir::LogicalResult collect();
  /// Parameter dimensions to seed, in order of their introduction.
  llvm::SmallVector<ParameterDim> select();
  /// Parameter dimensions in which inputs look something up, one per class, of
  /// parameters that `others` do not split; of two, that whose parameter's name
  /// comes first.
  llvm::SmallVector<ParameterDim>
  selectLookedUp(llvm::ArrayRef<ParameterDim> others);
  /// Whether inputs look something up in a dimension of a parameter that the
  /// model itself splits over tp.
  bool splitsGivenLookedUp();
  /// For products with parameters that the selection leaves whole, or splits
  /// over a part of the axis, or unevenly: the dimensions of these parameters
  /// that could take the axis, or its rest, as alternatives, alike for all
  /// layers; products of most work first. `parts` names selections of a part
  /// only.
  llvm::SmallVector<llvm::SmallVector<SplitOption>>
  findOptions(const AxisParts &parts);
  /// Sizes of the part of the axis for a dimension that the whole axis does not
  /// divide, if another dimension of a parameter with it could take the rest:
  /// the size that divides both in the largest of these parameters, or all that
  /// leave no device without elements, the one with the least work for a device
  /// first. If there are elements for the whole axis, that comes first unless a
  /// device has less work with others; none if there are no others.
  llvm::SmallVector<int64_t> findPartSizes(const ParameterDim &split);
  Class classOf(const ParameterDim &split) const {
    return classes.classesOf(split.parameter, split.dim).front();
  }
  llvm::SmallVector<Class, 2> classesOf(mlir::Value value, unsigned dim) const {
    return classes.classesOf(value, dim);
  }
  bool isSelected(Class number) const { return selected.contains(number); }

private:
  /// Arguments with a sharding from the model, which leaves nothing to choose.
  llvm::DenseSet<mlir::Value> getGiven();
  /// Disqualifies dimensions that `rule` reduces or needs whole.
  void judge(mlir::Operation *op, const ShardingRule &rule);
  struct Layers;
  std::vector<Layers> findLayers(const AxisParts &parts);
  /// The part of a class that is selected, as far as it divides.
  AxisPart partOf(Class number, const AxisParts &parts) const;
  std::optional<Class> findSelected(mlir::Operation *op,
                                    const AxisParts &parts) const;
  llvm::SmallVector<SplitOption> findOptions(const Layers &layers) const;
  /// Appends a choice that gives dimensions of a parameter `parts`, if
  /// possible.
  void addOption(const Layers &layers,
                 llvm::ArrayRef<std::pair<unsigned, AxisPart>> parts,
                 llvm::SmallVectorImpl<SplitOption> &options) const;

  mlir::func::FuncOp main;
  const int64_t shards;
  FactorClasses classes;
  RuleTable rules;
  std::vector<std::pair<mlir::Operation *, const ShardingRule *>> ops;
  /// Products with parameters, and these.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::BlockArgument>> products;
  /// Classes that inputs carry or the model adds up, other than against a
  /// parameter, as a norm does: splitting them would leave a sum at each such
  /// place. Those of which some op needs all. Those that inputs look up.
  llvm::BitVector summed, cut, lookedUp;
  llvm::DenseSet<Class> selected;
  /// A free dimension of a parameter in a contraction.
  struct Introduction {
    int64_t depth; // of the contraction
    llvm::StringRef name;
    mlir::BlockArgument parameter;
    unsigned dim;
  };
  llvm::SmallVector<Introduction> introductions;
  llvm::DenseMap<mlir::Operation *, int64_t> depths;
};

} // namespace pp

#endif // PP_LIB_PLANNER_TENSORSEEDS_H

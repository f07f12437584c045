//===- Factors.h - layouts of tensors and of factors ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by propagation, padding and the partitioner: a sharding as lists of
// mesh axis numbers, its translation from and to attributes, and the mapping
// between dimensions of a tensor and factors of a rule.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_FACTORS_H
#define PP_ANALYSIS_FACTORS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// Positions of axes in the mesh, major to minor.
using AxisList = llvm::SmallVector<int, 2>;
/// Axes of every dimension of a tensor, or of every factor of a rule.
using Layout = llvm::SmallVector<AxisList, 4>;

/// A mesh, its symbol, and the axes by number.
class MeshView {
public:
  /// Takes the priorities of axes from `plan`, if any.
  MeshView(MeshAttr mesh, mlir::FlatSymbolRefAttr symbol, PlanAttr plan);
  /// The module's mesh, under its plan; reports the absence of a mesh.
  static mlir::FailureOr<MeshView> of(mlir::ModuleOp module);

  MeshAttr attr() const { return mesh; }
  mlir::FlatSymbolRefAttr symbol() const { return meshSymbol; }
  int numAxes() const { return axisSizes.size(); }
  int64_t size(int axis) const { return axisSizes[axis]; }
  int64_t size(const AxisList &axes) const;
  /// The number of shards along every dimension.
  llvm::SmallVector<int64_t> shardsOf(const Layout &layout) const;
  mlir::StringAttr name(int axis) const;
  /// Number of the time axis, or -1.
  int timeAxis() const { return time; }
  /// The priority of an axis, smallest first: that of the first open seed that
  /// uses the axis, 0 if none does.
  int64_t priority(int axis) const { return axisPriorities[axis]; }
  /// All priorities, ascending; 0 if there are no axes.
  llvm::ArrayRef<int64_t> priorities() const { return distinctPriorities; }

  Layout toLayout(ShardingAttr sharding) const;
  ShardingAttr toSharding(const Layout &layout) const;
  llvm::SmallVector<mlir::StringAttr> names(llvm::ArrayRef<int> axes) const;
  /// `[{"dp"}, {}]`
  std::string spell(const Layout &layout) const;
  /// The shape of a shard; every dimension must divide.
  mlir::RankedTensorType localType(mlir::RankedTensorType global,
                                   const Layout &layout) const;

private:
  MeshAttr mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  llvm::SmallVector<int64_t> axisSizes, axisPriorities, distinctPriorities;
  int time = -1;
};

/// The layout that propagation wrote for an argument or an op's result.
Layout getLayout(mlir::Value value, const MeshView &mesh);

/// True for an identity that may change the layout: a reshard or a barrier.
bool isLayoutChange(mlir::Operation *op);

/// True if `sharding` has the rank of `type` and names axes of the mesh only.
bool fits(ShardingAttr sharding, mlir::Type type, const MeshView &mesh);

/// The input of the passes after propagation.
struct ShardedMain {
  mlir::func::FuncOp main;
  MeshView mesh;

  /// The module's function and mesh. Reports arguments, ops and results without
  /// shardings that fit.
  static mlir::FailureOr<ShardedMain> of(mlir::ModuleOp module);
};

/// True if `axis` splits some dimension.
bool splits(llvm::ArrayRef<AxisList> layout, int axis);
/// True if `a` begins `b`.
bool isPrefix(const AxisList &a, const AxisList &b);

/// The dimensions of tensor `to` of a rule that are `dims` of tensor `from`,
/// ascending.
llvm::SmallVector<int64_t> mapDims(const TensorFactors &from,
                                   const TensorFactors &to,
                                   llvm::ArrayRef<int64_t> dims);

/// Deals the axes of a dimension out to its factors of these sizes, major to
/// minor: the next factor gets axes only when the one before is split
/// completely. If the dimension divides, a factor takes axes that divide it;
/// otherwise as many as it has elements for, and the last factor takes the
/// rest. The second rule also holds for the axes up to that of micro-batches,
/// since nothing is gathered over these.
Layout splitAxes(const AxisList &axes, llvm::ArrayRef<int64_t> sizes,
                 const MeshView &mesh);

/// The layout of a tensor whose factors have these axes. A minor factor counts
/// only if the factors before it are split completely; otherwise no list of
/// axes describes the dimension.
Layout layoutOf(const ShardingRule &rule, const TensorFactors &tensor,
                const Layout &factorAxes, const MeshView &mesh);

/// Removes axes from minor factors until no tensor has an axis behind a factor
/// that is not split completely, so that every tensor can express the result.
void dropUnspeakable(const ShardingRule &rule, Layout &factorAxes,
                     const MeshView &mesh);

/// How factors got their axes.
struct AxisChoice {
  /// Per axis the tensor (results first) that brought it in, or -1.
  llvm::SmallVector<int, 8> givers;
  /// The first tensor that lost an axis, or -1; the lost axis; and the axis
  /// that the factor has instead, the same axis if another factor has it, or
  /// -1.
  int loser = -1, lost = -1, kept = -1;
  /// Axes whose major part splits a factor completely or evenly, while the
  /// whole axis does not: the axis and the size of that part.
  llvm::SmallVector<std::pair<int, int64_t>, 1> divisible;
};

/// Chooses the axes of every factor of an op, by priority: first reductions
/// over which all operands are split alike, then the axes of the results, then
/// those of the operands in order. The first tensor that splits a factor
/// decides, later ones may extend it, and no axis serves two factors. This
/// fixed rule settles conflicts; `choice`, if given, gets the details.
Layout chooseFactorAxes(const ShardingRule &rule,
                        llvm::ArrayRef<const Layout *> results,
                        llvm::ArrayRef<const Layout *> operands,
                        const MeshView &mesh, AxisChoice *choice = nullptr);

/// The axes with which an op computes on one device, given the layouts of
/// results and operands: chooseFactorAxes, except that for a layout change the
/// result decides. If reshapes split one dimension in ways that do not refine
/// each other, a factor may not divide although every dimension does: it stays
/// whole.
Layout chooseLocalAxes(mlir::Operation *op, const ShardingRule &rule,
                       llvm::ArrayRef<const Layout *> results,
                       llvm::ArrayRef<const Layout *> operands,
                       const MeshView &mesh);
/// The same with the layouts that propagation wrote.
Layout chooseLocalAxes(mlir::Operation *op, const ShardingRule &rule,
                       const MeshView &mesh);

} // namespace pp

#endif // PP_ANALYSIS_FACTORS_H

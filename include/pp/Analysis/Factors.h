//===- Factors.h - layouts of tensors and of factors ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What propagation, padding and the partitioner share: a sharding as lists of
// mesh axis numbers, its translation from and to attributes, and the two
// directions between the dimensions of a tensor and the factors of a rule.
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
  /// Axes rank as `plan`, if any, says.
  MeshView(MeshAttr mesh, mlir::FlatSymbolRefAttr symbol, PlanAttr plan);
  /// The module's mesh, under its plan; reports the absence of a mesh.
  static mlir::FailureOr<MeshView> of(mlir::ModuleOp module);

  MeshAttr attr() const { return mesh; }
  mlir::FlatSymbolRefAttr symbol() const { return meshSymbol; }
  int numAxes() const { return axisSizes.size(); }
  int64_t size(int axis) const { return axisSizes[axis]; }
  int64_t size(const AxisList &axes) const;
  /// Into how many shards every dimension is split.
  llvm::SmallVector<int64_t> shardsOf(const Layout &layout) const;
  mlir::StringAttr name(int axis) const;
  /// Number of the time axis, or -1.
  int timeAxis() const { return time; }
  /// Which axes go first where two want the same, smallest first: the priority
  /// of the first open seed that uses the axis, 0 if none does.
  int64_t priority(int axis) const { return axisPriorities[axis]; }
  /// All priorities that axes have, ascending; 0 where there are no axes.
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

/// True for an identity whose result need not lie as its operand: a reshard or
/// a barrier.
bool isLayoutChange(mlir::Operation *op);

/// True if `sharding` has the rank of `type` and names axes of the mesh only.
bool fits(ShardingAttr sharding, mlir::Type type, const MeshView &mesh);

/// What the passes after propagation begin with.
struct ShardedMain {
  mlir::func::FuncOp main;
  MeshView mesh;

  /// The module's function and mesh, once it has been checked that every
  /// argument, op and result has shardings that fit.
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
/// minor: a factor takes axes until it is split completely, and the next one
/// gets some only then. Where the dimension divides, a factor takes axes that
/// divide it; else as many as it has elements for, and the last one all. So it
/// is for all up to the axis of micro-batches, for nothing gathers over these.
Layout splitAxes(const AxisList &axes, llvm::ArrayRef<int64_t> sizes,
                 const MeshView &mesh);

/// The layout a tensor has when its factors have these axes. A minor factor
/// counts only where the factors before it are split completely, for otherwise
/// no list of axes describes the dimension.
Layout layoutOf(const ShardingRule &rule, const TensorFactors &tensor,
                const Layout &factorAxes, const MeshView &mesh);

/// Takes axes from minor factors, until no tensor has one behind a factor that
/// is not split completely: what every tensor can say is what remains.
void dropUnspeakable(const ShardingRule &rule, Layout &factorAxes,
                     const MeshView &mesh);

/// How factors came by their axes.
struct AxisChoice {
  /// Per axis the tensor (results first) that brought it in, or -1.
  llvm::SmallVector<int, 8> givers;
  /// The first tensor that lost an axis, or -1; and the axis that a factor has
  /// in its place, or the same one if another factor has it, or -1 if none has.
  int loser = -1, lost = -1, kept = -1;
  /// Axes that split a factor completely, or evenly, by their major part, but
  /// not whole: the axis and the size of that part.
  llvm::SmallVector<std::pair<int, int64_t>, 1> divisible;
};

/// Chooses the axes of every factor of an op, those of the first priority
/// before the others: reductions over which all operands are split alike, then
/// what the results have, then the operands in order. The first that splits a
/// factor decides, later ones may extend it, and no axis serves two factors.
/// This order is the fixed rule that settles conflicts; `choice`, if given, is
/// set to what it came to.
Layout chooseFactorAxes(const ShardingRule &rule,
                        llvm::ArrayRef<const Layout *> results,
                        llvm::ArrayRef<const Layout *> operands,
                        const MeshView &mesh, AxisChoice *choice = nullptr);

/// The axes with which an op computes on one device, whose results and operands
/// lie so: chooseFactorAxes, but that between two layouts the result decides.
/// Where reshapes split one dimension in ways that do not refine each other, a
/// factor may not divide although every dimension does: it stays whole.
Layout chooseLocalAxes(mlir::Operation *op, const ShardingRule &rule,
                       llvm::ArrayRef<const Layout *> results,
                       llvm::ArrayRef<const Layout *> operands,
                       const MeshView &mesh);
/// The same with the layouts that propagation wrote.
Layout chooseLocalAxes(mlir::Operation *op, const ShardingRule &rule,
                       const MeshView &mesh);

} // namespace pp

#endif // PP_ANALYSIS_FACTORS_H

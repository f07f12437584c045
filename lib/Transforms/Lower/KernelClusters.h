//===- KernelClusters.h - groups ops into kernels ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The second half of pp-form-kernels decides here: in, a block of kernel ops on
// static shapes; out, a partition of them into kernels and the rows of each.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_KERNELCLUSTERS_H
#define PP_LIB_TRANSFORMS_LOWER_KERNELCLUSTERS_H

#include "mlir/IR/Block.h"
#include "pp/Analysis/RowLayout.h"
#include "pp/IR/Kernel.h"
#include "pprt/Target.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace pp {

/// One way to divide a set of ops into rows: a layout for every value that the
/// ops compute.
struct RowOption {
  int64_t rows = 1;
  llvm::DenseMap<mlir::Value, RowLayout> layouts;
};

/// Ops that become one kernel. `ops` are in block order; free ops belong to no
/// cluster and are cloned into every kernel that needs them.
struct KernelCluster {
  llvm::SmallSetVector<mlir::Operation *, 8> ops;
  /// The ways that remain; the first is the best.
  llvm::SmallVector<RowOption> options;
  /// Its only op reads no other's value but from memory, nor is read so.
  bool isAlone = false;
  /// Set by finish(): the ops with users, their operands from elsewhere, and
  /// their values with readers elsewhere.
  llvm::SetVector<mlir::Operation *> live;
  llvm::SetVector<mlir::Value> inputs, outputs;
};

/// True for ops that keep their order in a block whatever they read:
/// collectives, transfers, fragments.
bool isOrderedOp(mlir::Operation *op);

/// The ops of a block that cost nothing to recompute where they are used:
/// literals, counters, coordinates, masks made of these, broadcasts, and slices
/// that remove padding of rows. Found once, since whether an op is a mask
/// depends on everything that leads to it.
class FreeOps {
public:
  explicit FreeOps(mlir::Block &block);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Calls `visit` for each value that `op` reads, looking through free ops.
  void forEachRead(mlir::Operation *op,
                   llvm::function_ref<void(mlir::Value)> visit) const;

private:
  bool isMaskOperand(mlir::Value value) const;

  llvm::DenseSet<mlir::Operation *> ops;
};

/// Partitions the kernel ops of a block into clusters.
class KernelClusters {
public:
  KernelClusters(mlir::Block &block, const pprt::KernelTuning &tuning);

  /// Puts every op that is not free into a cluster.
  void clusterOps();
  /// Lets independent clusters share kernels, if the target asks for it
  /// (ClustersBeside.cpp).
  void joinBeside();
  /// Clones cheap ops into the clusters that read them where this saves
  /// traffic.
  void recomputeCheapOps();

  /// Finds the inputs and outputs of each cluster, and drops unused ops.
  void finish();

  llvm::ArrayRef<std::unique_ptr<KernelCluster>> getClusters() const {
    return clusters;
  }
  /// The cluster that hands out the value of `op`, or null.
  KernelCluster *clusterOf(mlir::Operation *op) const {
    return owner.lookup(op);
  }
  const FreeOps &getFreeOps() const { return free; }

private:
  KernelCluster *createCluster(mlir::Operation *op);
  bool tryJoin(mlir::Operation *op);
  /// Whether `merged` as one kernel, with `op` if there is one, is within the
  /// target's limits (ClusterLimits.cpp).
  bool fits(llvm::ArrayRef<const KernelCluster *> merged,
            mlir::Operation *op) const;
  bool wouldCycle(llvm::ArrayRef<KernelCluster *> merged, mlir::Operation *op);
  void forEachReader(mlir::Operation *op,
                     llvm::function_ref<void(mlir::Operation *)> visit) const;
  bool comesBack(llvm::ArrayRef<KernelCluster *> merged, mlir::Operation *op);
  bool isLeaf(const KernelCluster &cluster) const;
  void forEachProducer(mlir::Operation *op,
                       llvm::function_ref<void(mlir::Operation *)> visit) const;
  llvm::DenseSet<mlir::Operation *>
  findRelated(const KernelCluster &cluster) const;
  unsigned countBetween(const KernelCluster &first,
                        const KernelCluster &second) const;
  bool recomputeInto(KernelCluster &cluster, mlir::Value input);
  llvm::SetVector<mlir::Value> inputsOf(const KernelCluster &cluster) const;
  bool isStored(mlir::Value value, const KernelCluster &except) const;
  int64_t countElements(llvm::ArrayRef<KernelCluster *> merged) const;
  void absorb(KernelCluster &into, KernelCluster &from);

  mlir::Block &block;
  const pprt::KernelTuning tuning;
  FreeOps free;
  llvm::SmallVector<std::unique_ptr<KernelCluster>> clusters;
  llvm::DenseMap<mlir::Operation *, KernelCluster *> owner;
  /// For ops that keep their order, the one before and the one after.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> previousOf, nextOf;
  /// The last op before another that is no kernel's.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> boundaryBefore;
  /// While recomputation is decided: which clusters read a value from memory.
  llvm::DenseMap<mlir::Value, llvm::SmallPtrSet<KernelCluster *, 4>> readers;
};

/// The layout that `option` gives the result of `op` if it may join the ops
/// whose values `option` knows; nothing if rows would need each other. The ops
/// that are there look at `others` elements.
std::optional<RowLayout> extendOption(const RowOption &option,
                                      mlir::Operation *op, const FreeOps &free,
                                      const pprt::KernelTuning &tuning,
                                      int64_t others = 0);

/// Every pair of ways to divide `a` and `b`, as one.
llvm::SmallVector<RowOption> combine(llvm::ArrayRef<RowOption> a,
                                     llvm::ArrayRef<RowOption> b);

/// How many elements `op` reads and computes.
int64_t countElements(mlir::Operation *op);

/// Ways to divide one op into rows.
llvm::SmallVector<RowOption> startOptions(mlir::Operation *op,
                                          const FreeOps &free,
                                          const pprt::KernelTuning &tuning);

/// Lower is better: rows should be many, and their parts neither small nor
/// large, nor strewn over memory.
double scoreOption(const RowOption &option, const pprt::KernelTuning &tuning);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_KERNELCLUSTERS_H

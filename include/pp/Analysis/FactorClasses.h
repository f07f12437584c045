//===- FactorClasses.h - dimensions that share a factor ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A class holds the dimensions of different values that some rule gives the
// same factor: all are sharded, and padded, alike. Where a reshape splits a
// dimension, its class is split into those of its factors, in every value.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_FACTORCLASSES_H
#define PP_ANALYSIS_FACTORCLASSES_H

#include "pp/IR/PP.h"
#include "llvm/ADT/DenseMap.h"

namespace pp {

class FactorClasses {
public:
  using Class = int;

  /// Adds a value; each of its dimensions starts as a class.
  void addValue(mlir::Value value);
  /// Unites dimensions with the same factor in the op's rule. Adds operands and
  /// results that are missing.
  void addOp(mlir::Operation *op, const ShardingRule &rule);
  /// Unites two values of one type, in all dimensions or in one.
  void tie(mlir::Value a, mlir::Value b);
  void tie(mlir::Value a, mlir::Value b, unsigned dim);

  /// The classes of a dimension, major to minor, once all ops are in. A number
  /// is valid until something is added.
  llvm::SmallVector<Class, 2> classesOf(mlir::Value value, unsigned dim) const;
  /// The classes of factor `factor` of an op that was added.
  llvm::SmallVector<Class, 2> classesOf(mlir::Operation *op,
                                        unsigned factor) const;

  int64_t size(Class number) const { return nodes[number].size; }
  /// All classes are below this.
  int numClasses() const { return nodes.size(); }

private:
  struct Node {
    explicit Node(int64_t size) : size(size) {}
    bool isSplit() const { return parts[0] >= 0; }

    int64_t size;
    /// A search shortens the path to the root, which changes no set.
    mutable int parent = -1;
    /// The parts of a split class, major to minor.
    int parts[2] = {-1, -1};
  };

  int addNode(int64_t size);
  int find(int node) const;
  void appendLeaves(int node, llvm::SmallVectorImpl<int> &leaves) const;
  void unite(int a, int b);
  void unite(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b);

  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, int> firstDim;
  llvm::DenseMap<mlir::Operation *, int> firstFactor;
};

} // namespace pp

#endif // PP_ANALYSIS_FACTORCLASSES_H

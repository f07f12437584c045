//===- Indices.h - index arithmetic -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on indices while a GPU kernel is built. Known facts about an index
// (its bound, its divisors) fold divisions and remainders away and show which
// accesses are aligned; nothing is computed twice.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_INDICES_H
#define PP_LIB_TARGET_GPU_INDICES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ScopedHashTable.h"
#include "llvm/ADT/SmallVector.h"
#include <tuple>

namespace pp::gpu {

/// A number that is never negative: a literal, or a value of the index type.
struct Index {
  mlir::Value value; ///< null: the literal
  int64_t literal = 0;
  int64_t bound = 1;    ///< it is below
  int64_t multiple = 0; ///< it is a multiple of this; 0 is one of any number

  bool isLiteral() const { return !value; }
  friend bool operator==(const Index &a, const Index &b) {
    return a.value == b.value && a.literal == b.literal;
  }
  bool divides(int64_t number) const { return multiple % number == 0; }
};

/// The index along each dimension, or along all dimensions as one.
using Indices = llvm::SmallVector<Index, 4>;

/// Builds where the builder is. Indices of a scope are forgotten at its end.
class IndexBuilder {
public:
  /// `type`: i32, or i64 where numbers may reach 2^31.
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : b(builder), loc(loc), type(type) {}

  using Table = llvm::ScopedHashTable<
      std::tuple<int, const void *, const void *, int64_t>, mlir::Value>;
  struct Scope {
    explicit Scope(IndexBuilder &indices) : scope(indices.values) {}
    Table::ScopeTy scope;
  };

  mlir::Type getType() const { return type; }
  mlir::Value get(const Index &index);
  mlir::Value getLiteral(int64_t number);
  static Index literal(int64_t number);
  /// A value of any integer type that is known to be below `bound`.
  Index known(mlir::Value value, int64_t bound, int64_t multiple = 1);
  /// A scalar of any integer type, brought into [0, bound).
  Index clamped(mlir::Value scalar, int64_t bound);

  Index add(const Index &x, const Index &y);
  Index multiply(const Index &x, int64_t factor);
  Index divide(const Index &x, int64_t divisor);
  Index remainder(const Index &x, int64_t divisor);
  /// The same place counted from the end of `size`.
  Index mirror(const Index &x, int64_t size);
  /// The smaller one.
  Index limit(const Index &x, int64_t largest);

  /// Row-major place in a shape, and back.
  Index linearize(llvm::ArrayRef<Index> indices, llvm::ArrayRef<int64_t> shape);
  Indices delinearize(const Index &linear, llvm::ArrayRef<int64_t> shape);

private:
  mlir::Value once(int kind, mlir::Value x, mlir::Value y, int64_t number,
                   llvm::function_ref<mlir::Value()> build);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;
  Table values;
  Table::ScopeTy outermost{values};
};

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_INDICES_H

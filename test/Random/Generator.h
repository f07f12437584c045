//===- Generator.h - what grows a random program ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Keeps a pool of values, what is known of them, and one function per kind of
// op that may come next; the functions are in a file per idea.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_GENERATOR_H
#define PP_TEST_RANDOM_GENERATOR_H

#include "RandomProgram.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/Windows.h"
#include <random>

namespace pp::testing {

using Sizes = llvm::SmallVector<int64_t>;

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline Sizes shapeOf(mlir::Value value) {
  return Sizes(typeOf(value).getShape());
}
inline int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }
inline Sizes range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}
inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

class Generator {
public:
  Generator(mlir::MLIRContext &context, unsigned seed,
            const RandomProgramOptions &options)
      : options(options), random(seed), builder(&context),
        loc(builder.getUnknownLoc()) {}

  mlir::OwningOpRef<mlir::ModuleOp> build();

private:
  int64_t below(int64_t limit) { return random() % limit; }
  bool chance(int64_t percent) { return below(100) < percent; }
  int64_t drawSize() { return options.sizes[below(options.sizes.size())]; }
  mlir::Value pick();
  mlir::RankedTensorType f64(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getF64Type());
  }
  /// With the elements of `x`.
  mlir::RankedTensorType like(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return typeOf(x).clone(shape);
  }
  mlir::RankedTensorType i32(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getI32Type());
  }

  template <typename OpTy, typename... Args>
  mlir::Value make(mlir::RankedTensorType type, Args &&...args) {
    auto op = OpTy::create(builder, loc, type, std::forward<Args>(args)...);
    if (llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
          return batched.contains(operand);
        }))
      batched.insert(op->getResult(0));
    return op;
  }
  template <typename OpTy> mlir::Value unary(mlir::Value x) {
    return make<OpTy>(typeOf(x), x);
  }
  template <typename OpTy> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return make<OpTy>(typeOf(x), x, y);
  }
  /// Holds whole numbers, see RandomProgramOptions::mixesTypes.
  static bool isWhole(mlir::Value x) {
    return !typeOf(x).getElementType().isF64();
  }
  static bool isLogic(mlir::Value x) {
    return typeOf(x).getElementType().isInteger(1);
  }
  mlir::Value scalar(mlir::Type element, double number);
  mlir::Value fill(mlir::RankedTensorType type, double number);

  /// The first of a value's own dimensions.
  int64_t ownDim(mlir::Value value) const {
    return batched.contains(value) ? 1 : 0;
  }
  bool hasOwnDim(mlir::Value value) const {
    return ownDim(value) < rankOf(value);
  }
  int64_t drawOwnDim(mlir::Value value) {
    return ownDim(value) + below(rankOf(value) - ownDim(value));
  }
  bool isTooLarge(llvm::ArrayRef<int64_t> shape) const {
    return product(shape) > options.maxElements || shape.size() > 4;
  }

  double magnitudeOf(mlir::Value value) const {
    auto it = magnitudes.find(value);
    return it == magnitudes.end() ? 1.0 : it->second;
  }
  /// `value`, whose elements are at most `magnitude`, or its tanh.
  mlir::Value limit(mlir::Value value, double magnitude) {
    if (isWhole(value))
      return limitWhole(value, magnitude);
    if (magnitude > options.maxMagnitude)
      return unary<TanhOp>(value);
    magnitudes[value] = magnitude;
    return value;
  }
  mlir::Value keep(mlir::Value value, mlir::Value like) {
    return limit(value, magnitudeOf(like));
  }
  /// Whether parts of a sum of elements like those of `x` may be too large for
  /// their type, where the sum is at most `magnitude`.
  static bool mayRound(mlir::Value x, double magnitude);
  mlir::Value limitWhole(mlir::Value value, double magnitude);
  /// No larger than 1: the sine, or the sign of what is a whole number.
  mlir::Value small(mlir::Value x);
  /// x^2 + 1/2 of an x in (-1, 1): positive and away from 0.
  mlir::Value positive(mlir::Value x) {
    x = unary<SinOp>(x);
    return binary<AddOp>(binary<MulOp>(x, x), fill(typeOf(x), 0.5));
  }
  /// Another value of the type of `like`, broadcast if there is no such.
  mlir::Value matching(mlir::Value like);

  mlir::Value narrowed(mlir::Value parameter);
  mlir::Value retyped(mlir::Value x);
  mlir::Value inType(mlir::Value x, mlir::Type element);
  mlir::Value wholeOp(mlir::Value x);
  mlir::Value wholePair(mlir::Value x);
  mlir::Value inF64(mlir::Value x);
  mlir::Value simple(mlir::Value x);
  mlir::Value elementwise(mlir::Value x);
  mlir::Value positiveOnly(mlir::Value x);
  mlir::Value combination(mlir::Value x);
  mlir::Value choice(mlir::Value x);
  mlir::Value boolean(mlir::Value x);
  mlir::Value literal(mlir::Value x);
  mlir::Value noise(mlir::Value x);
  mlir::Value move(mlir::Value x);
  mlir::Value spread(mlir::Value x);
  mlir::Value regroup(mlir::Value x);
  mlir::Value cut(mlir::Value x);
  mlir::Value box(mlir::Value x);
  mlir::Value pad(mlir::Value x);
  mlir::Value reduction(mlir::Value x);
  mlir::Value contraction(mlir::Value x);
  mlir::Value convolution(mlir::Value x);
  mlir::Value pooling(mlir::Value x);
  std::optional<Window> drawWindow(int64_t size, int64_t taps);
  mlir::Value indexing(mlir::Value x);
  mlir::Value mergedIndexing(mlir::Value x);
  mlir::Value oddIndexing(mlir::Value x);
  mlir::Value equality(mlir::Value a, mlir::Value b);
  mlir::Value routing(mlir::Value x);
  mlir::Value nameForExperts(mlir::Value x, int64_t expert);
  mlir::Value cutRows(mlir::Value x, int64_t dim, int64_t size);

  /// What a result is, and its name.
  struct ResultMark {
    Role role;
    std::string name;
  };
  void addStates(llvm::ArrayRef<Sizes> shapes);
  mlir::Value addend(mlir::Value state);
  mlir::Value nextValue(mlir::Value state);
  void returnStates(llvm::SmallVectorImpl<mlir::Value> &results,
                    llvm::SmallVectorImpl<ResultMark> &marks);

  void addArgument(mlir::RankedTensorType type, Role role,
                   const llvm::Twine &name);
  void nameDims(llvm::ArrayRef<llvm::StringRef> dims);

  RandomProgramOptions options;
  std::mt19937 random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp main;
  llvm::SmallVector<mlir::Value> pool;
  llvm::DenseSet<mlir::Value> batched;
  llvm::DenseMap<mlir::Value, double> magnitudes;
  /// What was broadcast to another type, of which some is used again.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> broadcasts;
  /// Splats, of which some are used again by what is not related.
  llvm::SmallVector<std::pair<double, mlir::Value>> fills;
  llvm::SmallVector<mlir::BlockArgument> states;
  llvm::DenseMap<mlir::Value, mlir::Value> newValues; ///< of states
  mlir::Value indices;
  int64_t picks = 0, streams = 0, names = 0;
};

} // namespace pp::testing

#endif // PP_TEST_RANDOM_GENERATOR_H

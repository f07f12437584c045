//===- Conversion.h - from StableHLO to a graph of pp -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: functions with ops of StableHLO. Out: ops of level 1, appended to one
// block. Calls are inlined and loops unrolled while ops are converted one by
// one, in their order. Integers whose elements are all one known number are
// computed on the way: counters of loops, starts of slices.
//
// A handler converts an op of one name. Every op it makes is verified at once,
// so that whatever the input was, later handlers meet valid values. A null
// value stands for a failure that has been reported.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_CONVERSION_H
#define PP_LIB_IMPORT_CONVERSION_H

#include "HloOp.h"
#include "Shardings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace pp::hlo {

using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using Values = llvm::SmallVector<Value>;

class Conversion;

/// Makes the results of `op`.
using ManyHandler = LogicalResult (*)(HloOp op, Conversion &graph,
                                      Values &results);
/// Makes its only result.
using OneHandler = Value (*)(HloOp op, Conversion &graph);

struct Handler {
  OneHandler one = nullptr;
  ManyHandler many = nullptr;
  int operands = -1; ///< their number; -1: any
};

using Handlers = llvm::StringMap<Handler>;
void addElementwise(Handlers &handlers);
void addBits(Handlers &handlers);
void addShapes(Handlers &handlers);
void addReductions(Handlers &handlers);
void addGathers(Handlers &handlers);
void addScatters(Handlers &handlers);
void addBoxes(Handlers &handlers);
void addSorts(Handlers &handlers);
void addContractions(Handlers &handlers);
void addControl(Handlers &handlers);

/// The tensor of pp for one of StableHLO: unsigned integers are signless.
/// Reports what pp has not.
FailureOr<RankedTensorType> convertType(Type type, mlir::Location loc);

/// Reports an operand of unsigned integers, for an op whose meaning depends on
/// the sign that pp's integers have.
LogicalResult verifySigned(HloOp op);

/// Whether all elements of `value` are a literal that changes nothing in the
/// reduction.
bool isIdentity(Value value, Reduction reduction);

/// What an op of integers computes of known ones, before its result wraps;
/// nothing if it has no value or is none of them. Operands and result are
/// tensors of integers or floats.
std::optional<int64_t> computeNumber(HloOp op,
                                     llvm::ArrayRef<int64_t> operands);

class Conversion {
public:
  /// With `marksGradients`, ops of a gradient that JAX computed are of kind
  /// input_gradient.
  Conversion(mlir::ModuleOp source, mlir::Block &target, Shardings &shardings,
             bool marksGradients);

  /// Inlines `function`, called from `call`, or from nowhere.
  LogicalResult inlineCall(mlir::func::FuncOp function,
                           llvm::ArrayRef<Value> arguments,
                           mlir::Operation *call, Values &results);
  /// Inlines the function `name`, which `op` calls.
  LogicalResult inlineCall(HloOp op, llvm::StringRef name, Values &results);
  /// Converts a region, as iteration `index` of its loop, or once.
  LogicalResult inlineRegion(mlir::Region &region,
                             llvm::ArrayRef<Value> arguments,
                             std::optional<int64_t> index, Values &results);

  Value operand(HloOp op, unsigned index) {
    return map.lookup(op->getOperand(index));
  }
  Values operands(HloOp op);
  /// The converted type of a result, which has been checked.
  RankedTensorType resultType(HloOp op, unsigned index = 0);

  static RankedTensorType typeOf(Value value) {
    return mlir::cast<RankedTensorType>(value.getType());
  }
  static llvm::ArrayRef<int64_t> shapeOf(Value value) {
    return typeOf(value).getShape();
  }

  /// Makes an op. Null if an operand is null, or if the op is refused.
  template <typename Op, typename... Args>
  Value make(Type type, Args &&...args) {
    if ((isNull(args) || ...))
      return {};
    return check(Op::create(builder, loc, type, std::forward<Args>(args)...));
  }
  template <typename Op> Value unary(Value value) {
    return value ? make<Op>(value.getType(), value) : Value();
  }
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return lhs ? make<Op>(lhs.getType(), lhs, rhs) : Value();
  }

  Value constant(mlir::DenseElementsAttr value);
  /// A number everywhere.
  Value splat(double value, RankedTensorType type);
  Value splatInt(int64_t value, RankedTensorType type);
  /// These make no op if there is nothing to do.
  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);
  Value transpose(Value value, llvm::ArrayRef<int64_t> permutation);
  Value convert(Value value, Type element);
  Value slice(Value value, llvm::ArrayRef<int64_t> starts,
              llvm::ArrayRef<int64_t> limits);
  /// Dimension i becomes `dims[i]` of `shape`; sizes 1 are repeated.
  Value broadcast(Value value, llvm::ArrayRef<int64_t> dims,
                  llvm::ArrayRef<int64_t> shape);
  Value compare(Direction direction, Value lhs, Value rhs);
  Value select(Value predicate, Value onTrue, Value onFalse);

  /// The number that all elements of an integer are, if it is known.
  std::optional<int64_t> known(Value value) const;
  /// All elements of a small integer in order, or the only one that they all
  /// are; empty if they are not known.
  llvm::ArrayRef<int64_t> knownElements(Value value) const;

  /// Arguments of the function of which loops read rows by their counters.
  const llvm::DenseSet<Value> &getStacks() const { return stacks; }
  void noteRow(Value of) {
    if (loops > 0 && mlir::isa<mlir::BlockArgument>(of))
      stacks.insert(of);
  }

  Shardings &getShardings() { return shardings; }

  mlir::Location getLoc() const { return loc; }
  /// The line of the innermost call that is being inlined, if it is known.
  mlir::Location getCallPlace() const { return callPlace; }
  mlir::MLIRContext *getContext() { return builder.getContext(); }

private:
  template <typename T> static bool isNull(const T &arg) {
    if constexpr (std::is_convertible_v<const T &, Value>)
      return !Value(arg);
    return false;
  }
  Value check(mlir::Operation *op);

  LogicalResult convertBlock(mlir::Block &block, Values &results);
  LogicalResult convertOp(HloOp op);
  LogicalResult checkTypes(HloOp op);
  LogicalResult callHandler(HloOp op, Values &results);
  /// The value of an op on known integers; null if it is not known.
  Value fold(HloOp op);
  std::optional<Ints> computeKnown(HloOp op);
  mlir::Location locate(mlir::Operation *op) const;
  /// The value, through which no gradient flows if the op is marked.
  Value mark(mlir::Operation *op, Value value);

  mlir::SymbolTable symbols;
  mlir::OpBuilder builder;
  mlir::Location loc;
  Handlers handlers;
  llvm::DenseMap<Value, Value> map;
  /// See knownElements().
  llvm::DenseMap<Value, Ints> numbers;
  /// Functions that are being inlined.
  llvm::SmallVector<mlir::func::FuncOp> callers;
  /// The part of the model that the innermost call is in, and the iterations of
  /// the loops around, within its function.
  std::string path;
  mlir::Location callPlace;
  llvm::SmallVector<int64_t> iterations;
  /// Whether a call around is marked: no gradient flows through what is made.
  bool stopsGradient = false;
  Shardings &shardings;
  const bool marksGradients;
  /// Whether the op that is being converted, or a call around, is of a
  /// gradient.
  bool isOfGradient = false;
  llvm::DenseSet<Value> stacks;
  int64_t visited = 0, loops = 0;
};

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_CONVERSION_H

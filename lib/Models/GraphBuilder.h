//===- GraphBuilder.h - writing a level 1 function --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A thin layer over OpBuilder that knows the idioms of decomposed models:
// broadcasts against trailing or leading dimensions, layer norm, softmax, cross
// entropy. Values carry their tensor types; every method appends to `main`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_MODELS_GRAPHBUILDER_H
#define PP_LIB_MODELS_GRAPHBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"

namespace pp {

/// A size of a model's configuration, and the largest that is no slip of the
/// keyboard.
struct ConfigSize {
  const char *name;
  int64_t value, most = 1 << 24;
};
constexpr int64_t kMaxLayers = 10000;

/// Begins "FAMILY expects ..."; the error in the configuration follows.
mlir::InFlightDiagnostic refuseConfig(mlir::MLIRContext &context,
                                      llvm::StringRef family);

/// Reports parts that do not divide a whole.
mlir::LogicalResult verifyDivides(mlir::MLIRContext &context,
                                  llvm::StringRef family, ConfigSize parts,
                                  ConfigSize whole);

/// Reports a size that is not from 1 to its largest.
mlir::LogicalResult verifySizes(mlir::MLIRContext &context,
                                llvm::StringRef family,
                                llvm::ArrayRef<ConfigSize> sizes);

class GraphBuilder {
public:
  GraphBuilder(mlir::MLIRContext &context, mlir::Type element);

  /// Arguments, in order of the calls.
  mlir::Value param(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                    InitAttr init, llvm::ArrayRef<int64_t> storedShape = {},
                    llvm::ArrayRef<llvm::StringRef> dims = {});
  /// A parameter whose dimensions checkpoints have in another order.
  mlir::Value orderedParam(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                           InitAttr init, llvm::ArrayRef<int64_t> storedOrder);
  /// A tensor that one step passes to the next.
  mlir::Value state(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                    mlir::Type element, InitAttr init);
  /// `bound`: integers lie in [0, bound). `dims`: names of the dimensions.
  mlir::Value input(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                    Role role, mlir::Type element, int64_t bound = 0,
                    llvm::ArrayRef<llvm::StringRef> dims = {});
  /// A scalar that one step passes to the next.
  mlir::Value state(llvm::StringRef name, mlir::Type element, InitAttr init);
  InitAttr normal(double deviation);
  InitAttr uniform(double low, double high);
  InitAttr constant(double value);
  InitAttr zeros();

  mlir::Type getElement() const { return element; }
  mlir::Type getF32() { return builder.getF32Type(); }
  mlir::Type getI32() { return builder.getI32Type(); }

  /// A number, rounded to the element type, everywhere in a tensor.
  mlir::Value splat(double value, llvm::ArrayRef<int64_t> shape,
                    mlir::Type element);
  mlir::Value splat(double value, mlir::Value like);
  /// i32 that count along `dim`.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> dims,
                        mlir::Value like);
  /// Adds `bias` over the leading dimensions it lacks.
  mlir::Value addTrailing(mlir::Value value, mlir::Value bias);
  mlir::Value scale(mlir::Value value, double factor);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Elements [start, limit) of one dimension.
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t start,
                    int64_t limit);
  /// Rows of a table: [batch..., rows, rest...] by [batch..., index...] are
  /// [batch..., index..., rest...].
  mlir::Value gather(mlir::Value table, mlir::Value indices,
                     int64_t batchDims = 0);
  /// The table with rows added in those places.
  mlir::Value scatterAdd(mlir::Value table, mlir::Value indices,
                         mlir::Value rows, int64_t batchDims);
  /// Indices of the `count` largest elements along `dim`.
  mlir::Value topK(mlir::Value value, int64_t dim, int64_t count);
  mlir::Value cumsum(mlir::Value value, int64_t dim);
  mlir::Value compare(Direction direction, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue,
                     mlir::Value onFalse);
  /// Builds no op if the value has that type.
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value reduce(Reduction reduction, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value concatenate(mlir::ValueRange values, int64_t dim);
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs,
                  llvm::ArrayRef<int64_t> lhsBatch,
                  llvm::ArrayRef<int64_t> rhsBatch,
                  llvm::ArrayRef<int64_t> lhsContract,
                  llvm::ArrayRef<int64_t> rhsContract, mlir::Type element = {});
  template <typename Op> mlir::Value unary(mlir::Value value) {
    return Op::create(builder, loc, value.getType(), value);
  }
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, loc, lhs.getType(), lhs, rhs);
  }

  /// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension.
  mlir::Value layerNorm(mlir::Value x, mlir::Value weight, mlir::Value bias,
                        double eps = 1e-5);
  /// The tanh approximation of GELU.
  mlir::Value geluTanh(mlir::Value x);
  /// Softmax over the last dimension.
  mlir::Value softmax(mlir::Value x);
  /// Scores of positions after the query's become -inf: [..., query, key].
  mlir::Value maskCausal(mlir::Value scores);
  /// Mean over all leading positions of -log softmax(logits)[label].
  mlir::Value meanCrossEntropy(mlir::Value logits, mlir::Value labels);
  /// The first while the model trains, the second while it is evaluated.
  mlir::Value ifTraining(mlir::Value training, mlir::Value evaluation);
  /// Elements become 0 with this probability, the others larger to make up for
  /// it: others in each call, and in each step. No op for probability 0, nor in
  /// evaluation.
  mlir::Value dropout(mlir::Value x, double probability);

  llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) const;

  /// For ops that have no method here.
  template <typename Op, typename... Args>
  mlir::Value make(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                   Args &&...args) {
    return Op::create(builder, loc, mlir::RankedTensorType::get(shape, element),
                      std::forward<Args>(args)...);
  }

  /// `value` with a name for plans and predictions. `dims`: names of its
  /// dimensions, "" for none.
  mlir::Value name(mlir::Value value, llvm::StringRef name,
                   llvm::ArrayRef<llvm::StringRef> dims);

  /// Names the part of the model that the following ops belong to.
  void enter(llvm::StringRef part);

  /// Adds a result after the loss: a metric, or the new value of the state of
  /// that name.
  void result(Role role, llvm::StringRef name, mlir::Value value);

  /// Ends the function with the loss and hands the module over.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::Value loss);

private:
  mlir::Value argument(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                       Role role, mlir::Type element);
  /// Sets an attribute of the last argument.
  void setAttr(llvm::StringRef name, mlir::Attribute value);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type element;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  /// Attributes of the arguments that the function's block has so far.
  llvm::SmallVector<mlir::NamedAttrList> arguments;
  /// Results after the loss, and their attributes.
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> ofResults;
  /// The seed of dropout, if used, and the number of its calls so far.
  mlir::Value seed, step;
  int64_t draws = 0;
};

} // namespace pp

#endif // PP_LIB_MODELS_GRAPHBUILDER_H

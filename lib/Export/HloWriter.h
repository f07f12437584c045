//===- HloWriter.h - writes ops of StableHLO as text ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: operands that were written before. Out: a line of text per op, in the
// form that JAX prints where there is one, else in the generic form. Types
// follow from operands wherever they can; nothing is checked, since pp's ops
// were verified.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_HLOWRITER_H
#define PP_LIB_EXPORT_HLOWRITER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "pp/IR/Enums.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace pp::hlo {

/// A value of the text.
struct Hlo {
  std::string name;
  mlir::RankedTensorType type;

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  mlir::Type element() const { return type.getElementType(); }
};

using Hlos = llvm::SmallVector<Hlo>;
using Ints = llvm::ArrayRef<int64_t>;

/// Windows of all dimensions of a tensor.
struct Windows {
  llvm::SmallVector<int64_t> sizes, strides, dilations, low, high;
};

/// A list of integers as text: `[0, 1]`.
std::string spell(Ints values);
/// An attribute of the generic form: `array<i64: 0, 1>`.
std::string spellArray(Ints values);
/// Groups of equal size, or pairs: `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`.
std::string spellRows(llvm::ArrayRef<llvm::SmallVector<int64_t>> rows);
/// A text between quotes.
std::string quote(llvm::StringRef text);

class HloWriter {
public:
  explicit HloWriter(mlir::MLIRContext *context) : context(context) {}

  /// What has been written.
  std::string text;
  /// The name that the next ops have in profiles; empty: none.
  std::string location;

  mlir::MLIRContext *getContext() const { return context; }
  /// A name that no value has.
  std::string fresh() { return "%" + std::to_string(next++); }
  void line(const llvm::Twine &content);
  void indent(int by) { depth += by; }

  Hlo constant(mlir::ElementsAttr value);
  /// All elements are `value`.
  Hlo constant(mlir::RankedTensorType type, int64_t value);
  /// All elements change nothing when they are reduced.
  Hlo identity(mlir::RankedTensorType type, Reduction reduction);
  /// An op whose operands and result have one type.
  Hlo same(llvm::StringRef op, llvm::ArrayRef<Hlo> operands);
  Hlo compare(llvm::StringRef direction, const Hlo &lhs, const Hlo &rhs);
  Hlo select(const Hlo &predicate, const Hlo &onTrue, const Hlo &onFalse);
  Hlo convert(const Hlo &operand, mlir::Type element);
  /// The same bits.
  Hlo bitcast(const Hlo &operand, mlir::Type element);
  Hlo iota(mlir::RankedTensorType type, int64_t dimension);
  Hlo broadcast(const Hlo &operand, Ints dimensions, Ints shape);
  Hlo reshape(const Hlo &operand, Ints shape);
  Hlo transpose(const Hlo &operand, Ints permutation);
  Hlo slice(const Hlo &operand, Ints starts, Ints limits, Ints strides);
  Hlo concatenate(llvm::ArrayRef<Hlo> operands, int64_t dimension);
  Hlo dynamicSlice(const Hlo &operand, llvm::ArrayRef<Hlo> starts, Ints sizes);
  Hlo dynamicUpdateSlice(const Hlo &operand, const Hlo &update,
                         llvm::ArrayRef<Hlo> starts);
  Hlo reduce(const Hlo &operand, Reduction reduction, Ints dimensions);
  Hlo pad(const Hlo &operand, const Hlo &value, Ints low, Ints high,
          Ints interior, Ints shape);
  Hlo reduceWindow(Hlo operand, Reduction reduction, Windows windows,
                   Ints shape);

  /// An op in the pretty form: `syntax` is all between the `=` and the type.
  Hlo pretty(const llvm::Twine &syntax, llvm::ArrayRef<Hlo> operands,
             mlir::RankedTensorType type);
  /// An op in the generic form, with attributes and regions as text.
  Hlos generic(llvm::StringRef op, llvm::ArrayRef<Hlo> operands,
               llvm::StringRef attributes, llvm::StringRef regions,
               llvm::ArrayRef<mlir::RankedTensorType> types);

  /// The region of a reduction of elements.
  std::string combiner(Reduction reduction, mlir::Type element);
  /// A region of one block whose arguments are scalars.
  std::string region(llvm::ArrayRef<mlir::Type> elements,
                     llvm::function_ref<Hlos(llvm::ArrayRef<Hlo>)> body);

  mlir::RankedTensorType withShape(const Hlo &value, Ints shape) const {
    return mlir::RankedTensorType::get(shape, value.element());
  }
  mlir::RankedTensorType withElement(const Hlo &value, mlir::Type to) const {
    return mlir::RankedTensorType::get(value.shape(), to);
  }
  mlir::Type integer(unsigned bits) const {
    return mlir::IntegerType::get(context, bits);
  }
  mlir::Type unsignedInteger(unsigned bits) const {
    return mlir::IntegerType::get(context, bits, mlir::IntegerType::Unsigned);
  }

private:
  mlir::MLIRContext *context;
  unsigned next = 0;
  int depth = 0;
};

/// `tensor<4x8xf32>`.
std::string spell(mlir::Type type);
/// Names, or types, separated by commas.
std::string names(llvm::ArrayRef<Hlo> values);
std::string types(llvm::ArrayRef<Hlo> values);
/// The op of StableHLO that reduces two elements.
llvm::StringRef combine(Reduction reduction);

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_HLOWRITER_H

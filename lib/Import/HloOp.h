//===- HloOp.h - an op of StableHLO, by its name ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op of the real dialect, or an unregistered one that our reader or
// MLIR's generic parser made. Its attributes are builtin, or of the dialect
// (the real one's, or opaque text): all are read through their text, so that
// one decoder serves all. They lie in properties or in the op's dictionary.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_HLOOP_H
#define PP_LIB_IMPORT_HLOOP_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace pp::hlo {

using Ints = llvm::SmallVector<int64_t>;

/// The integers of an array, a list or a literal, whose dimensions are
/// flattened. Nothing if it is something else.
std::optional<Ints> readInts(mlir::Attribute attribute);

/// `[0, 1, 2]`, for messages.
std::string printInts(llvm::ArrayRef<int64_t> values);

/// The letters and numbers of a convolution's dimensions: of lhs, rhs and
/// result.
struct ConvolutionLabels {
  llvm::SmallVector<std::string> lhs, rhs, result;
};

class HloOp {
public:
  HloOp(mlir::Operation *op) : op(op) {}
  mlir::Operation *operator->() const { return op; }
  operator mlir::Operation *() const { return op; }

  /// `add` of `stablehlo.add`; other dialects stay: `chlo.erf`.
  llvm::StringRef getName() const;

  mlir::RankedTensorType getOperandType(unsigned index) const;
  mlir::RankedTensorType getResultType(unsigned index = 0) const;

  /// Null if it is absent.
  mlir::Attribute get(llvm::StringRef name) const;
  /// `fallback` if it is absent. Reports an attribute of another kind.
  mlir::FailureOr<Ints> getInts(llvm::StringRef name, Ints fallback = {}) const;
  mlir::FailureOr<int64_t> getInt(llvm::StringRef name, int64_t fallback) const;
  /// A list that has one entry per dimension; absent, all are `fallback`.
  mlir::FailureOr<Ints> getIntsPer(llvm::StringRef name, size_t count,
                                   int64_t fallback) const;
  /// `LT` of `#stablehlo<comparison_direction LT>`, or a symbol's or string's
  /// text; empty if absent.
  std::string getWord(llvm::StringRef name) const;
  /// Numbers of dimensions as a dictionary of lists of integers: what is in the
  /// brackets of `#stablehlo.gather<...>`. Reports what is none.
  mlir::FailureOr<mlir::DictionaryAttr>
  getDictionary(llvm::StringRef name) const;
  mlir::FailureOr<ConvolutionLabels> getConvolutionLabels() const;

  /// Reports that attribute `name` is another than the op has.
  mlir::InFlightDiagnostic failAt(llvm::StringRef name,
                                  const llvm::Twine &expected) const;

private:
  mlir::Operation *op;
};

/// An entry of numbers of dimensions; empty if it is absent.
Ints getEntry(mlir::DictionaryAttr numbers, llvm::StringRef name);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_HLOOP_H

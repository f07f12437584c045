//===- AttributeText.h - shared syntax of attributes ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For each printer here, the parser beside it reads its output. A parser that
// fails has reported the reason, at the place.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IR_ATTRIBUTETEXT_H
#define PP_LIB_IR_ATTRIBUTETEXT_H

#include "mlir/IR/DialectImplementation.h"
#include "pp/IR/PP.h"

namespace pp {

/// Parses one keyword of an enumeration.
template <typename Enum>
mlir::ParseResult
parseKeyword(mlir::AsmParser &parser, Enum &value, llvm::StringRef what,
             std::optional<Enum> (*symbolize)(llvm::StringRef)) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return mlir::failure();
  std::optional<Enum> parsed = symbolize(keyword);
  if (!parsed)
    return parser.emitError(loc) << "expects " << what << ", got " << keyword;
  value = *parsed;
  return mlir::success();
}

/// Prints a double so that it parses back to the same bits.
void printReal(mlir::AsmPrinter &printer, double value);

/// A quoted name.
mlir::ParseResult parseName(mlir::AsmParser &parser, mlir::StringAttr &name);

/// `["a"=2 : time, "b"=4, "c"=[4, 2]]`; the parts of c are "c.0" and "c.1", and
/// no axis is called so otherwise.
mlir::ParseResult parseAxes(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<MeshAxisAttr> &axes);
void printAxes(llvm::raw_ostream &os, llvm::ArrayRef<MeshAxisAttr> axes);

/// `[{"dp"}, {"tp", ?}, {}]`
mlir::ParseResult parseDims(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<DimShardingAttr> &dims);
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<DimShardingAttr> dims);

/// `key = `, also of words with hyphens: `memory-limit = `.
mlir::ParseResult parseKey(mlir::AsmParser &parser, llvm::StringRef &key);

/// `, key = ` repeated until `>`, no key twice, nor `first`, which was read
/// before; `parseValue` handles one key.
mlir::ParseResult
parseEntries(mlir::AsmParser &parser,
             llvm::function_ref<mlir::ParseResult(llvm::StringRef, llvm::SMLoc)>
                 parseValue,
             llvm::StringRef first = "");

} // namespace pp

#endif // PP_LIB_IR_ATTRIBUTETEXT_H

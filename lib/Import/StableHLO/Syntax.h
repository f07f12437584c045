//===- Syntax.h - the custom forms of ops -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a parser behind the name of an op. Out: the op's state, with the
// attributes of its generic form: names as StableHLO's own, values in builtin
// attributes (`[0] x [1]` of dot_general is a dictionary of lists).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_STABLEHLO_SYNTAX_H
#define PP_LIB_IMPORT_STABLEHLO_SYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace pp::hlo {

using ParseOp = mlir::ParseResult (*)(mlir::OpAsmParser &,
                                      mlir::OperationState &);

/// The form that most ops have: `LT, %x, %y, dims = [0] x [1] {...} : types`,
/// in parentheses or without.
mlir::ParseResult parsePlain(mlir::OpAsmParser &parser,
                             mlir::OperationState &state);

/// The parser of an op that has a form of its own; null: it has none. The name
/// has its dialect. What is returned lives as long as the process.
const ParseOp *findForm(llvm::StringRef name);

/// Parses attributes in braces, if there are any. They win over those of
/// `state`.
mlir::ParseResult parseAttributes(mlir::OpAsmParser &parser,
                                  mlir::OperationState &state);

/// Parses types behind a colon and resolves `operands` with them.
mlir::ParseResult
parseTypes(mlir::OpAsmParser &parser, mlir::OperationState &state,
           llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands);

/// Parses a value of the pretty form: a number, a word, a list of either.
mlir::FailureOr<mlir::Attribute> parseValue(mlir::OpAsmParser &parser);

/// Skips a text in brackets, and returns it with them.
mlir::FailureOr<llvm::StringRef> parseBracketed(mlir::OpAsmParser &parser);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_STABLEHLO_SYNTAX_H

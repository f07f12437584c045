//===- Arguments.h - names and roles of a model's arguments -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the arguments of a loss, with the names that locations have, and what the
// user says of them. Out: pp's attributes.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_ARGUMENTS_H
#define PP_LIB_IMPORT_ARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp::hlo {

/// Names, beginnings of dotted names, or numbers of arguments. Names of
/// dimensions may follow: `tokens:batch:sequence`.
struct Roles {
  llvm::ArrayRef<std::string> inputs, labels, states;
};

/// The attributes of each argument of `main`. Arguments that no option names
/// have the roles `others`; of a loss, whose `others` are empty, they are
/// parameters. Reports a role of no argument, and one that no type allows.
mlir::FailureOr<llvm::SmallVector<mlir::DictionaryAttr>>
describeArguments(mlir::func::FuncOp main, const Roles &roles,
                  llvm::ArrayRef<Role> others);

/// For each argument, the number of the result that is its new value, or 0: a
/// later one of the same type than those before it, and of the same path where
/// both have names. `attributes` are those of the arguments.
llvm::SmallVector<unsigned>
findNewValues(mlir::func::FuncOp main,
              llvm::ArrayRef<mlir::DictionaryAttr> attributes);

/// How a parameter or state starts if no file has it, since JAX initialises
/// outside of the loss: matrices are small numbers, scales 1, all others 0.
InitAttr guessInit(llvm::StringRef name, mlir::RankedTensorType type);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_ARGUMENTS_H

//===- Testing.h - modules and tensors for tests ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the reference interpreter, and tests judged by it, share.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_REFERENCE_TESTING_H
#define PP_TEST_REFERENCE_TESTING_H

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/PP.h"
#include "pp/Reference/Interpreter.h"

namespace pp::testing {

/// A context that knows the dialects of levels 1 to 3.
struct Context : mlir::MLIRContext {
  Context() { loadDialect<pp::PPDialect, mlir::func::FuncDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, this);
  }
  /// A tensor whose type is spelled as in IR, such as "2x3xf64".
  reference::HostTensor tensor(llvm::StringRef spelling,
                               std::vector<double> values) {
    auto type = mlir::cast<mlir::RankedTensorType>(
        mlir::parseType(("tensor<" + spelling + ">").str(), this));
    return {type, std::move(values)};
  }
  /// Runs `@main` of `text`; empty when anything fails.
  std::vector<reference::HostTensor>
  run(llvm::StringRef text, std::vector<reference::HostTensor> inputs,
      reference::EvaluateOptions options = {}) {
    auto module = parse(text);
    if (!module)
      return {};
    auto results = reference::evaluate(
        module->lookupSymbol<mlir::func::FuncOp>("main"), inputs, options);
    if (mlir::failed(results))
      return {};
    return std::move(*results);
  }
};

} // namespace pp::testing

#endif // PP_TEST_REFERENCE_TESTING_H

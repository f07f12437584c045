//===- Reporter.cpp - diagnostics of pp-opt -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MlirOptMain makes the contexts itself and has no place for a handler. That
// our dialect is loaded, which every module of ours asks for, is the first
// event that can be observed from outside.
//
//===----------------------------------------------------------------------===//
#include "Reporter.h"
#include "mlir/IR/MLIRContext.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/PP.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pp::opt;

namespace pp::opt {
struct ReporterExtension : DialectExtension<ReporterExtension, pp::PPDialect> {
  explicit ReporterExtension(Reporter &reporter) : reporter(&reporter) {}

  void apply(MLIRContext *context, pp::PPDialect *) const override {
    context->getDiagEngine().registerHandler(
        [reporter = reporter](Diagnostic &diagnostic) {
          return reporter->handle(diagnostic);
        });
  }

  Reporter *reporter;
};
} // namespace pp::opt

void Reporter::attachTo(DialectRegistry &registry) {
  registry.addExtension(TypeID::get<ReporterExtension>(),
                        std::make_unique<ReporterExtension>(*this));
}

LogicalResult Reporter::handle(Diagnostic &diagnostic) {
  if (code == 1 && diagnostic.getSeverity() == DiagnosticSeverity::Error)
    code = pp::getExitCode(diagnostic);
  // The handler that is asked next knows how to show lines.
  return success(!printsNothing &&
                 pp::printPlainly(diagnostic, file, source, llvm::errs()));
}

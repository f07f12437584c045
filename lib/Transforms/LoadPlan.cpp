//===- LoadPlan.cpp - a plan from a file ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level 1 and a file that holds one `#pp.plan<...>`, as pp-opt
// prints it. Out: the plan on the module, and the `pp.mesh` it speaks of.
//
//===----------------------------------------------------------------------===//
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include "pprt/Files.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOADPLAN
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// No plan is as long: every seed names an argument of its own.
static constexpr uint64_t kMostBytes = uint64_t(64) << 20;

/// `text` from its first line that is no comment: parseAttribute() miscounts
/// what it has read where comments come before it.
static StringRef dropComments(StringRef text) {
  for (text = text.ltrim(); text.starts_with("//"); text = text.ltrim())
    text = text.split('\n').second;
  return text;
}

namespace {

struct LoadPlanPass : pp::impl::LoadPlanBase<LoadPlanPass> {
  using LoadPlanBase::LoadPlanBase;

  void runOnModule() override {
    ModuleOp module = getOperation();
    if (failed(checkHasNoPlan(module)))
      return signalPassFailure();
    pprt::Expected<std::string> text = pprt::readFile(file, kMostBytes);
    if (!text) {
      InFlightDiagnostic diagnostic = module.emitError()
                                      << "expects a file with a plan: "
                                      << text.status().message();
      setExitCode(diagnostic, int(text.status().code()));
      return signalPassFailure();
    }
    PlanAttr plan = parse(*text);
    if (!plan)
      return signalPassFailure();
    module->setAttr(attrs::kPlan, plan);
    if (MeshOp old = lookupMesh(module))
      old->erase();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    MeshOp::create(builder, module.getLoc(), "mesh", plan.getMesh());
  }

  /// The plan that `text` holds; reports why there is none.
  PlanAttr parse(StringRef text) {
    ModuleOp module = getOperation();
    const StringRef body = dropComments(text);
    const size_t skipped = text.drop_back(body.size()).count('\n');
    // The parser knows neither the file nor what was dropped of it.
    std::string reasons;
    llvm::raw_string_ostream reason(reasons);
    PlanAttr plan;
    {
      ScopedDiagnosticHandler handler(
          module.getContext(), [&](Diagnostic &diagnostic) {
            if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
              reason << ", line " << place.getLine() + skipped;
            reason << ": " << diagnostic;
            for (Diagnostic &note : diagnostic.getNotes())
              reason << "; " << note;
            return success();
          });
      plan = dyn_cast_or_null<PlanAttr>(
          parseAttribute(body.trim(), module.getContext()));
    }
    if (plan && plan.getMesh())
      return plan;
    module.emitError() << "expects a #pp.plan with a mesh in '" << file << "'"
                       << reasons;
    return {};
  }
};

} // namespace

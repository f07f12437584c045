//===- MakePlan.cpp - from options to a plan ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level 1 and options. Out: `pp.plan` on the module and its
// `pp.mesh`, without axes of size 1. Only the options decide here; a mesh that
// the model has for shardings of its own stays, behind other axes of options.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Shard/MakePlan.h"
#include "GivenShardings.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanText.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_MAKEPLAN
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

using Place = PlanKeyInfo::Place;

static constexpr int kUsage = 2;

/// The axes of options, major, and those that `given` has, minor. Null after an
/// error: an axis of both has two sizes.
static MeshAttr buildMesh(MLIRContext *context, const PlanOptions &options,
                          MeshAttr given,
                          function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<MeshAxisAttr> axes;
  for (const PlanKeyInfo &info : getPlanKeys()) {
    if (info.place != Place::Axis || !options.isSet(info.key))
      continue;
    auto axis = MeshAxisAttr::get(context, StringAttr::get(context, info.axis),
                                  options.getInt(info.key), info.kind);
    MeshAxisAttr same = given ? given.lookup(info.axis) : MeshAxisAttr();
    if (same && same.getKind() != axis.getKind()) {
      emitError() << "expects no " << info.name << ": the model's mesh "
                  << given
                  << " has an axis of that name which splits dimensions; "
                     "rename it in the model";
      return {};
    }
    if (same && same != axis) {
      emitError() << "expects " << info.name << "=" << same.getSize()
                  << ", as the model's mesh " << given << " has it, got "
                  << axis.getSize();
      return {};
    }
    if (!same && axis.getSize() > 1)
      axes.push_back(axis);
  }
  if (given)
    llvm::append_range(axes, given.getAxes());
  return MeshAttr::getChecked(emitError, context, ArrayRef<MeshAxisAttr>(axes));
}

static OptimizerAttr
buildOptimizer(MLIRContext *context, const PlanOptions &options,
               function_ref<InFlightDiagnostic()> emitError) {
  OptimizerKind kind =
      *symbolizeOptimizerKind(options.getWord(PlanKey::Optimizer));
  OptimizerAttr base = OptimizerAttr::getDefault(context, kind);
  auto choose = [&](PlanKey key, Real byDefault) {
    return Real(options.getReal(key).value_or(byDefault));
  };
  auto [beta1, beta2] = options.getPair(PlanKey::Betas)
                            .value_or(std::pair<double, double>(
                                base.getBeta1(), base.getBeta2()));
  return OptimizerAttr::getChecked(
      emitError, context, kind, choose(PlanKey::Lr, base.getLr()),
      choose(PlanKey::WeightDecay, base.getWeightDecay()),
      choose(PlanKey::Momentum, base.getMomentum()), Real(beta1), Real(beta2),
      choose(PlanKey::Eps, base.getEps()),
      choose(PlanKey::Clip, base.getClip()), options.getInt(PlanKey::Warmup),
      *symbolizeDecay(options.getWord(PlanKey::Decay)),
      options.getInt(PlanKey::DecaySteps),
      Real(options.getReal(PlanKey::MinLr).value_or(0)));
}

LogicalResult pp::checkHasNoPlan(ModuleOp module) {
  if (auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan))
    return module.emitError("expects a module without a plan, got ")
           << plan << "; edit pp.plan in the module, or remove it";
  return success();
}

LogicalResult pp::checkFitsStep(ModuleOp module, const PlanOptions &options) {
  if (!isStepWithoutPlan(module))
    return success();
  for (const auto &[key, value] : options.getValues()) {
    const PlanKeyInfo &info = getInfo(key);
    if (!info.isOfTraining())
      continue;
    InFlightDiagnostic error = module.emitError("expects no '")
                               << info.name
                               << "' for a training step, which has gradients, "
                                  "types and an update of its own, got '"
                               << value
                               << "': leave it out, or import the loss";
    setExitCode(error, kUsage);
    return error;
  }
  return success();
}

LogicalResult pp::buildPlan(ModuleOp module, const PlanOptions &options) {
  MLIRContext *context = module.getContext();
  if (failed(checkHasNoPlan(module)) || failed(checkFitsStep(module, options)))
    return failure();
  if (std::string wrong = options.check(); !wrong.empty())
    return module.emitError(wrong);
  auto emitError = [&] { return module.emitError(); };
  MeshOp given = lookupMesh(module);
  MeshAttr mesh = buildMesh(context, options,
                            given ? given.getMesh() : MeshAttr(), emitError);
  if (!mesh)
    return failure();
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    splitByTime(main, mesh);
  PlanAttr plan = PlanAttr::get(context, mesh);
  if (options.isSet(PlanKey::Optimizer)) {
    OptimizerAttr optimizer = buildOptimizer(context, options, emitError);
    if (!optimizer)
      return failure();
    plan = plan.withOptimizer(optimizer);
  }
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.isSetting() && options.isSet(info.key) &&
        options.hasEffect(info.key))
      plan = plan.withSetting(info.key, options.getWord(info.key));
  plan = withDefaults(plan);
  if (failed(PlanAttr::verify(emitError, mesh, plan.getSeeds(), plan.getCuts(),
                              plan.getOptimizer(), plan.getSettings())))
    return failure();
  attachPlan(module, plan);
  return success();
}

namespace {

struct MakePlanPass : pp::impl::MakePlanBase<MakePlanPass> {
  MakePlanPass() { addKeys(); }
  explicit MakePlanPass(const PlanOptions &options) : MakePlanPass() {
    for (auto [info, text] : llvm::zip_equal(getPlanKeys(), texts))
      if (options.isSet(info.key))
        *text = options.getWord(info.key).str();
  }
  // The pass infrastructure copies the options of `other`.
  MakePlanPass(const MakePlanPass &other) : MakePlanBase(other) { addKeys(); }

  void addKeys() {
    for (const PlanKeyInfo &info : getPlanKeys())
      texts.push_back(std::make_unique<Option<std::string>>(
          *this, info.name, llvm::cl::desc(info.help)));
  }

  void runOnModule() override {
    PlanOptions options;
    for (auto [info, text] : llvm::zip_equal(getPlanKeys(), texts))
      if (text->hasValue())
        options.set(info.key, StringRef(text->getValue()));
    if (failed(buildPlan(getOperation(), options)))
      signalPassFailure();
  }

  /// The value given to each key.
  std::vector<std::unique_ptr<Option<std::string>>> texts;
};

} // namespace

std::unique_ptr<Pass> pp::createMakePlan(const PlanOptions &options) {
  return std::make_unique<MakePlanPass>(options);
}

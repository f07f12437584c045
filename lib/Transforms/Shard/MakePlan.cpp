//===- MakePlan.cpp - from options to a plan ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level 1 and options. Out: `pp.plan` on the module and the
// `pp.mesh` it speaks of, with axes of size 1 left out. Only what the options
// say is decided here.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Shard/MakePlan.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_MAKEPLAN
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// Axes major to minor: time, then depth, then the axes that share work, the
/// busiest of them (tp) on the closest devices.
static MeshAttr buildMesh(MLIRContext *context,
                          const ParallelizeOptions &options,
                          function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<MeshAxisAttr> axes;
  auto add = [&](StringRef name, int64_t size, AxisKind kind) {
    if (size > 1)
      axes.push_back(MeshAxisAttr::get(context, StringAttr::get(context, name),
                                       size, kind));
  };
  add("mb", options.microbatches, AxisKind::Time);
  add("pp", options.pp, AxisKind::Stage);
  add("dp", options.dp, AxisKind::Space);
  add("tp", options.tp, AxisKind::Space);
  return MeshAttr::getChecked(emitError, context, ArrayRef<MeshAxisAttr>(axes));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// More shards than any tensor has: a slip of the keyboard, not a plan.
static constexpr int64_t kMaxDegree = 1 << 24;

static std::string checkSizes(const ParallelizeOptions &options) {
  struct Size {
    const char *key;
    int64_t value, most;
  };
  for (Size size :
       {Size{"dp", options.dp, kMaxDegree},
        {"tp", options.tp, kMaxDegree},
        {"pp", options.pp, kMaxDegree},
        {"microbatches", options.microbatches, kMaxDegree},
        {"threads", options.threads.value_or(1), PlanAttr::kMaxThreads}})
    if (size.value < 1 || size.value > size.most)
      return llvm::formatv("expects {0} from 1 to {1}, got {2}", size.key,
                           size.most, size.value);
  return "";
}

/// A hyperparameter that the optimizer would not look at is a mistake.
static std::string checkIsUsed(const ParallelizeOptions &options) {
  bool hasAny = !options.optimizer.empty();
  bool isAdam = options.optimizer == "adam" || options.optimizer == "adamw";
  struct Use {
    const char *key;
    bool isGiven, isUsed;
    const char *user;
  };
  for (Use use :
       {Use{"lr", options.lr.has_value(), hasAny, "an optimizer"},
        {"weight_decay", options.weightDecay.has_value(), hasAny,
         "an optimizer"},
        {"clip", options.clip.has_value(), hasAny, "an optimizer"},
        {"warmup", options.warmup != 0, hasAny, "an optimizer"},
        {"momentum", options.momentum.has_value(),
         options.optimizer == "momentum", "optimizer=momentum"},
        {"betas", options.beta1.has_value(), isAdam, "optimizer=adam or adamw"},
        {"eps", options.eps.has_value(), isAdam, "optimizer=adam or adamw"},
        {"steps", options.steps != 0, options.decay == "cosine",
         "decay=cosine"}})
    if (use.isGiven && !use.isUsed)
      return llvm::formatv("expects {0} with {1} only, got optimizer={2} and "
                           "decay={3}",
                           use.key, use.user,
                           hasAny ? options.optimizer : "none", options.decay);
  return "";
}

static std::string checkOptimizer(const ParallelizeOptions &options) {
  if (!options.optimizer.empty() && !symbolizeOptimizerKind(options.optimizer))
    return "expects optimizer=sgd, momentum, adam or adamw, got " +
           options.optimizer;
  std::optional<Decay> decay = symbolizeDecay(options.decay);
  if (!decay)
    return "expects decay=constant or cosine, got " + options.decay;
  if (*decay == Decay::Cosine && options.steps <= options.warmup)
    return llvm::formatv(
        "expects steps above warmup for decay=cosine, got {0} and {1}",
        options.steps, options.warmup);
  return checkIsUsed(options);
}

std::string pp::checkOptions(const ParallelizeOptions &options) {
  if (std::string wrong = checkSizes(options); !wrong.empty())
    return wrong;
  if (!schedule::isAlgorithm(options.schedule))
    return "expects schedule=" + schedule::algorithmNames() + ", got " +
           options.schedule;
  return checkOptimizer(options);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static OptimizerAttr
buildOptimizer(MLIRContext *context, const ParallelizeOptions &options,
               function_ref<InFlightDiagnostic()> emitError) {
  OptimizerKind kind = *symbolizeOptimizerKind(options.optimizer);
  OptimizerAttr base = OptimizerAttr::getDefault(context, kind);
  auto choose = [](std::optional<double> given, Real byDefault) {
    return Real(given.value_or(byDefault));
  };
  return OptimizerAttr::getChecked(
      emitError, context, kind, choose(options.lr, base.getLr()),
      choose(options.weightDecay, base.getWeightDecay()),
      choose(options.momentum, base.getMomentum()),
      choose(options.beta1, base.getBeta1()),
      choose(options.beta2, base.getBeta2()),
      choose(options.eps, base.getEps()), choose(options.clip, base.getClip()),
      options.warmup, *symbolizeDecay(options.decay), options.steps);
}

LogicalResult pp::checkHasNoPlan(ModuleOp module) {
  if (auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan))
    return module.emitError("expects a module without a plan, got ")
           << plan << "; edit pp.plan in the module, or remove it";
  return success();
}

LogicalResult pp::buildPlan(ModuleOp module,
                            const ParallelizeOptions &options) {
  MLIRContext *context = module.getContext();
  if (failed(checkHasNoPlan(module)))
    return failure();
  if (std::string wrong = checkOptions(options); !wrong.empty())
    return module.emitError(wrong);
  auto emitError = [&] { return module.emitError(); };
  MeshAttr mesh = buildMesh(context, options, emitError);
  OptimizerAttr optimizer;
  if (!options.optimizer.empty())
    optimizer = buildOptimizer(context, options, emitError);
  if (!mesh || (!optimizer && !options.optimizer.empty()))
    return failure();
  module->setAttr(attrs::kPlan,
                  PlanAttr::get(context, mesh,
                                StringAttr::get(context, options.schedule), {},
                                {}, optimizer, options.threads.value_or(1)));
  if (MeshOp old = lookupMesh(module))
    old->erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  return success();
}

namespace {

struct MakePlanPass : pp::impl::MakePlanBase<MakePlanPass> {
  using MakePlanBase::MakePlanBase;

  void runOnOperation() override {
    ParallelizeOptions options;
    options.dp = dp;
    options.tp = tp;
    options.pp = pp;
    options.microbatches = microbatches;
    options.schedule = schedule;
    options.optimizer = optimizer;
    auto given = [](double value) {
      return value < 0 ? std::optional<double>() : value;
    };
    options.lr = given(lr);
    options.weightDecay = given(weightDecay);
    options.momentum = given(momentum);
    options.eps = given(eps);
    options.clip = given(clip);
    if (!betas.empty() && betas.size() != 2) {
      getOperation().emitError("expects two betas, got ") << betas.size();
      return signalPassFailure();
    }
    if (!betas.empty()) {
      options.beta1 = betas[0];
      options.beta2 = betas[1];
    }
    options.warmup = warmup;
    options.decay = decay;
    options.steps = steps;
    options.threads = threads;
    if (failed(buildPlan(getOperation(), options)))
      signalPassFailure();
  }
};

} // namespace

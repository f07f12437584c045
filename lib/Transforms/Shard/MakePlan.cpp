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
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_MAKEPLAN
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// Axes major to minor: time, then depth, then the axes that share work, the
/// busiest of them (tp) on the closest devices.
static MeshAttr buildMesh(MLIRContext *context,
                          const ParallelizeOptions &options) {
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
  return MeshAttr::get(context, axes);
}

static FailureOr<OptimizerAttr>
buildOptimizer(ModuleOp module, const ParallelizeOptions &options) {
  MLIRContext *context = module.getContext();
  if (options.optimizer.empty())
    return OptimizerAttr();
  std::optional<OptimizerKind> kind = symbolizeOptimizerKind(options.optimizer);
  if (!kind)
    return module.emitError("expects optimizer=sgd, momentum, adam or adamw, ")
           << "got " << options.optimizer;
  std::optional<Decay> decay = symbolizeDecay(options.decay);
  if (!decay)
    return module.emitError("expects decay=constant or cosine, got ")
           << options.decay;
  if (options.warmup < 0 || options.steps < 0)
    return module.emitError("expects warmup and steps of at least 0, got ")
           << options.warmup << " and " << options.steps;
  if (*decay == Decay::Cosine && options.steps <= options.warmup)
    return module.emitError("expects steps above warmup for decay=cosine, got ")
           << options.steps << " and " << options.warmup;
  for (const std::optional<double> &number :
       {options.lr, options.weightDecay, options.momentum, options.beta1,
        options.beta2, options.eps, options.clip})
    if (number && !(*number >= 0))
      return module.emitError("expects hyperparameters of at least 0, got ")
             << *number;
  for (const std::optional<double> &beta : {options.beta1, options.beta2})
    if (beta && *beta >= 1)
      return module.emitError("expects betas below 1, got ") << *beta;
  OptimizerAttr base = OptimizerAttr::getDefault(context, *kind);
  return OptimizerAttr::get(context, *kind, options.lr.value_or(base.getLr()),
                            options.weightDecay.value_or(base.getWeightDecay()),
                            options.momentum.value_or(base.getMomentum()),
                            options.beta1.value_or(base.getBeta1()),
                            options.beta2.value_or(base.getBeta2()),
                            options.eps.value_or(base.getEps()),
                            options.clip.value_or(base.getClip()),
                            options.warmup, *decay, options.steps);
}

LogicalResult pp::buildPlan(ModuleOp module,
                            const ParallelizeOptions &options) {
  MLIRContext *context = module.getContext();
  std::pair<StringRef, int64_t> sizes[] = {
      {"dp", options.dp},
      {"tp", options.tp},
      {"pp", options.pp},
      {"microbatches", options.microbatches},
      {"threads", options.threads}};
  for (auto [key, size] : sizes)
    if (size < 1)
      return module.emitError("expects ")
             << key << " of at least 1, got " << size;
  if (options.schedule != "gpipe" && options.schedule != "1f1b")
    return module.emitError("expects schedule=gpipe or 1f1b, got ")
           << options.schedule;
  FailureOr<OptimizerAttr> optimizer = buildOptimizer(module, options);
  if (failed(optimizer))
    return failure();
  MeshAttr mesh = buildMesh(context, options);
  module->setAttr(attrs::kPlan,
                  PlanAttr::get(context, mesh,
                                StringAttr::get(context, options.schedule), {},
                                {}, *optimizer, options.threads));
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
    options.pp = stages;
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

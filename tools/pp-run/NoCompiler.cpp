//===- NoCompiler.cpp - pp-run in a build without a compiler --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Stands for Compile.cpp: no module ever exists, because none can be parsed.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "pp/IR/Version.h"

using namespace pp::run;
using namespace pprt;

std::string pp::describeVersion() { return "pp " PP_VERSION " (no compiler)"; }

bool pp::run::hasCompiler() { return false; }
bool pp::run::isPlanKey(const std::string &) { return false; }

struct SourceModule::State {};

SourceModule::SourceModule(std::unique_ptr<State> state)
    : state(std::move(state)) {}
SourceModule::~SourceModule() = default;

static Status noCompiler(const std::string &what) {
  return {ExitCode::usage,
          what + ": expects an artifact (.ppx), as this build has no compiler"};
}

Expected<std::unique_ptr<SourceModule>>
SourceModule::parse(const std::string &name, const std::string &, uint64_t,
                    const std::string &) {
  return noCompiler(name);
}

/// No key means anything here: loading refuses the option, or the module.
Expected<std::string> SourceModule::planFileOf(const std::string &) {
  return std::string();
}

Expected<Compiled> SourceModule::compile(const std::string &, Variant,
                                         Kernels) {
  return noCompiler("module");
}

Expected<Compiled> SourceModule::compileEvaluation(const Evaluation &,
                                                   Kernels) {
  return noCompiler("module");
}

Status SourceModule::checkHasKeys(const std::string &) const {
  return noCompiler("module");
}

std::vector<PlanTrial> SourceModule::trySmallerPlans(const std::string &,
                                                     uint64_t,
                                                     const MeasureBeside &) {
  return {};
}
std::optional<PlanTrial> SourceModule::findPlanThatFits(const std::string &,
                                                        uint64_t,
                                                        const MeasureBeside &) {
  return std::nullopt;
}

bool SourceModule::isModel() const { return false; }
bool SourceModule::takesPlan() const { return false; }
bool SourceModule::isUnpartitioned() const { return false; }

std::map<std::string, std::string> SourceModule::parameterTypes() const {
  return {};
}

Status SourceModule::adoptPlan(const std::string &) {
  return noCompiler("module");
}

double SourceModule::stepFlops() const { return 0; }

Expected<std::string> SourceModule::explain(const std::string &) {
  return noCompiler("module");
}

Expected<double> SourceModule::roundoff(const std::string &) {
  return noCompiler("module");
}

Expected<UpdateRule> SourceModule::updateRule(const std::string &) {
  return noCompiler("module");
}

Expected<std::unique_ptr<Stepper>>
SourceModule::interpret(const std::string &, const std::vector<std::string> &,
                        bool) {
  return noCompiler("module");
}

Expected<std::unique_ptr<Stepper>>
SourceModule::interpretEvaluation(const Evaluation &,
                                  const std::vector<std::string> &) {
  return noCompiler("module");
}

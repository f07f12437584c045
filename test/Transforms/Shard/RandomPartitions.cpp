//===- RandomPartitions.cpp - random programs, partitioned and simulated --===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Random programs with random shardings over random meshes are propagated,
// padded and partitioned, run on all devices by the reference interpreter, and
// compared with the program they came from, in f64. In half of them sending is
// free, so that nothing is padded further than its own axes ask for. What goes
// wrong first is made small. In the end it says which parts of the rules of
// which ops were met, and fails where one was not.
//
//   RandomPartitionTests [--count=5000] [--first=0] [--coverage]
//   RandomPartitionTests --only=K
//
//===----------------------------------------------------------------------===//
#include "../../Random/Flags.h"
#include "../../Random/RandomProgram.h"
#include "RandomShardings.h"
#include "RuleCoverage.h"
#include "ShardingJudge.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanKeys.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// A forward graph, one of regroupings, one in micro-batches, or a training
/// step, with all shardings that are asked for. Null where a step is refused.
static OwningOpRef<ModuleOp> draw(MLIRContext &context, unsigned number) {
  const unsigned seed = number / 4;
  RandomProgramOptions program;
  RandomShardingOptions shardings;
  program.numOps = 2 + seed % 16;
  program.sizes = {2, 3, 4, 5, 6, 8};
  program.maxElements = 400;
  program.maxMagnitude = 1e4;
  program.numMetrics = 3;
  program.hasLiterals = program.stopsGradients = true;
  switch (number % 4) {
  case 0:
    break;
  case 1:
    program.regroups = true;
    program.numOps = 4 + seed % 12;
    program.sizes = {2, 4, 8, 6, 4, 3, 12};
    shardings.constraintPercent = 50;
    break;
  default: // a size that no other dimension has
    program.batch = 7;
    shardings.hasTime = true;
    program.hasStates = seed % 2;
  }
  if (number % 4 != 1 && seed % 3 == 2) {
    program.mixesTypes = true;
    program.sizes = {0, 1, 2, 3, 4, 6, 8};
  }
  program.hasConverts = number % 4 == 3 && seed % 3; // nothing is rounded here
  OwningOpRef<ModuleOp> module = makeRandomProgram(context, number, program);
  if (number % 4 != 3)
    addRandomShardings(*module, number, shardings);
  else if (failed(makeRandomStep(*module, number)))
    return {};
  if (seed % 2) {
    auto plan = (*module)->getAttrOfType<PlanAttr>(attrs::kPlan);
    (*module)->setAttr(attrs::kPlan,
                       plan.withSetting(PlanKey::Links, kFreeLinks));
  }
  return module;
}

int main(int argc, char **argv) {
  Flags flags;
  flags.count = 5000;
  if (!flags.parse(argc, argv)) {
    llvm::errs() << "usage: RandomPartitionTests [--count=N] [--first=N] "
                    "[--only=N] [--coverage]\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<PPDialect, func::FuncDialect>();
  registerShardingModels(registry);
  registerGradientModels(registry);
  registerCostModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  RuleCoverage coverage;
  std::map<std::string, int> refusals;
  unsigned faults = 0, refused = 0;
  for (unsigned number = flags.first; number < flags.end(); ++number) {
    OwningOpRef<ModuleOp> module = draw(context, number);
    if (!module) {
      ++faults;
      llvm::errs() << "program " << number << " has no step\n";
      continue;
    }
    if (flags.isOne())
      llvm::outs() << toText(*module);
    OwningOpRef<ModuleOp> copy = module->clone();
    const Verdict verdict = judgeShardings(
        *copy, number, [&](ModuleOp propagated) { coverage.add(propagated); });
    if (!verdict.refusal.empty()) {
      ++refusals[verdict.refusal];
      ++refused;
    }
    if (verdict.fault.empty())
      continue;
    ++faults;
    llvm::errs() << "program " << number << ": "
                 << (faults > 3 ? verdict.fault : findFault(*module, number))
                 << "\n";
  }
  llvm::outs() << flags.count << " programs, " << faults << " with a fault, "
               << refused << " refused";
  for (const auto &[reason, count] : refusals)
    llvm::outs() << "; " << reason << ": " << count;
  llvm::outs() << "\n";
  if (flags.isOne())
    return faults != 0;
  if (flags.coverage)
    coverage.print(llvm::outs());
  const std::vector<std::string> missing = coverage.findMissing(context);
  for (const std::string &part : missing)
    llvm::errs() << "never met: " << part << "\n";
  return faults != 0 || !missing.empty() || refused > flags.count / 5;
}

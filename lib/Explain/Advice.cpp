//===- Advice.cpp - advice and its effect ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Advice.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/PlanText.h"
#include "pp/Predict/Table.h"
#include "pprt/Bytes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pp;
using pprt::printBytes;

namespace {

/// Changes of the plan, and the numbers of the findings that each is for.
using Changes = llvm::MapVector<StringRef, std::string>;

struct CountedFinding {
  Finding finding;
  int64_t count = 1;
};

} // namespace

/// Finds the findings that are the same in every layer, once.
static std::vector<CountedFinding>
mergeLayers(const std::vector<Finding> &findings) {
  std::vector<CountedFinding> merged;
  for (Finding finding : findings) {
    finding.at = generalize(finding.at);
    auto found = llvm::find_if(merged, [&](const CountedFinding &other) {
      return other.finding.at == finding.at &&
             other.finding.what == finding.what;
    });
    if (found == merged.end()) {
      merged.push_back({std::move(finding)});
      continue;
    }
    ++found->count;
    found->finding.bytes += finding.bytes;
    for (std::string &change : finding.changes)
      if (!llvm::is_contained(found->finding.changes, change))
        found->finding.changes.push_back(std::move(change));
  }
  return merged;
}

static std::string print(const CountedFinding &counted) {
  const Finding &finding = counted.finding;
  std::string text = finding.at + (finding.at.empty() ? "" : ": ");
  text += finding.what;
  if (counted.count > 1)
    text += ", " + std::to_string(counted.count) + " times";
  if (finding.bytes)
    text += " (" + printBytes(double(finding.bytes)) + ")";
  if (!finding.avoid.empty())
    text += ": avoided by " + finding.avoid;
  return text;
}

static std::vector<std::string> describe(StringRef change, StringRef findings,
                                         const Outcome &outcome) {
  return {change.str(), findings.str(), predict::printSeconds(outcome.seconds),
          printBytes(double(outcome.bytes)), std::to_string(outcome.devices)};
}

/// The fastest first.
static std::string printTrials(std::vector<Trial> trials,
                               const Changes &changes, const Outcome &now) {
  trials.push_back({"(as it is)", now, ""});
  llvm::stable_sort(trials, [](const Trial &a, const Trial &b) {
    return a.outcome && b.outcome ? a.outcome->seconds < b.outcome->seconds
                                  : a.outcome && !b.outcome;
  });
  predict::Table table(
      {"plan with", "for finding", "a step", "memory", "devices"}, 2);
  std::string others;
  for (const Trial &trial : trials) {
    const std::string findings = changes.lookup(trial.change);
    if (trial.outcome)
      table.add(describe(trial.change, findings, *trial.outcome));
    else
      others +=
          trial.change + ", for " + findings +
          (trial.refusal.empty() ? ", was not tried\n"
                                 : ", is refused: " + trial.refusal + "\n");
  }
  return "\n" + table.print() + others;
}

/// How to apply the changes that were tried.
static std::string printUse(const Changes &changes) {
  const bool hasSeeds = llvm::any_of(
      changes, [](const auto &entry) { return isSeedChange(entry.first); });
  const bool hasKeys = llvm::any_of(
      changes, [](const auto &entry) { return !isSeedChange(entry.first); });
  std::string text;
  if (hasKeys)
    text += "pass a key to --pp-parallelize; in a plan file, edit the mesh for "
            "an axis and write other keys as `key = value`\n";
  if (hasSeeds)
    text += "write a seed into the plan that --emit=plan writes, in place of "
            "seeds for the same name, and pass plan=FILE\n";
  return text;
}

std::string pp::printAdvice(const std::vector<Finding> &findings,
                            ModuleOp programs, const Outcome &now,
                            const Trials &trials) {
  const std::vector<CountedFinding> merged = mergeLayers(findings);
  if (merged.empty())
    return "";
  Changes changes;
  std::string text = "\nwhat could be better\n";
  for (auto [index, counted] : llvm::enumerate(merged)) {
    const std::string number = std::to_string(index + 1);
    text += "  " + number + "  " + print(counted) + "\n";
    for (const std::string &change : counted.finding.changes)
      if (trials.canHave(change)) {
        std::string &numbers = changes[change];
        numbers += (numbers.empty() ? "" : ", ") + number;
      }
  }
  if (changes.empty())
    return text;
  std::vector<std::string> names;
  for (const auto &entry : changes)
    names.push_back(entry.first.str());
  return text + printTrials(trials.run(names, programs), changes, now) +
         printUse(changes);
}

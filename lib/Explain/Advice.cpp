//===- Advice.cpp - what could be better, and how much --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Advice.h"
#include "pp/Analysis/Seeds.h"
#include "pp/Predict/Table.h"
#include "pprt/Bytes.h"
#include <set>

using namespace mlir;
using namespace pp;
using pprt::printBytes;
using predict::printSeconds;

/// Each is a compilation of the model.
static constexpr size_t kMostTrials = 8;
/// Less is no gain: predictions are no better.
static constexpr double kGain = 0.005;

/// What `outcome` has for it; empty if it has nothing.
static StringRef findGain(const Outcome &outcome, const Outcome &now) {
  auto isLess = [](double a, double b) { return a < (1 - kGain) * b; };
  if (isLess(outcome.seconds, now.seconds))
    return "with ";
  if (outcome.devices < now.devices)
    return isLess(outcome.seconds * double(outcome.devices),
                  now.seconds * double(now.devices))
               ? "on fewer devices, with "
               : "";
  return isLess(double(outcome.bytes), double(now.bytes))
             ? "to hold less, with "
             : "";
}

static std::string print(const Outcome &outcome, const Outcome &now) {
  std::string text =
      printSeconds(outcome.seconds) + ", " + printBytes(double(outcome.bytes));
  if (outcome.devices != now.devices)
    text += ", " + std::to_string(outcome.devices) +
            (outcome.devices == 1 ? " device" : " devices");
  return text;
}

namespace {

class AdvicePrinter {
public:
  AdvicePrinter(ModuleOp programs, const Outcome &now, Trials &trials)
      : programs(programs), now(now), trials(trials) {}

  std::string print(const std::vector<Finding> &findings);

private:
  std::string print(const Finding &finding, int64_t count);
  std::string printChanges(const std::vector<std::string> &changes);

  ModuleOp programs;
  const Outcome &now;
  Trials &trials;
  std::set<std::string> tried;
};

} // namespace

/// Of what was tried: all that is a gain, or else the best that is none.
std::string
AdvicePrinter::printChanges(const std::vector<std::string> &changes) {
  std::vector<std::pair<Outcome, std::string>> outcomes;
  std::string others;
  for (const std::string &change : changes) {
    if (!trials.hasModel() ||
        (!tried.count(change) && tried.size() == kMostTrials)) {
      others += "    perhaps with " + change + ", which was not tried\n";
      continue;
    }
    tried.insert(change);
    if (std::optional<Outcome> outcome = trials.run(change, programs))
      outcomes.push_back({*outcome, change});
  }
  llvm::stable_sort(outcomes, [](const auto &a, const auto &b) {
    return a.first.seconds < b.first.seconds;
  });
  std::string gains;
  for (const auto &[outcome, change] : outcomes)
    if (StringRef gain = findGain(outcome, now); !gain.empty())
      gains +=
          "    " + gain.str() + change + ": " + ::print(outcome, now) + "\n";
  if (!gains.empty() || !others.empty())
    return gains + others;
  if (outcomes.empty())
    return "    no change of the plan is known that avoids it\n";
  return "    not better with " + outcomes.front().second + ": " +
         ::print(outcomes.front().first, now) + "\n";
}

std::string AdvicePrinter::print(const Finding &finding, int64_t count) {
  std::string text = "  ";
  if (!finding.at.empty())
    text += finding.at + (count > 1 ? " x" + std::to_string(count) : "") + ": ";
  text += finding.what;
  if (finding.bytes)
    text += " (" + printBytes(double(finding.bytes)) + ")";
  text += "\n";
  return text + (finding.changes.empty()
                     ? "    avoided by " + finding.avoid + "\n"
                     : printChanges(finding.changes));
}

std::string AdvicePrinter::print(const std::vector<Finding> &findings) {
  std::vector<std::pair<Finding, int64_t>> merged;
  for (Finding finding : findings) {
    finding.at = generalize(finding.at);
    auto found = llvm::find_if(merged, [&](const auto &entry) {
      return entry.first.at == finding.at && entry.first.what == finding.what;
    });
    if (found == merged.end())
      merged.push_back({std::move(finding), 1});
    else
      ++found->second;
  }
  if (merged.empty())
    return "";
  std::string text = "\nwhat could be better than a step of " +
                     ::print(now, now) + " a device, as predicted\n";
  for (const auto &[finding, count] : merged)
    text += print(finding, count);
  if (StringRef(text).contains("#pp.seed"))
    text += "seeds go into the plan that --emit=plan writes, each in place of "
            "that for the same name; plan=FILE reads it\n";
  return text;
}

std::string pp::printAdvice(const std::vector<Finding> &findings,
                            ModuleOp programs, const Outcome &now,
                            Trials &trials) {
  return AdvicePrinter(programs, now, trials).print(findings);
}

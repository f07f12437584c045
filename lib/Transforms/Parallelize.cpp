//===- Parallelize.cpp - the text of --parallelize ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The keys of the plan, from their table, and two that are not part of it.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"

using namespace mlir;
using namespace pp;

namespace {

constexpr StringLiteral kPlanFile = "plan", kStopAfter = "stop-after";

/// Words for strategies that users of other systems may expect.
constexpr StringLiteral unsupportedKeys[] = {
    "stages", "staleness", "offload", "compress", "topology", "strategy"};

/// A slip of a letter or two, or the beginning of the key.
bool isNear(StringRef name, StringRef key) {
  return name.edit_distance(key) <= (name.size() < 4 ? 1u : 2u) ||
         (name.size() > 1 && key.starts_with(name));
}

/// Names of others, and the keys that stand for them.
constexpr std::pair<StringLiteral, StringLiteral> otherNames[] = {
    {"learning_rate", "lr"},
    {"wd", "weight_decay"},
    {"grad_clip", "clip"},
    {"max_grad_norm", "clip"},
    {"accumulate", "microbatches"},
    {"warmup_steps", "warmup"},
    {"data", "dp"},
    {"tensor", "tp"},
    {"pipeline", "pp"},
    {"no_decay", "weight_decay.of"}};

std::string describeUnknown(StringRef name) {
  std::string unknown = "unknown key '" + name.str() + "'";
  for (auto [other, key] : otherNames)
    if (name == other)
      return unknown + "; here it is '" + key.str() + "'";
  if (llvm::is_contained(unsupportedKeys, name))
    return unknown + ": it is not supported";
  SmallVector<StringRef> all;
  for (const PlanKeyInfo &info : getPlanKeys())
    all.push_back(info.name);
  all.append({kPlanFile, kStopAfter});
  std::string near;
  for (StringRef key : all)
    if (isNear(name, key))
      near += (near.empty() ? "'" : " or '") + key.str() + "'";
  return unknown + (near.empty() ? "; expects one of " + llvm::join(all, " ")
                                 : "; did you mean " + near + "?");
}

/// Advice about separators other than spaces between keys, as in "dp=2,tp=2",
/// and about spaces inside of a key, as in "dp = 2".
std::string adviseOnSeparator(StringRef name, StringRef value) {
  if (value.empty())
    return ": a key, '=' and its value stand without spaces between them";
  SmallVector<StringRef> parts;
  llvm::SplitString(value, parts, ",;");
  for (StringRef part : ArrayRef(parts).drop_front()) {
    const StringRef key = part.split('=').first;
    if (!lookupPlanKey(key) && key != kPlanFile && key != kStopAfter)
      return "";
  }
  if (parts.empty() || parts.front() == value)
    return "";
  return ": spaces separate keys, as in '" + name.str() + "=" +
         llvm::join(parts, " ") + "'";
}

/// The quote that `text` opens and does not close, or 0.
char findOpenQuote(StringRef text) {
  char open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && open != '\'')
      ++i;
    else if (text[i] == open)
      open = 0;
    else if (!open && (text[i] == '"' || text[i] == '\''))
      open = text[i];
  }
  return open;
}

/// Takes one word; returns the values that were expected, or nothing.
std::string readWord(StringRef name, StringRef value,
                     PipelineOptions &options) {
  if (name == kPlanFile) {
    options.planFile = value.str();
    return value.empty() ? "a file" : "";
  }
  if (name == kStopAfter) {
    std::optional<Level> level = symbolizeLevel(value);
    options.stopAfter = level.value_or(options.stopAfter);
    return level ? "" : "graph, spmd, pipeline or program";
  }
  const PlanKeyInfo &info = *lookupPlanKey(name);
  options.hasDefaultOptimizer &= info.key != PlanKey::Optimizer;
  options.plan.set(info.key, value);
  return explainMisfit(info, value);
}

} // namespace

LogicalResult pp::parseParallelize(StringRef text, PipelineOptions &options,
                                   std::string &error) {
  error.clear();
  if (const char open = findOpenQuote(text)) {
    error = std::string("expects every quote to be closed, got an open ") +
            open + " in '" + text.str() + "'";
    return failure();
  }
  llvm::StringSet<> seen;
  StringRef planKey; // the last one that says something about the plan
  // At white space that is not quoted, as a shell does: files have any names.
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    bool isPlanKey = lookupPlanKey(name);
    if (!isPlanKey && name != kPlanFile && name != kStopAfter) {
      error = describeUnknown(name);
      return failure();
    }
    if (!seen.insert(name).second) {
      error = "expects '" + name.str() + "' once, got it twice";
      return failure();
    }
    if (std::string expected = readWord(name, value, options);
        !expected.empty()) {
      error = "'" + name.str() + "' expects " + expected + ", got '" +
              value.str() + "'" + adviseOnSeparator(name, value);
      return failure();
    }
    if (isPlanKey)
      planKey = name;
  }
  options.givesPlan = !planKey.empty() || !options.planFile.empty();
  if (!planKey.empty() && !options.planFile.empty())
    error = "'plan' expects no key but stop-after beside it, got '" +
            planKey.str() + "'";
  // A training step needs an update.
  if (!options.plan.isSet(PlanKey::Optimizer))
    options.plan.set(PlanKey::Optimizer, getInfo(PlanKey::Optimizer).byDefault);
  if (error.empty())
    error = options.plan.check();
  return success(error.empty());
}

std::string pp::describeParallelizeKeys() {
  return describePlanKeys() +
         "  plan=            file with a #pp.plan to obey instead of the keys "
         "above\n"
         "  stop-after=      level to end at: graph, spmd, pipeline or program "
         "(default program)\n";
}

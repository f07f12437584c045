//===- MemoryFit.cpp - plans that need less memory ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A lever is a key with settings of which each needs less memory than the one
// before. Several levers together are tried with the strongest settings that
// help alone, and weakened again while the plan fits and gets faster.
// remat=auto takes long to try, so it is where other recomputation fits.
//
//===----------------------------------------------------------------------===//
#include "pp/Explain/MemoryFit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"

using namespace mlir;
using namespace pp;

MemoryFit::MemoryFit(ModuleOp model, std::string keys, uint64_t limit,
                     ReadKeys read, MeasureBeside measureBeside)
    : model(model), keys(std::move(keys)), limit(limit), read(std::move(read)),
      measureBeside(std::move(measureBeside)), limitOfArena(limit) {
  PipelineOptions options;
  std::string error;
  if (succeeded(parseParallelize(this->keys, options, error)))
    given = options.plan;
  addLevers();
}

/// Doubles an axis, with devices of dp if these can be halved.
static void takeFromData(PlanOptions &plan, PlanKey axis) {
  const int64_t data = plan.getInt(PlanKey::Dp);
  if (data % 2 == 0)
    plan.set(PlanKey::Dp, data / 2);
  plan.set(axis, 2 * plan.getInt(axis));
}

void MemoryFit::addLevers() {
  Lever order;
  if (given.getWord(PlanKey::Schedule) == "auto" &&
      !given.isSet(PlanKey::MemoryLimit))
    order.steps.push_back([this](PlanOptions &plan) {
      plan.set(PlanKey::MemoryLimit, std::to_string(limitOfArena));
    });
  levers.push_back(std::move(order));

  Lever remat;
  const StringRef now = given.getWord(PlanKey::Remat);
  SmallVector<StringRef> words;
  getInfo(PlanKey::Remat).words.split(words, '|');
  for (StringRef word :
       ArrayRef(words)
           .drop_while([&](StringRef other) { return other != now; })
           .drop_front())
    remat.steps.push_back([word, this](PlanOptions &plan) {
      plan.set(PlanKey::Remat, word);
      if (word == "auto")
        plan.set(PlanKey::MemoryLimit, std::to_string(limitOfArena));
    });
  if (!remat.steps.empty()) // the last is auto
    remat.toTheLimit = remat.steps.size() - 1;
  levers.push_back(std::move(remat));

  Lever zero;
  const PlanKeyInfo &zeroInfo = getInfo(PlanKey::Zero);
  if (given.hasEffect(PlanKey::Zero))
    for (int64_t stage = given.getInt(PlanKey::Zero) + 1;
         stage <= zeroInfo.most; ++stage)
      zero.steps.push_back(
          [stage](PlanOptions &plan) { plan.set(PlanKey::Zero, stage); });
  levers.push_back(std::move(zero));

  Lever microBatches;
  for (int64_t factor : {2, 4, 8, 16})
    microBatches.steps.push_back([factor](PlanOptions &plan) {
      plan.set(PlanKey::Microbatches,
               factor * plan.getInt(PlanKey::Microbatches));
    });
  levers.push_back(std::move(microBatches));

  Lever stages;
  stages.steps.push_back([](PlanOptions &plan) {
    takeFromData(plan, PlanKey::Pp);
    plan.set(PlanKey::Microbatches, std::max(plan.getInt(PlanKey::Microbatches),
                                             plan.getInt(PlanKey::Pp)));
  });
  levers.push_back(std::move(stages));

  Lever tensors;
  tensors.steps.push_back(
      [](PlanOptions &plan) { takeFromData(plan, PlanKey::Tp); });
  levers.push_back(std::move(tensors));

  Lever sequence;
  if (given.hasEffect(PlanKey::Sequence) &&
      given.getWord(PlanKey::Sequence) != "true")
    sequence.steps.push_back(
        [](PlanOptions &plan) { plan.set(PlanKey::Sequence, "true"); });
  levers.push_back(std::move(sequence));

  Lever precision;
  precision.changesResults = true;
  if (given.getWord(PlanKey::Precision) == "f32")
    precision.steps.push_back(
        [](PlanOptions &plan) { plan.set(PlanKey::Precision, "bf16"); });
  levers.push_back(std::move(precision));
}

/// Words between white space that is not quoted.
static SmallVector<std::string> splitWords(StringRef text) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  return SmallVector<std::string>(words.begin(), words.end());
}

/// `key=value`, as splitWords() reads it.
static std::string quote(StringRef word) {
  const bool isPlain = word.find_first_of(" \t\n\"'\\") == word.npos;
  const auto [key, value] = word.split('=');
  return isPlain ? word.str() : (key + "='" + value + "'").str();
}

/// The user's keys with those of `changed` that differ, which go to `change`.
std::string MemoryFit::spell(const PlanOptions &changed,
                             std::string &change) const {
  SmallVector<std::string> words = splitWords(keys);
  for (const auto &[key, value] : changed.getValues()) {
    if (given.isSet(key) && given.getWord(key) == value)
      continue;
    const std::string name = getInfo(key).name.str() + "=";
    change += (change.empty() ? "" : " ") + name + value;
    auto place = llvm::find_if(
        words, [&](StringRef other) { return other.starts_with(name); });
    if (place != words.end())
      *place = name + value;
    else
      words.push_back(name + value);
  }
  return llvm::join(llvm::map_range(words, quote), " ");
}

std::vector<const KeyTrial *>
MemoryFit::runAll(const std::vector<Setting> &settings) {
  std::vector<PipelineOptions> plans;
  std::vector<KeyTrial *> fresh;
  for (const Setting &setting : settings) {
    auto [entry, isNew] = trials.try_emplace(setting);
    if (!isNew)
      continue;
    PlanOptions plan = given;
    for (auto [lever, step] : setting)
      levers[lever].steps[step](plan);
    KeyTrial &trial = entry->second;
    trial.keys = spell(plan, trial.change);
    trial.refusal = plan.check();
    if (!trial.refusal.empty())
      continue;
    plans.push_back(read(trial.keys));
    fresh.push_back(&trial);
  }
  for (auto [trial, done] :
       llvm::zip_equal(fresh, tryPlans(model, plans, measureBeside))) {
    trial->outcome = done.outcome;
    trial->refusal = done.refusal;
  }
  std::vector<const KeyTrial *> found;
  for (const Setting &setting : settings)
    found.push_back(&trials.at(setting));
  return found;
}

/// A searched order that fits changes nothing else, and every other trial would
/// search, too.
std::optional<KeyTrial> MemoryFit::tryOrder() {
  if (levers[kOrder].steps.empty())
    return std::nullopt;
  const Setting alone = {{kOrder, 0}};
  if (const std::optional<Outcome> &outcome = run(alone)->outcome;
      outcome && outcome->bytes > limit && outcome->besideArena < limit) {
    limitOfArena = limit - outcome->besideArena;
    trials.erase(alone);
  }
  return isFaster(alone, std::nullopt) ? std::optional(*run(alone))
                                       : std::nullopt;
}

std::vector<KeyTrial> MemoryFit::tryAlone() {
  if (std::optional<KeyTrial> order = tryOrder())
    return {*order};
  std::vector<Setting> settings;
  for (size_t lever = 0; lever < levers.size(); ++lever)
    for (size_t step = 0; step < levers[lever].steps.size(); ++step)
      if (levers[lever].toTheLimit != step)
        settings.push_back({{lever, step}});
  runAll(settings);
  for (const Setting &setting : std::vector<Setting>(settings))
    if (isFaster(setting, std::nullopt))
      if (std::optional<Setting> closer = useUpLimit(setting)) {
        settings.push_back(std::move(*closer));
        break;
      }
  std::vector<KeyTrial> all;
  for (auto [setting, trial] : llvm::zip_equal(settings, runAll(settings)))
    if (trial->outcome || setting.begin()->second == 0)
      all.push_back(*trial);
  return all;
}

/// A setting that fits, with the step that uses up the limit; nothing if there
/// is none.
std::optional<MemoryFit::Setting>
MemoryFit::useUpLimit(const Setting &setting) {
  Setting result = setting;
  for (auto &[lever, step] : result)
    if (const std::optional<size_t> last = levers[lever].toTheLimit) {
      step = *last;
      limitOfArena = limit - run(setting)->outcome->besideArena;
      return result;
    }
  return std::nullopt;
}

/// Whether a setting that was tried fits, and is faster than `best`.
bool MemoryFit::isFaster(const Setting &setting,
                         const std::optional<Setting> &best) {
  return isPossible(setting) && run(setting)->outcome->bytes <= limit &&
         (!best ||
          run(setting)->outcome->seconds < run(*best)->outcome->seconds);
}

/// Whether a setting that was tried is for as many devices.
bool MemoryFit::isPossible(const Setting &setting) {
  const std::optional<Outcome> &outcome = run(setting)->outcome;
  return outcome && int64_t(outcome->devices) == given.getRanks();
}

/// Takes steps back while the plan fits and gets faster.
MemoryFit::Setting MemoryFit::weaken(Setting setting) {
  while (true) {
    std::vector<Setting> weaker;
    for (auto [lever, step] : setting)
      if (step > 0) {
        weaker.push_back(setting);
        weaker.back()[lever] = step - 1;
      }
    runAll(weaker);
    std::optional<Setting> best = setting;
    for (const Setting &other : weaker)
      if (isFaster(other, best))
        best = other;
    if (*best == setting)
      return setting;
    setting = *best;
  }
}

/// Finds the fastest of the settings of fewest levers that fit.
std::optional<MemoryFit::Setting>
MemoryFit::findAmong(const std::vector<size_t> &chosen) {
  std::optional<Setting> best;
  Setting all; // the strongest steps that are possible
  for (size_t lever : chosen)
    for (size_t step = 0; step < levers[lever].steps.size(); ++step) {
      const Setting alone = {{lever, step}};
      if (levers[lever].toTheLimit == step)
        continue;
      if (isFaster(alone, best))
        best = alone;
      if (isPossible(alone))
        all[lever] = step;
    }
  for (size_t count = 2; !best && count <= all.size(); ++count) {
    std::vector<Setting> settings;
    for (uint64_t mask = 0; mask < uint64_t(1) << all.size(); ++mask) {
      if (size_t(llvm::popcount(mask)) != count)
        continue;
      Setting setting;
      for (auto [index, entry] : llvm::enumerate(all))
        if (mask >> index & 1)
          setting.insert(entry);
      settings.push_back(std::move(setting));
    }
    runAll(settings);
    for (const Setting &setting : settings)
      if (isFaster(setting, best))
        best = setting;
    if (best)
      return weaken(*best);
  }
  return best;
}

std::optional<KeyTrial> MemoryFit::find() {
  if (std::optional<KeyTrial> order = tryOrder())
    return order;
  tryAlone(); // at once
  std::vector<size_t> exact, all;
  for (size_t lever = 0; lever < levers.size(); ++lever) {
    all.push_back(lever);
    if (!levers[lever].changesResults)
      exact.push_back(lever);
  }
  for (const std::vector<size_t> &chosen : {exact, all})
    if (const std::optional<Setting> found = findAmong(chosen)) {
      const std::optional<Setting> closer = useUpLimit(*found);
      return *run(closer && isFaster(*closer, found) ? *closer : *found);
    }
  return std::nullopt;
}

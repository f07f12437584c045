//===- Parallelize.cpp - the text of --parallelize ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One table holds every key with its help and its reader. What concerns several
// values together is checked by checkOptions.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"
#include "pp/Transforms/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace pp;

namespace {

/// Sets a field; returns what was expected, or null when `value` was
/// understood.
using Reader = const char *(*)(StringRef value, PipelineOptions &options);

struct Key {
  StringLiteral name;
  StringLiteral help;
  Reader read;
};

const char *readSize(StringRef value, int64_t &size) {
  bool isSize = !value.getAsInteger(10, size) && size >= 1 && size <= 1 << 24;
  return isSize ? nullptr : "a number from 1 to 16777216";
}

const char *readCount(StringRef value, int64_t &count) {
  return value.getAsInteger(10, count) || count < 0 ? "a number from 0 on"
                                                    : nullptr;
}

const char *readReal(StringRef value, std::optional<double> &real) {
  double number;
  if (value.getAsDouble(number) || !std::isfinite(number) || number < 0)
    return "a finite number from 0 on";
  real = number;
  return nullptr;
}

const char *readThreads(StringRef value, std::optional<int64_t> &threads) {
  int64_t number = 0;
  const char *expected = readSize(value, number);
  threads = number;
  return expected;
}

const char *readBetas(StringRef value, PipelineOptions &options) {
  auto [first, second] = value.split(',');
  bool areReal = !readReal(first, options.plan.beta1) &&
                 !readReal(second, options.plan.beta2);
  bool areBelow1 =
      areReal && *options.plan.beta1 < 1 && *options.plan.beta2 < 1;
  return areBelow1 ? nullptr : "two numbers below 1, as 0.9,0.999";
}

/// Takes a word if it means something; if not, `expected` lists those that do.
const char *readWord(StringRef value, std::string &word, bool hasMeaning,
                     const char *expected) {
  word = value.str();
  return hasMeaning ? nullptr : expected;
}

const char *readFile(StringRef value, std::string &file) {
  file = value.str();
  return value.empty() ? "a file" : nullptr;
}

const char *readLevel(StringRef value, Level &level) {
  std::optional<Level> named = symbolizeLevel(value);
  level = named.value_or(level);
  return named ? nullptr : "graph, spmd, pipeline or program";
}

#define PP_READ(call)                                                          \
  [](StringRef value, PipelineOptions &options) { return call; }
const Key keys[] = {
    {"dp", "data parallelism: devices that share the batch",
     PP_READ(readSize(value, options.plan.dp))},
    {"tp", "tensor parallelism: devices that share every layer",
     PP_READ(readSize(value, options.plan.tp))},
    {"pp", "pipeline parallelism: stages of the depth",
     PP_READ(readSize(value, options.plan.pp))},
    {"microbatches",
     "parts of the batch that one device computes one after another",
     PP_READ(readSize(value, options.plan.microbatches))},
    {"schedule", "order of the micro-batches: gpipe or 1f1b (default)",
     PP_READ(readWord(value, options.plan.schedule,
                      schedule::isAlgorithm(value.str()),
                      schedule::algorithmNames().c_str()))},
    {"threads", "threads inside a rank",
     PP_READ(readThreads(value, options.plan.threads))},
    {"optimizer",
     "sgd, momentum, adam or adamw (default), as torch.optim defines them",
     PP_READ(readWord(value, options.plan.optimizer,
                      symbolizeOptimizerKind(value).has_value(),
                      "sgd, momentum, adam or adamw"))},
    {"lr", "learning rate (default 1e-3)",
     PP_READ(readReal(value, options.plan.lr))},
    {"weight_decay", "weight decay (default 0.01 for adamw, else 0)",
     PP_READ(readReal(value, options.plan.weightDecay))},
    {"momentum", "factor of optimizer=momentum (default 0.9)",
     PP_READ(readReal(value, options.plan.momentum))},
    {"betas", "decay of Adam's two averages (default 0.9,0.999)", readBetas},
    {"eps", "Adam's epsilon (default 1e-8)",
     PP_READ(readReal(value, options.plan.eps))},
    {"clip", "largest norm of all gradients together (default 0: none)",
     PP_READ(readReal(value, options.plan.clip))},
    {"warmup", "steps over which the learning rate rises linearly",
     PP_READ(readCount(value, options.plan.warmup))},
    {"decay", "learning rate after the warm-up: constant (default) or cosine",
     PP_READ(readWord(value, options.plan.decay,
                      symbolizeDecay(value).has_value(),
                      "constant or cosine"))},
    {"steps", "step at which the cosine reaches 0",
     PP_READ(readCount(value, options.plan.steps))},
    {"plan", "file with a #pp.plan to obey instead of the keys above",
     PP_READ(readFile(value, options.planFile))},
    {"stop-after",
     "level to end at: graph, spmd, pipeline or program (default)",
     PP_READ(readLevel(value, options.stopAfter))},
};
#undef PP_READ

/// Words for strategies that users of other systems may expect.
constexpr StringLiteral unsupportedKeys[] = {
    "sp",       "ep",           "stages",    "chunks",   "staleness",
    "zero",     "sequence",     "precision", "remat",    "offload",
    "compress", "memory-limit", "topology",  "numerics", "strategy"};

/// A slip of a letter or two, or the beginning of the key.
bool isNear(StringRef name, StringRef key) {
  return name.edit_distance(key) <= (name.size() < 4 ? 1u : 2u) ||
         (name.size() > 1 && key.starts_with(name));
}

std::string describeUnknown(StringRef name) {
  std::string unknown = "unknown key '" + name.str() + "'";
  if (llvm::is_contained(unsupportedKeys, name))
    return unknown + ": it is not supported";
  std::string near, all;
  for (const Key &key : keys) {
    if (isNear(name, key.name))
      near += (near.empty() ? "'" : " or '") + key.name.str() + "'";
    all += " " + key.name.str();
  }
  return unknown + (near.empty() ? "; expects one of" + all
                                 : "; did you mean " + near + "?");
}

} // namespace

LogicalResult pp::parseParallelize(StringRef text, PipelineOptions &options,
                                   std::string &error) {
  error.clear();
  llvm::StringSet<> seen;
  StringRef planKey; // the last one that says something about the plan
  SmallVector<StringRef> words;
  llvm::SplitString(text, words); // at any white space
  for (StringRef word : words) {
    StringRef name = word.split('=').first, value = word.split('=').second;
    const Key *key =
        llvm::find_if(keys, [&](const Key &key) { return key.name == name; });
    if (key == std::end(keys)) {
      error = describeUnknown(name);
      return failure();
    }
    if (!seen.insert(name).second) {
      error = "expects '" + name.str() + "' once, got it twice";
      return failure();
    }
    if (const char *expected = key->read(value, options)) {
      error = "'" + name.str() + "' expects " + expected + ", got '" +
              value.str() + "'";
      return failure();
    }
    if (name != "stop-after" && name != "plan")
      planKey = name;
  }
  options.givesPlan = !planKey.empty() || !options.planFile.empty();
  if (!planKey.empty() && !options.planFile.empty())
    error = "'plan' expects no key but stop-after beside it, got '" +
            planKey.str() + "'";
  else if (options.planFile.empty())
    error = checkOptions(options.plan);
  return success(error.empty());
}

std::string pp::describeParallelizeKeys() {
  std::string text;
  for (const Key &key : keys)
    text += "  " + key.name.str() + "=" +
            std::string(14 - key.name.size(), ' ') + key.help.str() + "\n";
  return text;
}

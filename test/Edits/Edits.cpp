//===- Edits.cpp - single edits of valid modules --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Edits samples of every level and plans, and goes with the result the whole
// way that a user's file goes. Each edit ends in a refusal at a place, or in a
// program that computes what it says; never in a signal, without an end, or out
// of memory.
//
//   EditTests [--count=4000] [--first=0] [--runs=N: every Nth program is run]
//   EditTests --only=K    prints the module of edit K and takes it the whole
//   way
//
//===----------------------------------------------------------------------===//
#include "../Random/TrainingSteps.h"
#include "Edit.h"
#include "Judge.h"
#include "Workers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Signals.h"
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

using namespace pp::testing;

namespace {

struct Flags {
  unsigned first = 0, count = 4000, runs = 8;
  int only = -1;
};

bool read(const char *argument, const char *name, unsigned &value) {
  size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length))
    return false;
  value = std::strtoul(argument + length, nullptr, 10);
  return true;
}

bool parse(int argc, char **argv, Flags &flags) {
  for (int i = 1; i < argc; ++i) {
    unsigned only;
    if (read(argv[i], "--only=", only))
      flags.only = only;
    else if (!read(argv[i], "--first=", flags.first) &&
             !read(argv[i], "--count=", flags.count) &&
             !read(argv[i], "--runs=", flags.runs))
      return false;
  }
  return flags.runs > 0;
}

class Trials {
public:
  explicit Trials(unsigned runs)
      : runs(runs), context(mlir::MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    samples = makeSamples(context);
    for (const Sample &sample : samples)
      modules.push_back(
          sample.kind == Sample::Kind::Plan
              ? mlir::OwningOpRef<mlir::ModuleOp>()
              : mlir::parseSourceString<mlir::ModuleOp>(sample.text, &context));
  }

  const Sample &sampleOf(unsigned number) const {
    return samples[number % samples.size()];
  }

  /// The text of edit `number`, and what was edited.
  std::string edit(unsigned number, std::string &what) {
    const Sample &sample = sampleOf(number);
    std::mt19937 random(number);
    if (sample.kind == Sample::Kind::Plan)
      return editText(sample.text, random, what);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        modules[number % samples.size()]->clone();
    return drawEdit(*module, random, what);
  }

  Verdict judge(unsigned number, const std::string &text,
                const std::string &folder) {
    // Samples of all levels take their turns.
    bool isRun = number / samples.size() % runs == 0;
    return pp::testing::judge(context, sampleOf(number), text, isRun, folder);
  }

private:
  unsigned runs;
  /// Made once, without threads: workers are forked.
  mlir::MLIRContext context;
  std::vector<Sample> samples;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules; ///< none of a plan
};

/// What a worker tells of a trial: code, whether it was run, the fault.
std::string encode(const Verdict &verdict) {
  std::string text =
      std::to_string(verdict.code) + (verdict.isRun ? " r" : " -");
  if (!verdict.fault.empty())
    text += verdict.fault + ": " + verdict.message;
  return text;
}

int showOne(Trials &trials, unsigned number) {
  std::string what;
  std::string text = trials.edit(number, what);
  std::cout << text << "\n// edit " << number << " of "
            << trials.sampleOf(number).name << ": " << what << std::endl;
  char folder[] = "/tmp/edits-XXXXXX";
  if (!mkdtemp(folder))
    return 1;
  Verdict verdict = trials.judge(number, text, folder);
  std::cout << "// code " << verdict.code << (verdict.isRun ? ", run" : "")
            << ": " << verdict.message << "\n// fault: " << verdict.fault
            << std::endl;
  return !verdict.fault.empty();
}

} // namespace

int main(int argc, char **argv) {
  Flags flags;
  if (!parse(argc, argv, flags)) {
    std::cerr
        << "usage: EditTests [--first=K] [--count=N] [--runs=N] [--only=K]\n";
    return 2;
  }
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  Trials trials(flags.runs);
  if (flags.only >= 0)
    return showOne(trials, flags.only);

  std::map<int, unsigned> codes;
  unsigned runs = 0, faults = 0;
  auto tell = [&](unsigned number, const std::string &fault) {
    ++faults;
    std::cout << "edit " << number << " of " << trials.sampleOf(number).name
              << ": " << fault << std::endl;
  };
  runTrials(
      flags.first, flags.first + flags.count, WorkerLimits(),
      [&](unsigned number, const std::string &folder) {
        std::string what;
        std::string text = trials.edit(number, what);
        return encode(trials.judge(number, text, folder));
      },
      [&](unsigned number, const std::string &result) {
        size_t blank = result.find(' ');
        ++codes[std::atoi(result.c_str())];
        runs += result[blank + 1] == 'r';
        if (result.size() > blank + 2)
          tell(number, result.substr(blank + 2));
      },
      tell);
  std::cout << flags.count << " edits, " << runs << " run; by code:";
  for (auto [code, count] : codes)
    std::cout << " " << code << ": " << count << ",";
  std::cout << " " << faults << " faults" << std::endl;
  return faults ? 1 : 0;
}

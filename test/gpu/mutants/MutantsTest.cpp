//===- MutantsTest.cpp - wrong calls of the GPU engine are noticed --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs for GPUs with one call that is wrong, over the emulated libraries:
// a call of the executor to its device, or of the engine to NCCL. An edit is
// noticed by a fault, an error, or other bits. One that nobody can see does not
// count: whoever would look at what it touches is shown not to. What is left
// survives, and is listed; 95 of 100 have to be noticed.
//
//   PPGpuMutantsTest --artifacts=FOLDER            each kind in one program
//   PPGpuMutantsTest --artifacts=FOLDER --each=N   N of each kind in each
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"
#include "CommOpEdits.h"
#include "EditedDevice.h"
#include "backends/cuda/Plugin.h"
#include "cuda/Emulator.h"
#include "pprt/Artifact.h"
#include "pprt/World.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace pprt;
using namespace pprt::mutants;

static std::string artifactFolder;
static uint64_t each = 0;
/// Orders that CUDA leaves open: as late as can be, as early, two drawn.
static constexpr uint64_t kSeeds = 4;
static constexpr const char *kPrograms[] = {"mlp",  "gpt", "split",
                                            "zero", "moe", "resnet"};

using Artifact = std::shared_ptr<const ppx::ArtifactT>;

namespace {

/// A program as it is, or with one of its executor's calls edited.
struct Trial {
  Artifact artifact;
  bool records = true;
  const CallEdit *edit = nullptr;
  uint64_t number = 0;
};

struct Ran {
  Expected<Bits> bits = Status();
  Counts counts = {};
  bool isMade = false;
};

/// What is right, to be had in a child too: nothing of an emulated library
/// stays here.
struct Right {
  uint64_t sum = 0;
  Counts counts = {};
};

/// Gives the emulated library its settings, once somebody has opened it.
bool reset(const std::string &settings) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  auto *control =
      library ? static_cast<emulated::Control *>(dlsym(library, "ppEmulator"))
              : nullptr;
  if (control)
    control->reset(settings.c_str());
  return control;
}

Ran run(const Trial &trial, uint64_t seed) {
  Ran result;
  if (!reset("seed " + std::to_string(seed))) {
    result.bits =
        Status(ExitCode::device, "expects the emulated library of libcuda");
    return result;
  }
  auto opened = cuda::openDevices(*thisProcess(), /*worldSize=*/1);
  if (!opened) {
    result.bits = opened.status();
    return result;
  }
  std::shared_ptr<enqueued::StreamDevice> device = std::move(opened->front());
  result.bits =
      runSubject(trial.artifact,
                 editDevice(std::move(device), trial.edit, trial.number,
                            result.counts, result.isMade),
                 trial.records);
  return result;
}

/// Whether nobody looks at what the edit touches.
bool isUnseen(const Trial &trial, uint64_t right) {
  if (!trial.edit || !trial.edit->proof)
    return false;
  const CallEdit proof = {trial.edit->name, trial.edit->call,
                          *trial.edit->proof, trial.edit->proofBy};
  Trial other = trial;
  other.edit = &proof;
  const Ran ran = run(other, 0);
  return ran.bits && ran.isMade && ran.bits->sum == right;
}

/// In a child: in each of the orders, until something differs.
Judged attempt(const Trial &trial, uint64_t right) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Ran ran = run(trial, seed);
    if (!ran.bits)
      return {Outcome::error, ran.bits.status().message()};
    if (trial.edit && !ran.isMade)
      return {Outcome::none, ""};
    if (ran.bits->sum != right)
      return {Outcome::bits, ""};
  }
  return {isUnseen(trial, right) ? Outcome::unseen : Outcome::survived, ""};
}

/// Of `count` places as many as are wanted, spread over all.
std::vector<uint64_t> choose(uint64_t count, uint64_t wanted) {
  std::vector<uint64_t> chosen;
  wanted = std::min(wanted, count);
  for (uint64_t i = 0; i < wanted; ++i)
    chosen.push_back((2 * i + 1) * count / (2 * wanted));
  return chosen;
}

/// By group and kind, how many were noticed how, and the limit.
class Score : public testing::Environment {
public:
  void add(const std::string &kind, Outcome outcome) {
    ++counts[kind][size_t(outcome)];
  }

  void TearDown() override {
    uint64_t made = 0, survived = 0;
    printf("%-44s", "");
    for (const char *name : kOutcomeNames)
      printf(" %8s", name);
    printf("\n");
    for (const auto &[kind, its] : counts) {
      printf("%-44s", kind.c_str());
      for (uint64_t count : its)
        printf(" %8llu", (unsigned long long)count);
      printf("\n");
      for (size_t outcome = 0; outcome <= size_t(Outcome::survived); ++outcome)
        made += its[outcome];
      survived += its[size_t(Outcome::survived)];
    }
    printf("%llu made, %llu noticed\n", (unsigned long long)made,
           (unsigned long long)(made - survived));
    EXPECT_GE(100 * (made - survived), 95 * made);
  }

private:
  std::map<std::string, std::array<uint64_t, kOutcomes>> counts;
};
Score &score = *new Score; // GoogleTest's

struct Mutant {
  std::string kind, place;
  Attempt attempt;
};

/// Judges them and adds them to the score.
void judgeAll(const std::string &group, const std::vector<Mutant> &mutants) {
  std::vector<Attempt> attempts;
  for (const Mutant &mutant : mutants)
    attempts.push_back(mutant.attempt);
  const std::vector<Judged> judged = judge(attempts);
  for (size_t i = 0; i < judged.size(); ++i) {
    const Outcome outcome = judged[i].outcome;
    score.add(group + ": " + mutants[i].kind, outcome);
    if (outcome == Outcome::survived || outcome == Outcome::died ||
        outcome == Outcome::hang)
      printf("%s: %s: %s, %s; %s\n", kOutcomeNames[size_t(outcome)],
             group.c_str(), mutants[i].kind.c_str(), mutants[i].place.c_str(),
             judged[i].text.c_str());
  }
}

class Mutants : public testing::Test {
protected:
  struct Program {
    std::string name;
    Artifact artifact;
  };

  void SetUp() override {
    if (artifactFolder.empty())
      GTEST_SKIP() << "expects --artifacts=FOLDER";
    for (const char *name : kPrograms) {
      auto loaded =
          loadArtifact(artifactFolder + "/" + name + ".ppx", {"sm_80"});
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      programs.push_back(
          {name, std::make_shared<const ppx::ArtifactT>(std::move(*loaded))});
    }
  }

  /// How many places to edit: by row of a table and program.
  static uint64_t wanted(size_t row, size_t program) {
    return each > 0 ? each : row % std::size(kPrograms) == program;
  }

  /// What is right of each program, recorded or not; of all orders, which are
  /// compared elsewhere, all if there is time.
  const Right &findRight(size_t program, bool records) {
    if (!rights.empty())
      return rights.at({program, records});
    std::vector<Attempt> attempts;
    for (const auto &[name, artifact] : programs)
      for (const bool isCaptured : {false, true})
        attempts.push_back([artifact = artifact, isCaptured]() -> Judged {
          std::ostringstream text;
          uint64_t sum = 0;
          for (uint64_t seed = 0; seed < (each > 0 ? kSeeds : 1); ++seed) {
            const Ran ran = run({artifact, isCaptured}, seed);
            if (!ran.bits)
              return {Outcome::error, ran.bits.status().message()};
            if (seed > 0 && ran.bits->sum != sum)
              return {Outcome::bits, "of seed " + std::to_string(seed)};
            sum = ran.bits->sum;
            text.str(std::to_string(sum));
            text.seekp(0, std::ios::end);
            for (uint64_t count : ran.counts)
              text << ' ' << count;
          }
          return {Outcome::survived, text.str()};
        });
    const std::vector<Judged> judged = judge(attempts);
    for (size_t i = 0; i < judged.size(); ++i) {
      EXPECT_EQ(judged[i].outcome, Outcome::survived)
          << programs[i / 2].name << ": " << judged[i].text;
      std::istringstream stream(judged[i].text);
      Right &right = rights[{i / 2, i % 2}];
      stream >> right.sum;
      for (uint64_t &count : right.counts)
        stream >> count;
    }
    return rights.at({program, records});
  }

  std::vector<Program> programs;
  static inline std::map<std::pair<size_t, bool>, Right> rights;
};

TEST_F(Mutants, OfCalls) {
  for (size_t p = 0; p < programs.size(); ++p)
    for (const bool records : {true, false}) {
      const auto &[name, artifact] = programs[p];
      const Right &right = findRight(p, records);
      std::vector<Mutant> mutants;
      for (size_t row = 0; row < kCallEdits.size(); ++row) {
        const CallEdit &edit = kCallEdits[row];
        const uint64_t count = right.counts[size_t(edit.call)];
        // One of a kind is of what is recorded, or of what is not.
        if (each <= 1 &&
            (row / std::size(kPrograms) + row + p) % 2 == size_t(records))
          continue;
        for (uint64_t number : choose(count, wanted(row, p)))
          mutants.push_back(
              {edit.name,
               name + (records ? "" : " not recorded") + ", " +
                   std::to_string(number) + " of " + std::to_string(count),
               [=, artifact = artifact, &edit] {
                 return attempt({artifact, records, &edit, number}, right.sum);
               }});
      }
      judgeAll("call", mutants);
    }
}

TEST(CommOpMutants, OfCalls) {
  constexpr uint32_t kWorld = 3;
  const auto attempt = [](const CommOpEdit *edit, uint64_t number) -> Judged {
    CommPlaces places;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      reset("devices 3\ndrivers 1\nseed " + std::to_string(seed));
      const Judged judged = runCommOps(kWorld, edit, number, places);
      if (judged.outcome != Outcome::survived)
        return judged;
      if (!edit)
        break;
    }
    std::ostringstream text;
    for (const std::vector<uint64_t> &its : places) {
      text << its.size() << ' ';
      for (uint64_t place : its)
        text << place << ' ';
    }
    return {Outcome::survived, edit ? "" : text.str()};
  };
  const Judged right = judge({[&] { return attempt(nullptr, 0); }})[0];
  ASSERT_EQ(right.outcome, Outcome::survived) << right.text;
  std::istringstream stream(right.text);
  CommPlaces places;
  for (std::vector<uint64_t> &its : places) {
    size_t count = 0;
    stream >> count;
    its.resize(count);
    for (uint64_t &place : its)
      stream >> place;
  }
  std::vector<Mutant> mutants;
  for (const CommOpEdit &edit : kCommOpEdits) {
    const std::vector<uint64_t> &its = places[size_t(edit.call)];
    for (uint64_t chosen : choose(its.size(), std::max<uint64_t>(1, 3 * each)))
      mutants.push_back(
          {edit.name,
           std::to_string(its[chosen]) + " of " + std::to_string(its.size()),
           [&attempt, &edit, number = its[chosen]] {
             return attempt(&edit, number);
           }});
  }
  judgeAll("NCCL", mutants);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(&score);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--artifacts=", 0) == 0)
      artifactFolder = argument.substr(12);
    else if (argument.rfind("--each=", 0) == 0)
      each = std::stoull(argument.substr(7));
  }
  return RUN_ALL_TESTS();
}

//===- MutationsTest.cpp - the checks against the reference executor ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Makes one random error in valid programs and compares both sides. The checks
// must refuse for matching or deadlock exactly the programs that stall or meet
// wrong partners when executed; for a race or a clobbered read exactly those
// that the executor's detectors report. Accepted programs must end with the
// same bits in every interleaving, and on every kind of device that issues in
// the order that the checks find; and with the bits of the unchanged program if
// the change only removed an order or moved memory.
//
//   PPMutationsTest --artifacts=FOLDER [--mutants=2000]
//
// Programs are made here, and real models are read from the folder; by hand,
// more mutants of these can be asked for.
//
//===----------------------------------------------------------------------===//
#include "Mutations.h"
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace pprt;
using namespace pprt::test;

namespace {

std::string artifactFolder;
int realMutants = 2000;

/// Results of the mutants of one kind. One mutant may have several findings.
struct Counts {
  int refused[5] = {}; ///< by FindingKind
  int accepted = 0, same = 0;
  int refusals() const {
    int sum = 0;
    for (int count : refused)
      sum += count;
    return sum;
  }
};
constexpr FindingKind kKinds[] = {FindingKind::structure, FindingKind::race,
                                  FindingKind::clobber, FindingKind::mismatch,
                                  FindingKind::deadlock};

/// The observable results of a run: outputs, parameters and states.
using Observed = std::pair<std::map<reference::EmitKey, std::vector<uint8_t>>,
                           std::vector<std::vector<uint8_t>>>;

Observed observe(const ppx::ArtifactT &artifact,
                 const reference::Result &result) {
  Observed observed;
  observed.first = result.emitted;
  for (size_t a = 0; a < artifact.arguments.size(); ++a) {
    std::map<uint32_t, std::vector<uint8_t>> byRank;
    for (size_t p = 0; p < artifact.programs.size(); ++p)
      if (const int32_t slot = artifact.programs[p]->argument_slots[a];
          slot >= 0)
        for (uint32_t rank : artifact.programs[p]->ranks) {
          const ppx::SlotT &s = *artifact.programs[p]->slots[size_t(slot)];
          const auto begin = result.arenas[rank].begin() + ptrdiff_t(s.offset);
          byRank[rank].assign(begin, begin + ptrdiff_t(s.bytes));
        }
    for (auto &[rank, bytes] : byRank)
      observed.second.push_back(std::move(bytes));
  }
  return observed;
}

/// Mutates programs one by one and keeps count.
class Judge {
public:
  explicit Judge(uint64_t seed) : random(seed) {}

  /// `valid` is the program that the mutant was made of.
  void judge(const ppx::ArtifactT &valid, Mutation mutation, int interleavings);
  void report(const std::string &what) const;
  const Counts &of(Mutation mutation) const { return counts[size_t(mutation)]; }
  std::mt19937_64 random;
  int total = 0;
  /// By opcode, the number of changed instructions, and of accepted mutants
  /// among them.
  std::map<ppx::Opcode, std::pair<int, int>> touched;

private:
  void compareRefusal(const ppx::ArtifactT &mutant, const CheckResult &checked);
  void compareAccepted(const ppx::ArtifactT &valid,
                       const ppx::ArtifactT &mutant, Mutation mutation,
                       int interleavings);

  Counts counts[kMutations];
};

} // namespace

/// Runs the refused mutant with both ways of picking: each must find an error.
void Judge::compareRefusal(const ppx::ArtifactT &mutant,
                           const CheckResult &checked) {
  const bool race = checked.has(FindingKind::race);
  for (int seed = 0; seed < 2; ++seed) {
    const reference::Result run =
        reference::execute(mutant, hashingOptions(uint64_t(seed)));
    const bool blocked = run.end != reference::End::finished;
    ASSERT_EQ(blocked, checked.has(FindingKind::mismatch) ||
                           checked.has(FindingKind::deadlock))
        << checked.status().message() << '\n'
        << run.reason;
    // A run that stops early sees only earlier errors.
    if (!blocked || !run.races.empty())
      ASSERT_EQ(!run.races.empty(), race)
          << checked.status().message() << '\n'
          << (run.races.empty() ? "" : run.races.front());
    // With a race, the values read depend on the interleaving.
    if (!race && (!blocked || !run.clobbers.empty()))
      ASSERT_EQ(!run.clobbers.empty(), checked.has(FindingKind::clobber))
          << checked.status().message() << '\n'
          << (run.clobbers.empty() ? "" : run.clobbers.front());
  }
}

void Judge::compareAccepted(const ppx::ArtifactT &valid,
                            const ppx::ArtifactT &mutant, Mutation mutation,
                            int interleavings) {
  Observed first;
  for (int seed = 0; seed < interleavings; ++seed) {
    const reference::Result run =
        reference::execute(mutant, hashingOptions(uint64_t(seed), seed < 2));
    ASSERT_EQ(run.end, reference::End::finished) << run.reason;
    ASSERT_TRUE(run.races.empty()) << run.races.front();
    ASSERT_TRUE(run.clobbers.empty()) << run.clobbers.front();
    Observed observed = observe(mutant, run);
    if (seed == 0)
      first = std::move(observed);
    else
      ASSERT_TRUE(observed == first) << "differs under seed " << seed;
  }
  for (auto model :
       {reference::DeviceModel::ordered, reference::DeviceModel::shared}) {
    const reference::Result elsewhere = reference::execute(
        mutant, issuedOptions(mutant, model, random(), false));
    ASSERT_EQ(elsewhere.end, reference::End::finished) << elsewhere.reason;
    ASSERT_TRUE(observe(mutant, elsewhere) == first)
        << "differs on other devices";
  }
  const bool same =
      first ==
      observe(valid, reference::execute(valid, hashingOptions(0, false)));
  counts[size_t(mutation)].same += same;
  if (keepsMeaning(mutation))
    ASSERT_TRUE(same) << "accepted, and computes something else";
}

void Judge::judge(const ppx::ArtifactT &valid, Mutation mutation,
                  int interleavings) {
  ppx::ArtifactT mutant(valid);
  Mutator mutator(mutant, random);
  if (!mutator.apply(mutation))
    return;
  ++total;
  Counts &count = counts[size_t(mutation)];
  const CheckResult checked = checkArtifact(mutant);
  for (size_t i = 0; i < std::size(kKinds); ++i)
    count.refused[i] += checked.has(kKinds[i]);
  count.accepted += checked.ok();
  if (mutator.touched()) {
    auto &[changed, accepted] = touched[*mutator.touched()];
    ++changed;
    accepted += checked.ok();
  }
  if (checked.ok())
    compareAccepted(valid, mutant, mutation, interleavings);
  else if (!checked.has(FindingKind::structure)) // else it cannot be run
    compareRefusal(mutant, checked);
}

void Judge::report(const std::string &what) const {
  std::printf("%d mutants of %s; refused by (some by several)\n%-12s"
              "%10s%10s%10s%10s%10s%12s%12s\n",
              total, what.c_str(), "", "structure", "race", "clobber",
              "mismatch", "deadlock", "accepted", "of which same");
  for (size_t m = 0; m < kMutations; ++m) {
    std::printf("%-12s", nameOf(Mutation(m)));
    for (int refused : counts[m].refused)
      std::printf("%10d", refused);
    std::printf("%12d%12d\n", counts[m].accepted, counts[m].same);
  }
  for (const auto &[opcode, numbers] : touched)
    std::printf("%s: %d changed, %d accepted\n", ppx::EnumNameOpcode(opcode),
                numbers.first, numbers.second);
}

// Small programs of many shapes.
TEST(Mutations, OfPipelines) {
  constexpr int kMutants = 8000;
  Judge judge(20240601);
  for (int i = 0; judge.total < kMutants; ++i) {
    const auto mutation = Mutation(size_t(i) % kFlatMutations);
    SCOPED_TRACE(std::string(nameOf(mutation)) + ", mutant " +
                 std::to_string(i));
    const ppx::ArtifactT valid = makePipeline(randomShape(judge.random));
    judge.judge(valid, mutation, /*interleavings=*/8);
    if (HasFatalFailure())
      return;
  }
  judge.report("pipelines");
  // Each check finds something that no other does; each kind has both results.
  for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
    int refused = 0;
    for (size_t m = 0; m < kMutations; ++m)
      refused += judge.of(Mutation(m)).refused[kind];
    EXPECT_GE(refused, 100);
  }
  for (size_t m = 0; m < kFlatMutations; ++m)
    EXPECT_GE(judge.of(Mutation(m)).refusals(), 20) << nameOf(Mutation(m));
  // A step stays as it is.
  for (ppx::Opcode opcode : ppx::EnumValuesOpcode())
    if (opcode != ppx::Opcode_step)
      EXPECT_GE(judge.touched[opcode].first, 20) << ppx::EnumNameOpcode(opcode);
  EXPECT_GE(judge.of(Mutation::wait).accepted, 20);
  EXPECT_GE(judge.of(Mutation::offset).accepted, 20);
}

// Output of the compiler.
TEST(Mutations, OfRealModels) {
  if (artifactFolder.empty())
    GTEST_SKIP() << "no --artifacts";
  std::vector<ppx::ArtifactT> models;
  for (const auto &file : std::filesystem::directory_iterator(artifactFolder))
    if (file.path().extension() == ".ppx") {
      Expected<ppx::ArtifactT> model = loadArtifact(file.path());
      ASSERT_TRUE(model.ok()) << model.status().message();
      ASSERT_TRUE(checkArtifact(*model).ok());
      models.push_back(std::move(*model));
      models.back().object.clear(); // kernels are hashes here
    }
  ASSERT_FALSE(models.empty()) << artifactFolder;
  Judge judge(1);
  for (int i = 0; judge.total < realMutants; ++i) {
    const auto mutation = Mutation(size_t(i) % kMutations);
    const size_t model = size_t(i) / kMutations % models.size();
    SCOPED_TRACE(std::string(nameOf(mutation)) + ", mutant " +
                 std::to_string(i) + " of model " + std::to_string(model));
    judge.judge(models[model], mutation, /*interleavings=*/2);
    if (HasFatalFailure())
      return;
  }
  judge.report("real models");
  if (realMutants >= 2000)
    for (Mutation its : {Mutation::call, Mutation::copies})
      EXPECT_GE(judge.of(its).refusals(), 10) << nameOf(its);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string folder = "--artifacts=", mutants = "--mutants=";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.compare(0, folder.size(), folder) == 0)
      artifactFolder = argument.substr(folder.size());
    else if (argument.compare(0, mutants.size(), mutants) == 0)
      realMutants = std::atoi(argv[i] + mutants.size());
  }
  return RUN_ALL_TESTS();
}

//===- Checks.cpp - the order of the checks -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each check assumes that those before it passed: races and matching need a
// sound structure, contents a program without races, deadlock a complete
// matching.
//
//===----------------------------------------------------------------------===//
#include "pprt/Checks.h"

#include "../OutOfMemory.h"
#include "Passes.h"
#include "Places.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

std::string checks::describe(const InstructionRef &ref,
                             const Instruction &instruction) {
  std::string result =
      text("rank ", ref.rank, ", ", sectionName(ref.section), " #", ref.index,
           " '", instructionName(instruction), "'");
  if (!instruction->location.empty())
    result += " at " + instruction->location;
  return result;
}

bool CheckResult::has(FindingKind kind) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding &f) { return f.kind == kind; });
}

Status CheckResult::status() const {
  if (lacksMemory)
    return outOfMemory();
  if (findings.empty())
    return {};
  std::string message;
  for (const Finding &finding : findings)
    message += (message.empty() ? "" : "\n") + finding.message;
  switch (findings.front().kind) {
  case FindingKind::structure:
    return Status(ExitCode::badArtifact, std::move(message));
  case FindingKind::memory:
    return Status(ExitCode::outOfMemory, std::move(message));
  case FindingKind::race:
  case FindingKind::clobber:
  case FindingKind::mismatch:
  case FindingKind::deadlock:
    break;
  }
  return Status(ExitCode::checkFailed, std::move(message));
}

/// Runs `check` as far as memory lasts.
template <typename Check> static CheckResult checkWith(const Check &check) {
  CheckResult result;
  result.lacksMemory = !orOutOfMemory([&] {
                          check(result);
                          return Status();
                        }).ok();
  return result;
}

void checks::checkEach(
    const CheckOptions &options, size_t count, FindingList &report,
    const std::function<void(size_t, FindingList &)> &check) {
  struct One {
    std::vector<Finding> findings;
    uint64_t operations = 0;
    bool lacksMemory = false;
  };
  std::vector<One> all(count);
  const auto checkOne = [&](size_t number) {
    One &its = all[number];
    its.lacksMemory = !orOutOfMemory([&] {
                         FindingList list(report.kind, its.operations);
                         check(number, list);
                         its.findings = list.take();
                         return Status();
                       }).ok();
  };
  if (options.forEach)
    options.forEach(count, checkOne);
  else
    for (size_t number = 0; number < count; ++number)
      checkOne(number);
  for (One &its : all) {
    report.work(its.operations);
    if (its.lacksMemory)
      throw std::bad_alloc();
    report.append(std::move(its.findings));
  }
}

static void checkStructureInto(const ppx::ArtifactT &artifact,
                               const CheckOptions &options,
                               CheckResult &result) {
  FindingList report(FindingKind::structure, result.operations);
  checkArtifactStructure(artifact, options, report);
  result.findings = report.take();
}

CheckResult pprt::checkStructure(const ppx::ArtifactT &artifact) {
  return checkWith(
      [&](CheckResult &result) { checkStructureInto(artifact, {}, result); });
}

/// Moves findings to the end of those of `result`.
static void append(CheckResult &result, std::vector<Finding> findings) {
  for (Finding &finding : findings)
    result.findings.push_back(std::move(finding));
}

/// Checks communication between ranks, by the speakers of `classes`.
static void checkCommunication(const Ranks &ranks, const RankClasses &classes,
                               CheckResult &result) {
  FindingList mismatches(FindingKind::mismatch, result.operations);
  FindingList deadlocks(FindingKind::deadlock, result.operations);
  const std::vector<Rendezvous> matched =
      matchCommunication(ranks, classes, mismatches);
  if (mismatches.empty())
    checkDeadlock(ranks, classes, matched, deadlocks);
  append(result, mismatches.take());
  append(result, deadlocks.take());
}

/// Returns the number of instructions of all speakers.
static uint64_t countInstructions(const Ranks &ranks,
                                  const RankClasses &classes) {
  uint64_t count = 0;
  for (uint32_t rank : classes.speakers())
    for (Section section : kSections)
      count += ranks.instructions(rank, section).size();
  return count;
}

/// Limit of the speakers' instructions, each of which takes memory below: a
/// fixed number, or a small multiple of the programs' instructions.
static uint64_t mostInstructions(const Ranks &ranks) {
  constexpr uint64_t most = uint64_t(1) << 27;
  uint64_t count = uint64_t(1) << 18;
  for (uint32_t program = 0; program < ranks.artifact.programs.size();
       ++program)
    for (Section section : kSections)
      count += 4 * ranks.instructionsOf(program, section).size();
  return std::min(count, most);
}

/// Checks one rank per class first. If that finds something, checks every rank
/// to name those concerned, unless they are too many.
static void checkCommunication(const Ranks &ranks, CheckResult &result) {
  const uint64_t most = mostInstructions(ranks);
  const auto classes = RankClasses::coarsest(ranks, result.operations);
  if (const uint64_t count = countInstructions(ranks, classes); count > most) {
    FindingList report(FindingKind::structure, result.operations);
    report.add(
        text("expects ranks of one program to meet the same programs, or "
             "at most ",
             most, " instructions of ranks that do not, got ", count));
    return append(result, report.take());
  }
  const size_t before = result.findings.size();
  checkCommunication(ranks, classes, result);
  const auto apart = RankClasses::apart(ranks);
  if (result.findings.size() == before ||
      countInstructions(ranks, apart) > most)
    return;
  result.findings.resize(before);
  checkCommunication(ranks, apart, result);
}

/// Checks one program alone: for races, and without them, what it reads.
static void checkProgram(const Ranks &ranks, uint32_t program,
                         FindingList &report) {
  const Places places(*ranks.artifact.programs[program]);
  checkRaces(ranks, program, places, report);
  if (!report.empty())
    return;
  uint64_t operations = 0;
  FindingList clobbers(FindingKind::clobber, operations);
  checkContents(ranks, program, places, clobbers);
  report.work(operations);
  report.append(clobbers.take());
}

static void checkArtifactInto(const ppx::ArtifactT &artifact,
                              const CheckOptions &options,
                              CheckResult &result) {
  checkStructureInto(artifact, options, result);
  if (!result.ok())
    return;
  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);

  if (options.memoryLimit) {
    FindingList memory(FindingKind::memory, result.operations);
    checkMemory(ranks, *options.memoryLimit, memory);
    append(result, memory.take());
  }

  // Ranks break in the same way: the first programs' findings are enough.
  // Communication takes longer than a program, so it begins first.
  CheckResult communication;
  FindingList alone(FindingKind::race, result.operations);
  checkEach(options, artifact.programs.size() + 1, alone,
            [&](size_t number, FindingList &report) {
              if (number == 0)
                checkCommunication(ranks, communication);
              else
                checkProgram(ranks, uint32_t(number - 1), report);
            });
  append(result, alone.take());
  append(result, std::move(communication.findings));
  result.operations += communication.operations;
}

CheckResult pprt::checkArtifact(const ppx::ArtifactT &artifact,
                                const CheckOptions &options) {
  return checkWith([&](CheckResult &result) {
    checkArtifactInto(artifact, options, result);
  });
}

//===- Checks.cpp - the order of the checks -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each check assumes that those before it passed: races and matching need a
// sound structure, contents the absence of races, deadlock a complete matching.
//
//===----------------------------------------------------------------------===//
#include "pprt/Checks.h"

#include "../OutOfMemory.h"
#include "Passes.h"

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

static void checkStructureInto(const ppx::ArtifactT &artifact,
                               CheckResult &result) {
  FindingList report(FindingKind::structure, result.operations);
  checkArtifactStructure(artifact, report);
  result.findings = report.take();
}

CheckResult pprt::checkStructure(const ppx::ArtifactT &artifact) {
  return checkWith(
      [&](CheckResult &result) { checkStructureInto(artifact, result); });
}

/// Moves the findings of `report` to the end of `result`.
static void append(CheckResult &result, FindingList &report) {
  for (Finding &finding : report.take())
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
  append(result, mismatches);
  append(result, deadlocks);
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
  uint64_t count = uint64_t(1) << 18;
  for (uint32_t program = 0; program < ranks.artifact.programs.size();
       ++program)
    for (Section section : kSections)
      count += 4 * ranks.instructionsOf(program, section).size();
  return count;
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
    return append(result, report);
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

/// Makes a check of each program. Ranks break in the same way: reports the
/// findings of the first programs, up to as many as a check reports of one.
static void checkPrograms(const Ranks &ranks, const CheckOptions &options,
                          FindingKind kind,
                          void (*check)(const Ranks &, uint32_t, FindingList &),
                          CheckResult &result) {
  struct OfProgram {
    std::vector<Finding> findings;
    uint64_t operations = 0;
    bool lacksMemory = false;
  };
  std::vector<OfProgram> all(ranks.artifact.programs.size());
  const auto checkOne = [&](size_t program) {
    OfProgram &its = all[program];
    its.lacksMemory = !orOutOfMemory([&] {
                         FindingList report(kind, its.operations);
                         check(ranks, uint32_t(program), report);
                         its.findings = report.take();
                         return Status();
                       }).ok();
  };
  if (options.forEach)
    options.forEach(all.size(), checkOne);
  else
    for (size_t program = 0; program < all.size(); ++program)
      checkOne(program);
  size_t count = 0;
  for (OfProgram &its : all) {
    result.operations += its.operations;
    result.lacksMemory |= its.lacksMemory;
    for (Finding &finding : its.findings)
      if (count++ < FindingList::kMaximumFindings)
        result.findings.push_back(std::move(finding));
  }
}

static void checkArtifactInto(const ppx::ArtifactT &artifact,
                              const CheckOptions &options,
                              CheckResult &result) {
  checkStructureInto(artifact, result);
  if (!result.ok())
    return;
  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);

  if (options.memoryLimit) {
    FindingList memory(FindingKind::memory, result.operations);
    checkMemory(ranks, *options.memoryLimit, memory);
    append(result, memory);
  }

  const size_t before = result.findings.size();
  checkPrograms(ranks, options, FindingKind::race, checkRaces, result);
  if (result.lacksMemory)
    return;
  const bool isOrdered = result.findings.size() == before;
  if (isOrdered)
    checkPrograms(ranks, options, FindingKind::clobber, checkContents, result);
  if (!result.lacksMemory)
    checkCommunication(ranks, result);
}

CheckResult pprt::checkArtifact(const ppx::ArtifactT &artifact,
                                const CheckOptions &options) {
  return checkWith([&](CheckResult &result) {
    checkArtifactInto(artifact, options, result);
  });
}

//===- Checks.cpp - the order of the checks -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each check rests on the ones before it: races and matching on a sound
// structure, contents on the absence of races, deadlock on a complete matching.
//
//===----------------------------------------------------------------------===//
#include "pprt/Checks.h"

#include "Passes.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

std::string checks::describe(const InstructionRef &ref,
                             const ppx::InstructionT &instruction) {
  std::string result =
      text("rank ", ref.rank, ", ", sectionName(ref.section), " #", ref.index,
           " '", instructionName(instruction), "'");
  if (!instruction.location.empty())
    result += " at " + instruction.location;
  return result;
}

bool CheckResult::has(FindingKind kind) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding &f) { return f.kind == kind; });
}

Status CheckResult::status() const {
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

CheckResult pprt::checkStructure(const ppx::ArtifactT &artifact) {
  CheckResult result;
  Report report(FindingKind::structure, result.operations);
  checkArtifactStructure(artifact, report);
  result.findings = report.take();
  return result;
}

/// Moves what `report` found to the end of `result`.
static void append(CheckResult &result, Report &report) {
  for (Finding &finding : report.take())
    result.findings.push_back(std::move(finding));
}

/// Whether everything between ranks is right; findings only of ranks apart.
static bool checkCommunication(const Ranks &ranks, const RankClasses &classes,
                               CheckResult &result) {
  const bool isApart = classes.speakers().size() == ranks.mesh.worldSize();
  Report mismatches(FindingKind::mismatch, result.operations);
  Report deadlocks(FindingKind::deadlock, result.operations);
  const std::vector<Rendezvous> matched =
      matchCommunication(ranks, classes, mismatches);
  if (mismatches.empty())
    checkDeadlock(ranks, classes, matched, deadlocks);
  const bool isRight = mismatches.empty() && deadlocks.empty();
  if (isApart) {
    append(result, mismatches);
    append(result, deadlocks);
  }
  return isRight || isApart;
}

CheckResult pprt::checkArtifact(const ppx::ArtifactT &artifact,
                                const CheckOptions &options) {
  CheckResult result = checkStructure(artifact);
  if (!result.ok())
    return result;
  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);

  if (options.memoryLimit) {
    Report memory(FindingKind::memory, result.operations);
    checkMemory(ranks, *options.memoryLimit, memory);
    append(result, memory);
  }

  Report races(FindingKind::race, result.operations);
  checkRaces(ranks, races);
  const bool isOrdered = races.empty();
  append(result, races);

  if (isOrdered) {
    Report clobbers(FindingKind::clobber, result.operations);
    checkContents(ranks, clobbers);
    append(result, clobbers);
  }

  // Of few ranks first. What is wrong is then said of those it is wrong for.
  if (!checkCommunication(
          ranks, RankClasses::coarsest(ranks, result.operations), result))
    checkCommunication(ranks, RankClasses::apart(ranks), result);
  return result;
}

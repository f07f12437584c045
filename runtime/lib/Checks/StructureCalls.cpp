//===- StructureCalls.cpp - do calls run what exists, and not too much? ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact in which everything may be anything. Checks that calls name
// routines and their instructions, that a micro-batch runs a routine once, and
// that what all calls list takes memory and time that a machine has: a small
// file may call a routine a billion times.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

#include <algorithm>
#include <set>

using namespace pprt;
using namespace pprt::checks;

/// What runs takes memory: by instruction with what it touches and awaits, and
/// by call and queue.
constexpr uint64_t kMostListed = uint64_t(1) << 27;
/// The order on memory takes time by what is listed, and by queue in use.
constexpr uint64_t kMostOrdered = uint64_t(1) << 30;

namespace {

/// What the calls of all programs may still list.
struct Allowance {
  uint64_t listed = kMostListed, ordered = kMostOrdered;
};

/// Checks the calls of one program.
class CallChecker {
public:
  CallChecker(const ppx::ProgramT &program, Allowance &allowance,
              FindingList &report);

  /// Returns whether all calls are sound; reports the first that is not.
  bool checkSection(Section section);
  void checkUnused();

private:
  struct Routine {
    size_t count = 0;  ///< of its instructions
    uint64_t size = 0; ///< with what these touch and await
    /// Whether its instructions leave the micro-batch to the call.
    bool takesMicroBatch = true;
    bool isCalled = false;
  };

  /// Each returns what it expects and got, or nothing.
  std::string findFault(const ppx::CallT &call);
  std::string checkMicroBatch(const ppx::CallT &call);
  static std::string checkWaits(const ppx::CallT &call, size_t count);
  std::string takeAllowance(const ppx::CallT &call);

  const ppx::ProgramT &program;
  Allowance &allowance;
  FindingList &report;
  std::vector<Routine> routines;
  std::set<uint32_t> queues; ///< in use
  /// Routines and micro-batches of the section's calls so far.
  std::set<std::pair<uint32_t, int32_t>> known;
};

} // namespace

CallChecker::CallChecker(const ppx::ProgramT &program, Allowance &allowance,
                         FindingList &report)
    : program(program), allowance(allowance), report(report) {
  for (const auto &written : program.routines) {
    Routine &routine = routines.emplace_back();
    routine.count = written->instructions.size();
    report.work(routine.count);
    for (const auto &its : written->instructions) {
      routine.size += 1 + its->arguments.size() + its->waits.size();
      routine.takesMicroBatch &= its->micro_batch == -1;
      queues.insert(its->queue);
    }
  }
}

std::string CallChecker::checkMicroBatch(const ppx::CallT &call) {
  const bool takesMicroBatch = routines[call.routine].takesMicroBatch;
  if ((call.micro_batch >= 0 || !takesMicroBatch) &&
      !known.insert({call.routine, call.micro_batch}).second)
    return text("one call of routine ", call.routine,
                call.micro_batch >= 0
                    ? text(" for micro-batch ", call.micro_batch)
                    : ", which has micro-batches of its own",
                ", got another");
  if (call.micro_batch < -1)
    return text("a micro-batch or none (-1), got ", call.micro_batch);
  if (call.micro_batch >= 0 && !takesMicroBatch)
    return "instructions without micro-batches of their own in a routine that "
           "is called for one";
  return {};
}

std::string CallChecker::checkWaits(const ppx::CallT &call, size_t count) {
  uint32_t before = 0;
  for (const ppx::CallWait &wait : call.waits) {
    const uint32_t instruction = wait.instruction();
    if (instruction >= count || instruction < before)
      return text("waits by ascending instruction, numbered 0 to ",
                  int64_t(count) - 1, ", got one of number ", instruction);
    before = instruction;
  }
  return {};
}

std::string CallChecker::takeAllowance(const ppx::CallT &call) {
  const uint64_t listed = routines[call.routine].size + call.waits.size() +
                          program.queues.size() + 1,
                 ordered = listed * queues.size();
  if (listed > allowance.listed)
    return text("calls of all programs to list at most ", kMostListed,
                " instructions, slots, waits and queues, got more");
  if (ordered > allowance.ordered)
    return text("what is listed, times the queues in use, to be at most ",
                kMostOrdered, " in all programs, got more");
  allowance.listed -= listed;
  allowance.ordered -= ordered;
  return {};
}

std::string CallChecker::findFault(const ppx::CallT &call) {
  report.work(1 + call.waits.size());
  if (call.routine >= routines.size())
    return text("a routine below ", routines.size(), ", got ", call.routine);
  Routine &routine = routines[call.routine];
  routine.isCalled = true;
  std::string fault = checkMicroBatch(call);
  if (fault.empty())
    fault = checkWaits(call, routine.count);
  return fault.empty() ? takeAllowance(call) : fault;
}

bool CallChecker::checkSection(Section section) {
  known.clear();
  const auto &calls = callsOf(program, section);
  for (size_t i = 0; i < calls.size(); ++i)
    if (const std::string fault = findFault(*calls[i]); !fault.empty()) {
      report.add(text("program '", program.name, "', ", sectionName(section),
                      ", call ", i, " expects ", fault));
      return false;
    }
  return true;
}

void CallChecker::checkUnused() {
  for (size_t i = 0; i < routines.size(); ++i)
    if (!routines[i].isCalled)
      report.add(text("program '", program.name, "' expects calls of routine ",
                      i, ", got none"));
}

void checks::checkCalls(const ppx::ArtifactT &artifact, FindingList &report) {
  Allowance allowance;
  for (const auto &program : artifact.programs) {
    CallChecker checker(*program, allowance, report);
    if (std::all_of(kSections.begin(), kSections.end(), [&](Section section) {
          return checker.checkSection(section);
        }))
      checker.checkUnused();
  }
}

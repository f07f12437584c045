//===- Awaiting.cpp - waiting for the end of a section --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a section that was given to streams. Out: its end, or the reason to stop
// waiting for it. Assumes events before and behind each command, unless the
// section is recorded.
//
//===----------------------------------------------------------------------===//
#include "EnqueuedExecutor.h"
#include "pprt/Program.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace pprt;
using namespace pprt::enqueued;

/// The host polls for the end: this often without a pause, then with longer and
/// longer pauses.
static constexpr uint32_t kEagerly = 4096;
static constexpr std::chrono::microseconds kPause(50);
/// Seconds between checks whether to wait on.
static constexpr double kAsking = 0.25;

static double secondsBetween(std::chrono::steady_clock::time_point from,
                             std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

Status EnqueuedExecutor::await(const SectionState &section, int64_t number,
                               const Event &done) {
  wiring.patience->begin(wiring.place);
  const Status status = awaitLong(section, number, done);
  wiring.patience->end(wiring.place);
  return status;
}

Status EnqueuedExecutor::awaitLong(const SectionState &section, int64_t number,
                                   const Event &done) {
  size_t ended = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point moved = Clock::now(), asked = moved;
  for (uint32_t looks = 0;; ++looks) {
    Expected<bool> isComplete = device.query(done);
    if (!isComplete || *isComplete)
      return isComplete.status();
    if (looks < kEagerly)
      continue;
    std::this_thread::sleep_for(kPause);
    if (const Status elsewhere =
            wiring.transport ? wiring.transport->poll() : Status();
        !elsewhere.ok())
      return elsewhere;
    Expected<bool> hasMoved = this->hasMoved(section, ended);
    const Clock::time_point looked = Clock::now();
    const bool asks = secondsBetween(asked, looked) >=
                      (options.limits.hangSeconds > 0
                           ? std::min(kAsking, options.limits.hangSeconds / 8)
                           : kAsking);
    if (hasMoved && !*hasMoved && asks)
      hasMoved = computes(section, ended);
    if (!hasMoved)
      return hasMoved.status();
    if (*hasMoved)
      moved = looked;
    if (!asks)
      continue;
    asked = looked;
    stuck = true; // if this function returns here
    if (Status status = wiring.patience->goOn(
            wiring.place, {number, secondsBetween(moved, looked),
                           section.isCaptured, describe(section, ended)});
        !status.ok())
      return status;
    stuck = false;
  }
}

Expected<bool> EnqueuedExecutor::hasMoved(const SectionState &section,
                                          size_t &ended) const {
  const size_t before = ended;
  while (!section.isCaptured && ended < section.steps.size()) {
    Expected<bool> isComplete = device.query(*section.steps[ended].end);
    if (!isComplete)
      return isComplete.status();
    if (!*isComplete)
      break;
    ++ended;
  }
  return ended > before;
}

/// A command that has begun computes, unless it meets ranks elsewhere. All that
/// is known of a graph is whether it contains such a comm op.
Expected<bool> EnqueuedExecutor::computes(const SectionState &section,
                                          size_t ended) const {
  if (section.isCaptured)
    return !wiring.transport;
  for (size_t i = ended; i < section.steps.size(); ++i) {
    const Step &step = section.steps[i];
    if (!step.tickets.empty())
      continue;
    Expected<bool> hasBegun = device.query(*step.begin);
    Expected<bool> hasEnded = device.query(*step.end);
    if (!hasBegun || !hasEnded)
      return hasBegun ? hasEnded.status() : hasBegun.status();
    if (*hasBegun && !*hasEnded)
      return true;
  }
  return false;
}

/// The first command that has not ended is at work: all before it have ended.
std::string EnqueuedExecutor::describe(const SectionState &section,
                                       size_t ended) const {
  std::string text;
  if (section.isCaptured || ended == section.steps.size())
    return text;
  for (const Task &task : section.steps[ended].tasks) {
    const ppx::InstructionT &its = *task.instruction;
    text += "; " + std::string(ppx::EnumNameOpcode(its.opcode));
    if (task.launch)
      text += " of '" + artifact->kernels[its.kernel]->name + "'";
    text += " has not";
    if (!its.location.empty())
      text += " (" + its.location + ")";
  }
  return text;
}

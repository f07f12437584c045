//===- Patience.cpp - how long a process waits for its devices ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Patience.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::enqueued;

void Patience::begin(size_t device) {
  std::lock_guard<std::mutex> lock(mutex);
  places[device].waits = true;
  places[device].wait = {};
  ++places[device].section;
}

void Patience::end(size_t device) {
  std::lock_guard<std::mutex> lock(mutex);
  places[device].waits = false;
}

Status Patience::goOn(size_t device, Wait wait) {
  uint64_t section = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    places[device].wait = wait;
    if (!failure.ok())
      return failure;
    section = places[device].section;
  }
  std::optional<Suspicion> its = limits.suspect(wait.idle, wait.isCaptured);
  if (!its)
    return {};
  its->section = section;
  Standstill here = standstill(section);
  if (here.seconds < its->seconds)
    return {};
  if (const auto others = transport.lock(); others && others->suspect(*its))
    return {};
  end(its->why, here.seconds, {std::move(here.ranks)});
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

/// A device that has ended the section does not count.
Standstill Patience::standstill(uint64_t asked) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t section = asked;
  for (const Place &place : places)
    if (asked == 0 && place.waits)
      section = std::max(section, place.section);
  Standstill here;
  for (const Place &place : places) {
    if (place.section < section)
      return {}; // it still gets commands
    if (place.section > section || !place.waits)
      continue;
    here.seconds = here.seconds < 0 ? place.wait.idle
                                    : std::min(here.seconds, place.wait.idle);
    const auto *text =
        reinterpret_cast<const std::byte *>(place.wait.text.data());
    here.ranks.insert(here.ranks.end(), text, text + place.wait.text.size());
  }
  return here;
}

void Patience::end(ExitCode why, double seconds,
                   const std::vector<std::vector<std::byte>> &all) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!failure.ok())
    return;
  int64_t step = 0;
  for (const Place &place : places)
    step = std::max(step, place.wait.step);
  std::string text = why == ExitCode::interrupted
                         ? describeInterruption(step)
                         : "no progress for " +
                               std::to_string(int64_t(seconds)) +
                               " s in step " + std::to_string(step + 1);
  for (const std::vector<std::byte> &its : all)
    if (why == ExitCode::hang)
      text.append(reinterpret_cast<const char *>(its.data()), its.size());
  failure = Status(why, std::move(text));
  const Status status = failure;
  lock.unlock();
  if (const auto others = transport.lock())
    others->abort(status);
}

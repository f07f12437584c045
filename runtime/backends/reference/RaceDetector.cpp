//===- RaceDetector.cpp - finds races while a rank runs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RaceDetector.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

RaceDetector::RaceDetector(uint64_t arenaBytes, size_t queueCount)
    : shadows(arenaBytes), known(queueCount, Clock(queueCount)),
      history(queueCount) {
  for (Shadow &shadow : shadows)
    shadow.readTime.resize(queueCount);
}

void RaceDetector::startSection() {
  for (Shadow &shadow : shadows) {
    shadow.writeTime = 0;
    std::fill(shadow.readTime.begin(), shadow.readTime.end(), 0);
  }
  for (Clock &clock : known)
    std::fill(clock.begin(), clock.end(), 0);
  for (std::vector<Clock> &completed : history)
    completed.clear();
}

void RaceDetector::start(uint32_t queue, const std::vector<ppx::Wait> &waits) {
  Clock &mine = known[queue];
  for (const ppx::Wait &wait : waits) {
    const Clock &theirs = history[wait.queue()][wait.count() - 1];
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = std::max(mine[i], theirs[i]);
  }
}

std::string RaceDetector::read(uint32_t queue, const ppx::SlotT &slot) {
  std::string problem;
  for (uint64_t i = slot.offset; i < slot.offset + slot.bytes; ++i) {
    Shadow &shadow = shadows[i];
    if (!knows(queue, shadow.writer, shadow.writeTime))
      problem = "reads byte " + std::to_string(i) + " while queue " +
                std::to_string(shadow.writer) + " writes it";
    shadow.readTime[queue] = now(queue);
  }
  return problem;
}

std::string RaceDetector::write(uint32_t queue, const ppx::SlotT &slot) {
  std::string problem;
  for (uint64_t i = slot.offset; i < slot.offset + slot.bytes; ++i) {
    Shadow &shadow = shadows[i];
    if (!knows(queue, shadow.writer, shadow.writeTime))
      problem = "writes byte " + std::to_string(i) + " while queue " +
                std::to_string(shadow.writer) + " writes it";
    for (uint32_t other = 0; other < shadow.readTime.size(); ++other)
      if (other != queue && !knows(queue, other, shadow.readTime[other]))
        problem = "writes byte " + std::to_string(i) + " while queue " +
                  std::to_string(other) + " reads it";
    shadow.writer = queue;
    shadow.writeTime = now(queue);
  }
  return problem;
}

void RaceDetector::complete(uint32_t queue) {
  known[queue][queue] = now(queue);
  history[queue].push_back(known[queue]);
}

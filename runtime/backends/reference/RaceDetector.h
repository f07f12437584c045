//===- RaceDetector.h - finds races while a rank runs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Watches one rank. Every byte of the arena has a shadow: the last write and,
// per queue, the last read. An access is a race if it conflicts with one in the
// shadow that its queue's waits do not order before it. The first race of a run
// is found whatever the interleaving, because queue order and waits are the
// same in all of them.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_RACEDETECTOR_H
#define PPRT_BACKENDS_REFERENCE_RACEDETECTOR_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pprt::reference {

class RaceDetector {
public:
  RaceDetector(uint64_t arenaBytes, size_t queueCount);

  /// Everything before has completed and is known to every queue.
  void startSection();
  /// The next instruction of `queue` starts; its waits hold.
  void start(uint32_t queue, const std::vector<ppx::Wait> &waits);
  /// The instruction that `queue` has started touches `slot`. Returns a
  /// description of the race, or nothing.
  std::string read(uint32_t queue, const ppx::SlotT &slot);
  std::string write(uint32_t queue, const ppx::SlotT &slot);
  /// The instruction that `queue` has started is complete.
  void complete(uint32_t queue);

private:
  /// Per queue, how many of its instructions are known to be complete.
  using Clock = std::vector<uint32_t>;
  struct Shadow {
    uint32_t writer = 0, writeTime = 0; ///< time 0: not in this section
    std::vector<uint32_t> readTime;     ///< per queue
  };

  bool knows(uint32_t queue, uint32_t other, uint32_t time) const {
    return known[queue][other] >= time;
  }
  uint32_t now(uint32_t queue) const {
    return uint32_t(history[queue].size()) + 1;
  }

  std::vector<Shadow> shadows; ///< per byte of the arena
  std::vector<Clock> known;    ///< per queue
  /// Per queue and completed instruction, the clock after it.
  std::vector<std::vector<Clock>> history;
};

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_RACEDETECTOR_H

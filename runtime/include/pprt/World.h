//===- World.h - the processes of a run, and the ranks they hold -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a mesh lie in contiguous blocks: process p of P holds
// [ranks * p / P, ranks * (p + 1) / P). Every call but the queries and abort()
// is collective: all processes make it, in the same order. Programs open a
// world and give it to their sessions; engines implement one.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_WORLD_H
#define PPRT_WORLD_H

#include "pprt/Ranks.h"
#include "pprt/Session.h"
#include "pprt/Status.h"
#include "pprt/TransportModel.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

class PolledTransport;

/// The joint decision of the processes at the end of a section.
struct Verdict {
  Status first;       ///< failure of the first process that failed
  uint32_t votes = 0; ///< every bit that a process has set
};

/// Offset of a process's clock (CLOCK_MONOTONIC) from that of process 0.
struct ClockReading {
  int64_t at = 0;    ///< time of the process's clock, in nanoseconds
  int64_t ahead = 0; ///< offset in nanoseconds
  int64_t error = 0; ///< largest error of `ahead`
};

class World {
public:
  virtual ~World() = default;

  virtual uint32_t process() const = 0;
  virtual uint32_t processCount() const = 0;
  /// This process's share of the cores that it may use, which other processes
  /// of the world may use too: 0 if they outnumber the cores.
  virtual unsigned coreCount() const { return pprt::coreCount(); }
  /// Returns the process that holds a rank.
  uint32_t processOf(uint32_t rank, uint32_t worldSize) const {
    return uint32_t(((uint64_t(rank) + 1) * processCount() - 1) / worldSize);
  }
  RankRange ranksOf(uint32_t process, uint32_t worldSize) const {
    const uint64_t all = worldSize;
    return {uint32_t(all * process / processCount()),
            uint32_t(all * (process + 1) / processCount())};
  }

  /// Sends `bytes` from process 0 to all.
  virtual Status broadcast(std::vector<std::byte> &bytes) = 0;
  /// Returns all values by process in process 0; nothing elsewhere.
  virtual Expected<std::vector<std::vector<std::byte>>>
  gather(std::vector<std::byte> mine) = 0;
  /// Returns the same answer everywhere, once all processes have called. The
  /// caller says what each bit of `votes` means.
  virtual Verdict agree(const Status &mine, uint32_t votes = 0) = 0;
  /// Returns all clocks by process in process 0; nothing elsewhere.
  virtual Expected<std::vector<ClockReading>> readClocks() {
    return std::vector<ClockReading>(processCount());
  }
  /// From now on, once `isInterrupted` returns true, a call that waits for
  /// other processes for 1.5 s more ends all processes (interrupted), unless
  /// one of them is at work in a session. Called from any thread; empty: never.
  /// A single process never waits.
  virtual void watch(std::function<bool()> isInterrupted) {
    (void)isInterrupted;
  }
  /// Model of the world's transports, for a mesh of `worldSize` ranks.
  virtual TransportModel model(uint32_t worldSize) const {
    (void)worldSize;
    return {};
  }
  /// Makes the transport of one session; sessions share no messages.
  virtual Expected<std::unique_ptr<PolledTransport>>
  transport(uint32_t worldSize) = 0;

  /// Ends all processes with the status's code, after one of them has printed
  /// its message.
  [[noreturn]] virtual void abort(const Status &status) = 0;
};

/// Fails (ranksDisagree) in all processes unless `mine` is the same in all.
/// `expected` and `advice` complete "expects the same ... in all processes, got
/// another in process 1; ...".
Status expectSame(World &world, std::vector<std::byte> mine,
                  const std::string &expected, const std::string &advice);

/// A world of one process, whose ranks are threads.
std::unique_ptr<World> thisProcess();

/// Returns the processes that mpirun or another launcher started, or this one
/// alone. Once a process. A process that is silent for so many seconds ends
/// all; 0: never. Fails (usage) if MPI does not join the launched processes,
/// or, with what to install, if there is no Open MPI: its part of the runtime,
/// libpprt_mpi.so, is opened here, from beside the program, beside the runtime,
/// or where the system looks.
Expected<std::unique_ptr<World>> openMpi(uint64_t silenceSeconds = 30);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_WORLD_H

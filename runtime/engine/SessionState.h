//===- SessionState.h - what a session consists of --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Session.cpp creates and runs a session, SessionArguments.cpp transfers values
// in and out.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_SESSIONSTATE_H
#define PPRT_ENGINE_SESSIONSTATE_H

#include "../lib/OutOfMemory.h"
#include "Clocks.h"
#include "Devices.h"
#include "HostBuffers.h"
#include "Leading.h"
#include "Measurements.h"
#include "enqueued/MemoryNeeds.h"
#include "pprt/Session.h"
#include "pprt/World.h"

#include <unordered_map>

namespace pprt {

struct Session::State {
  enum class Phase { opened, begun, ended };

  std::shared_ptr<const ppx::ArtifactT> artifact;
  std::shared_ptr<HostBuffers> host;
  std::shared_ptr<World> world;
  RankRange range; ///< of this process
  const Backend *backend = nullptr;
  std::string deviceName;
  std::shared_ptr<Devices> devices;
  TransportModel model;
  std::unique_ptr<Executor> executor;
  std::unordered_map<std::string, uint32_t> argumentOf; ///< by name
  unsigned threads = 1, cores = 1; ///< 0 threads: a device with streams
  Phase phase = Phase::opened;
  int64_t steps = 0;
  unsigned underWay = 0;       ///< steps submitted and not waited for
  std::vector<Rows> inputRows; ///< by argument, rows that ranks here load
  std::vector<bool> hasValue;  ///< by argument, whether it was set
  Status failure;              ///< of the first process that failed
  uint64_t leads = 0; ///< number of this session in the others, if it leads
  /// By rank, measurements of other processes.
  std::vector<Measurements> collected;
  /// By process, device measurements of other processes.
  std::vector<std::vector<DeviceMeasurements>> devicesElsewhere;
  Clocks clocks;
  // By device, if devices report the memory in use.
  std::vector<enqueued::MemoryNeeds> needs;
  std::vector<enqueued::MemoryReadings> readings;

  bool lacksMemory = false; ///< a call has run out of memory

  /// Returns the result of a call that changes the session, or a failure if it
  /// ran out of memory; its effect is then unknown, and all further calls fail.
  template <typename Call> Status guard(const Call &call) {
    if (lacksMemory)
      return outOfMemory();
    bool ends = false;
    const Status status = orOutOfMemory([&]() -> Status {
      Status its = call();
      ends = true;
      return its;
    });
    lacksMemory |= !ends;
    if (lacksMemory && failure.ok())
      failure = status;
    return status;
  }

  Status prepare(const SessionOptions &options);
  Status makeDevices(const SessionOptions &options);
  RankRange ranksOf(size_t device) const {
    return devices->ranksOf(device, range);
  }
  Status compareArtifacts() const;
  /// Checks that the hosts and devices have the memory that the ranks need.
  Status checkMemory();
  /// Stores the memory that each device reports to be in use now.
  void readMemory(std::optional<uint64_t> enqueued::MemoryReadings::*when);
  /// Starts the executor of this process's ranks.
  Status start(const SessionOptions &options);
  /// Checks that `call` is in order, and has the inputs that its section loads.
  /// Another process may have them: several processes find out by running it.
  Status expect(Phase wanted, Section section, const char *call) const;
  /// Checks that parameters and states have values.
  Status expectValues() const;
  /// Checks that nothing is under way.
  Status expectIdle(const char *call) const;
  // These have the same result in all processes.
  Status submit(Section section, int64_t step);
  Status wait(Section section);
  Status run(Section section, int64_t step);
  Status compareInitialization(uint64_t seed,
                               const std::vector<uint8_t> &keeps) const;
  Status agree(const Status &mine);
  Status gatherOutputs(Section section);
  Status readClocks();
  Measurements measure(uint32_t rank) const;
  std::vector<DeviceMeasurements> measureDevices();
  /// Makes the other processes repeat this call, if the session leads.
  Status tell(CallKind kind, uint64_t number = 0, const void *bytes = nullptr,
              uint64_t size = 0) const;

  /// The same in all processes: bodies are recorded by all or by none.
  unsigned stepsAhead() const { return executor->stepsAhead(); }
  bool keepsValues() const {
    return executor->rank(range.begin).arena->keepsValues();
  }
  bool isInput(uint32_t argument) const {
    const ppx::Role role = artifact->arguments[argument]->role;
    return role == ppx::Role_input || role == ppx::Role_label;
  }
  /// The slot of an argument on a rank; -1: it has none.
  int32_t slotOf(uint32_t argument, uint32_t rank) const {
    return artifact->programs[host->ranks.programOf(rank)]
        ->argument_slots[argument];
  }
  /// Whether each thread has a core.
  bool spins() const { return uint64_t(threads) * range.size() <= cores; }
  Status checkIndex(uint32_t argument) const;
  Status checkBytes(uint32_t argument, uint64_t bytes, bool input) const;
  Status giveInput(uint32_t argument, const void *values, uint64_t bytes,
                   bool isLent);
  /// Checks that all integers are below the argument's bound; `values` begins
  /// `skipped` bytes into the argument.
  Status checkBound(uint32_t argument, const void *values, uint64_t bytes,
                    uint64_t skipped = 0) const;
  Status checkStopped() const;
  /// Checks that parameters and states may be set and read.
  Status checkArguments() const;
  /// Calls f(rank, slot, origin) for every shard here of a parameter or state,
  /// until it fails.
  template <typename Function>
  Status forEachShard(uint32_t argument, Function &&f) const;
  /// Calls f(bytes, origin) to fill every distinct shard here, and copies it to
  /// the other ranks that hold it.
  template <typename Function>
  Status forEachCopy(uint32_t argument, Function &&f) const;
  Expected<uint32_t> findSame(uint32_t argument, const Session &other) const;
  bool hasSameParts(uint32_t argument, const State &other, uint32_t from) const;
  Status copyParts(uint32_t argument, const State &other, uint32_t from);
  /// The holder of a part of an argument; each part has one.
  struct Holder {
    uint32_t rank, slot;
    ShardedTensor::Index origin;
  };
  std::vector<Holder> firstHolders(uint32_t argument) const;
  Status gatherShards(uint32_t argument,
                      const std::vector<std::vector<Holder>> &parts,
                      uint32_t begin, uint32_t end, std::byte *values) const;
};

} // namespace pprt

#endif // PPRT_ENGINE_SESSIONSTATE_H

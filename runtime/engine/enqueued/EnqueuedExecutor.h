//===- EnqueuedExecutor.h - tells streams a section at once -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a checked artifact, the ranks of it that are this process's, and a device
// whose streams run behind the host. Out: its sections, each given to the
// streams in one go, with events where a command waits for another stream; then
// the host waits for the end. What is loaded lies in memory of the host before,
// what is emitted after.
//
// A step that is recorded is given once, and played from then on. One that is
// not has the times of its instructions. Of recorded steps the next may be
// given while one is under way, so that the device need not wait for the host.
// Each has memory of the host of its own then, and a graph with its
// addresses.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_ENQUEUEDEXECUTOR_H
#define PPRT_ENGINE_ENQUEUED_ENQUEUEDEXECUTOR_H

#include "../CommOpsHere.h"
#include "../Executor.h"
#include "Commands.h"
#include "MemoryNeeds.h"
#include "Patience.h"

#include <array>
#include <deque>
#include <map>

namespace pprt::enqueued {

/// What an executor has of a process's devices.
struct Wiring {
  /// Has loaded the artifact.
  std::shared_ptr<StreamDevice> device;
  /// How they meet ranks elsewhere, to be connected before the first section is
  /// run; null if there are none.
  std::shared_ptr<StreamTransport> transport;
  /// Shared with those of the process's other devices, and which of them this
  /// one is.
  std::shared_ptr<Patience> patience;
  size_t place = 0;
};

class EnqueuedExecutor final : public Executor {
public:
  static Expected<std::unique_ptr<EnqueuedExecutor>>
  create(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
         Wiring wiring, const ExecutorOptions &options,
         std::shared_ptr<HostData> host);

  ~EnqueuedExecutor() override;

  Status submit(Section section, int64_t step) override {
    const Status status = ready(section, step);
    return status.ok() ? start() : status;
  }
  Status wait() override;

  // submit() in two: what the driver may want all that the process runs to end
  // for, then what does wait for others. Of several devices that meet each is
  // ready before one starts.
  /// Takes all that the section needs: memory, inputs, its graph.
  Status ready(Section section, int64_t step);
  /// Gives the section to the device.
  Status start();
  /// After a failure elsewhere: as if it had been here.
  void fail(const Status &status) { (void)keep(status); }

  bool hasEnded() override;
  unsigned stepsAhead() const override;
  bool isStuck() const override { return stuck; }
  int64_t timesError(uint32_t, Section section) const override {
    return timesErrors[size_t(section)];
  }
  LocalRank &rank(uint32_t index) const override {
    return *held->ranks[index - options.ranks.begin];
  }

private:
  static constexpr unsigned kTurns = kStepsAhead;

  struct Rank final : LocalRank {
    using LocalRank::LocalRank;

    uint64_t hostScalars = 0; ///< where in a turn's memory they are
  };

  /// A command with all that it takes.
  struct Step {
    Command command;
    std::vector<Task> tasks; ///< by part
    uint64_t host = 0;       ///< of a load or emit, where in a turn's memory
    /// Of a comm op whose members are all here, what they do; of others the
    /// parts that those here have.
    std::vector<std::unique_ptr<const Launch>> moves;
    std::vector<Ticket> tickets;
    std::unique_ptr<Event> begin, end;
  };

  struct SectionState {
    std::vector<Step> steps;
    std::vector<const Step *> loads, emits; ///< of `steps`
    bool isCaptured = false;
  };

  /// What a section has for itself while it is under way.
  struct Turn {
    std::unique_ptr<Memory> memory; ///< of the host; null before it is wanted
    std::unique_ptr<Event> done;
    std::unique_ptr<const Graph> graph; ///< of the body, with `memory`
    bool isTaken = false;
  };

  /// A section under way.
  struct UnderWay {
    Section section = Section::setup;
    int64_t number = 0; ///< of the step
    int64_t began = 0;
    Turn *turn = nullptr;
  };

  EnqueuedExecutor(std::shared_ptr<const ppx::ArtifactT> artifact,
                   const Mesh &mesh, Wiring wiring,
                   const ExecutorOptions &options,
                   std::shared_ptr<HostData> host);
  Status prepare();
  /// Whether bodies are, of all ranks.
  bool isCapturable() const;
  Status prepareSection(Section section, const Ranks &programs);
  /// By instruction of a rank, the step and the part of it that does it.
  using StepParts =
      std::map<std::pair<uint32_t, uint32_t>, std::pair<Step *, size_t>>;
  Status prepareCommOp(const CommOpHere &commOp, const StepParts &parts);
  Status bindMove(Step &step, const Move &move,
                  const std::vector<uint32_t> &members);
  Status makeEvents(SectionState &section);
  void layOutHost();

  // ready(), start() and wait(), of which keep() is told.
  Status makeReady(Section section, int64_t step);
  Status begin();
  Status end();
  /// A failure is that of all calls from then on, and of those elsewhere.
  Status keep(const Status &status);
  /// After one: leaves those that meet ranks of this device, and returns when
  /// nothing is at work here, or soon.
  void leave();
  /// A turn that is free, once nothing is under way if it is a new one.
  Expected<Turn *> takeTurn(const SectionState &section);
  Status load(const SectionState &section, const Turn &turn);
  Status record(const SectionState &section, Turn &turn);
  Status give(const SectionState &section, const Turn &turn);
  Status give(const SectionState &section, const Step &step, const Turn &turn);
  Status await(const SectionState &section, int64_t number, const Event &done);
  Status awaitLong(const SectionState &section, int64_t number,
                   const Event &done);
  /// Whether one more command has ended than the first `ended`.
  Expected<bool> hasMoved(const SectionState &section, size_t &ended) const;
  /// Whether one of those behind that is at work, and does not just wait.
  Expected<bool> computes(const SectionState &section, size_t ended) const;
  std::string describe(const SectionState &section, size_t ended) const;
  Status readTimes(Section section, int64_t began);
  void emit(const SectionState &section, const Turn &turn);

  /// What the device works with, which it may go on with after all else has
  /// gone.
  struct Held {
    std::shared_ptr<StreamDevice> device;
    std::shared_ptr<StreamTransport> transport;
    std::vector<std::unique_ptr<Rank>> ranks;
    Kernels kernels;
    SectionState sections[kSections.size()];
    std::array<Turn, kTurns> turns;
    std::vector<std::unique_ptr<Stream>> streams;
  };

  const std::shared_ptr<const ppx::ArtifactT> artifact;
  const Mesh mesh;
  const Wiring wiring;
  const ExecutorOptions options;
  const std::shared_ptr<HostData> host;
  StreamDevice &device;
  std::unique_ptr<Held> held = std::make_unique<Held>();
  uint64_t hostBytes = 0;        ///< of a turn
  UnderWay next;                 ///< what is ready
  std::deque<UnderWay> underWay; ///< the oldest first
  int64_t timesErrors[kSections.size()] = {};
  Status failure;
  bool stuck = false;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_ENQUEUEDEXECUTOR_H

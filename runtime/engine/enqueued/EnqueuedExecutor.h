//===- EnqueuedExecutor.h - gives streams a section at once -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a checked artifact, the ranks of this process, and a device whose streams
// run asynchronously to the host. Out: its sections, each given to the streams
// in one go, with events where a command waits for another stream; then the
// host waits for the end. Host memory holds loaded data before a section, and
// emitted data after it.
//
// A recorded step is given to the device once, and played from then on. Other
// steps have instruction times. The next recorded step may be given while one
// is under way, so that the device need not wait for the host. Each then has
// its own host memory, and a graph with its addresses.
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

/// The devices of a process as one executor sees them.
struct Wiring {
  /// Must have loaded the artifact.
  std::shared_ptr<StreamDevice> device;
  /// Transport to ranks elsewhere, which must be connected before the first
  /// section is run; null if there are none.
  std::shared_ptr<StreamTransport> transport;
  /// Shared with the executors of the process's other devices, and this one's
  /// index among them.
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

  // submit() in two parts: first the calls for which the driver may wait until
  // the process's devices are idle, then those that wait for other ranks. All
  // devices that meet must be ready before one starts.
  /// Acquires all that the section needs: memory, inputs, its graph.
  Status ready(Section section, int64_t step);
  /// Gives the section to the device.
  Status start();
  /// Fails as after a failure elsewhere.
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

    uint64_t hostScalars = 0; ///< offset in a turn's memory
  };

  /// A command with its operands.
  struct Step {
    Command command;
    std::vector<Task> tasks; ///< by part
    uint64_t host = 0;       ///< of a load or emit: offset in a turn's memory
    /// Launches of a comm op whose members are all here; tickets of the members
    /// here for other comm ops.
    std::vector<std::unique_ptr<const Launch>> moves;
    std::vector<Ticket> tickets;
    std::unique_ptr<Event> begin, end;
  };

  struct SectionState {
    std::vector<Step> steps;
    std::vector<const Step *> loads, emits; ///< subsets of `steps`
    bool isCaptured = false;
  };

  /// Resources of a section under way.
  struct Turn {
    std::unique_ptr<Memory> memory; ///< host memory; null before its first use
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
  /// Whether the bodies of all ranks can be recorded.
  bool isCapturable() const;
  Status prepareSection(Section section, const Ranks &programs);
  /// By instruction of a rank, the step, and its part, that execute it.
  using StepParts =
      std::map<std::pair<uint32_t, uint32_t>, std::pair<Step *, size_t>>;
  Status prepareCommOp(const CommOpHere &commOp, const StepParts &parts);
  Status bindMove(Step &step, const Move &move,
                  const std::vector<uint32_t> &members);
  Status makeEvents(SectionState &section);
  void layOutHost();

  // Bodies of ready(), start() and wait(), which pass their result to keep().
  Status makeReady(Section section, int64_t step);
  Status begin();
  Status end();
  /// Stores a failure: all later calls return it, here and in other processes.
  Status keep(const Status &status);
  /// After a failure: leaves comm ops that ranks of this device are in, and
  /// returns when nothing is at work here, or soon.
  void leave();
  /// Returns a free turn; if it is a new one, waits until nothing is under way.
  Expected<Turn *> takeTurn(const SectionState &section);
  Status load(const SectionState &section, const Turn &turn);
  Status record(const SectionState &section, Turn &turn);
  Status give(const SectionState &section, const Turn &turn);
  Status give(const SectionState &section, const Step &step, const Turn &turn);
  Status await(const SectionState &section, int64_t number, const Event &done);
  Status awaitLong(const SectionState &section, int64_t number,
                   const Event &done);
  /// Updates `ended`, how many commands have ended. Returns whether it has
  /// grown.
  Expected<bool> hasMoved(const SectionState &section, size_t &ended) const;
  /// Whether one of the commands behind is at work, and does not just wait.
  Expected<bool> computes(const SectionState &section, size_t ended) const;
  std::string describe(const SectionState &section, size_t ended) const;
  Status readTimes(Section section, int64_t began);
  void emit(const SectionState &section, const Turn &turn);

  /// Objects that the device uses, possibly after everything else has been
  /// destroyed.
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
  uint64_t hostBytes = 0;        ///< size of a turn's memory
  UnderWay next;                 ///< made ready, not started
  std::deque<UnderWay> underWay; ///< the oldest first
  int64_t timesErrors[kSections.size()] = {};
  Status failure;
  bool stuck = false;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_ENQUEUEDEXECUTOR_H

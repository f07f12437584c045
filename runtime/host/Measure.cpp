//===- Measure.cpp - what a run measured ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Measure.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <limits>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

namespace {

const char *categoryOf(const ppx::InstructionT &instruction) {
  switch (instruction.opcode) {
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
  case ppx::Opcode_collective:
    return "communication";
  case ppx::Opcode_run:
  case ppx::Opcode_gate:
    return ppx::EnumNamePhase(instruction.phase);
  default:
    return "host";
  }
}

/// Returns the times of the body's last run, by rank.
std::vector<std::vector<InstructionTime>> timesOf(const Session &session) {
  std::vector<std::vector<InstructionTime>> times;
  for (uint32_t rank = 0; rank < session.mesh().worldSize(); ++rank)
    times.push_back(session.times(rank, Section::body));
  return times;
}

int64_t firstBegin(const std::vector<std::vector<InstructionTime>> &times) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const std::vector<InstructionTime> &rank : times)
    for (const InstructionTime &time : rank)
      first = std::min(first, time.begin);
  return first;
}

Timeline since(int64_t origin,
               const std::vector<std::vector<InstructionTime>> &times) {
  Timeline timeline(times.size());
  for (size_t rank = 0; rank < times.size(); ++rank)
    for (const InstructionTime &time : times[rank])
      timeline[rank].push_back(
          {double(time.begin - origin) / 1e9, double(time.end - origin) / 1e9});
  return timeline;
}

/// Whether the last step ran to its end, and was not a recording.
bool hasTimes(const Session &session) {
  const std::vector<InstructionTime> &times = session.times(0, Section::body);
  return !times.empty() && times.back().end != 0;
}

/// Returns the last step, in seconds from its first instruction.
Timeline lastStep(const Session &session) {
  const auto times = timesOf(session);
  return since(firstBegin(times), times);
}

/// Returns the send and the receive of a transfer; nothing for a collective.
std::pair<std::optional<Place>, std::optional<Place>>
orderTransfer(const Players &players, const std::vector<Place> &commOp) {
  std::pair<std::optional<Place>, std::optional<Place>> result;
  for (Place place : commOp) {
    const ppx::Opcode opcode = players.instruction(place)->opcode;
    if (opcode == ppx::Opcode_send)
      result.first = place;
    if (opcode == ppx::Opcode_recv)
      result.second = place;
  }
  return result;
}

} // namespace

std::optional<MeasuredStep> pprt::host::measuredStep(const Session &session) {
  if (session.isStuck() || !hasTimes(session))
    return std::nullopt;
  if (!session.oversubscribed())
    return MeasuredStep{lastStep(session), /*isReplayed=*/false};
  std::optional<Timeline> timeline = replay(
      Players::ranks(session.artifact(), session.mesh()), [&](Place place) {
        const InstructionTime &time =
            session.times(place.player, Section::body)[place.index];
        return double(time.cpu) / 1e9;
      });
  if (!timeline)
    return std::nullopt;
  return MeasuredStep{std::move(*timeline), /*isReplayed=*/true};
}

void pprt::host::measure(const Session &session, Report &report) {
  report.device = session.device();
  report.threadsPerRank = session.threadsPerRank();
  report.world = session.mesh().worldSize();
  report.itemsPerStep = session.artifact().items_per_step;
  // Without a prediction, reports the arenas as they are.
  if (report.memory.empty()) {
    report.memory.resize(report.world);
    for (const auto &program : session.artifact().programs)
      for (uint32_t rank : program->ranks)
        report.memory[rank] = {
            rank, memoryOf(session.artifact(), *program), {}};
  }
  report.isOversubscribed = session.oversubscribed();
  if (session.isStuck())
    return;
  report.deviceMemory = session.deviceMemory();
  report.unfusedProducts = session.unfusedProducts();
  for (MemoryReport &memory : report.memory)
    if (const uint64_t peak = session.measuredPeakBytes(memory.rank))
      memory.measuredPeak = peak;
  report.clockError = session.clockError();
  const std::optional<MeasuredStep> step =
      report.steps.empty() ? std::nullopt : measuredStep(session);
  if (!step)
    return;
  const Players players = Players::ranks(session.artifact(), session.mesh());
  report.times.measuredOf = timesOfPlayers(players, step->timeline);
  report.times.measured = meanTimes(players, report.times.measuredOf);
}

uint64_t pprt::host::residentBytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  char text[128];
  const ssize_t count = read(file, text, sizeof(text) - 1);
  close(file);
  text[std::max<ssize_t>(count, 0)] = 0;
  // Pages: the whole address space, then those in memory.
  unsigned long long whole = 0, resident = 0;
  return std::sscanf(text, "%llu %llu", &whole, &resident) == 2
             ? resident * uint64_t(sysconf(_SC_PAGESIZE))
             : 0;
}

/// Returns the time from the first begin to the last end.
static Span wholeOf(const Timeline &timeline) {
  Span whole = {std::numeric_limits<double>::max(), 0};
  for (const std::vector<Span> &rank : timeline)
    for (const Span &span : rank)
      whole = {std::min(whole.begin, span.begin),
               std::max(whole.end, span.end)};
  return whole;
}

/// Adds rows of what saves did up to `end`, in seconds from `origin`: how long
/// steps waited for them, and how long they wrote beside the steps.
static void addSaves(Trace &trace, uint32_t process, int64_t origin, double end,
                     const std::vector<CheckpointReport> &saves) {
  const size_t waits = trace.tracks.size(), writes = waits + 1;
  const auto add = [&](size_t track, const std::string &name,
                       const std::string &category, double from, double to) {
    from = std::max(from, 0.);
    to = std::min(to, end);
    if (from < to)
      trace.slices.push_back(
          {track, name, category, 1e6 * from, 1e6 * (to - from), ""});
  };
  const size_t before = trace.slices.size();
  for (const CheckpointReport &save : saves) {
    const double begin = double(save.begin - origin) / 1e9,
                 copied = begin + save.waitMs / 1e3;
    const std::string step = "step " + std::to_string(save.step);
    add(waits, "wait for the copy of " + step, "host", begin, copied);
    if (save.wholeMs)
      add(writes, "write " + step, "host", copied, begin + *save.wholeMs / 1e3);
  }
  if (trace.slices.size() == before)
    return;
  trace.tracks.push_back({process, "checkpoints", 0, "steps wait"});
  trace.tracks.push_back({process, "checkpoints", 1, "writes"});
}

/// Returns the first track of each rank. Ranks are threads on "cpu".
static std::vector<size_t> addTracks(Trace &trace, const Players &players,
                                     const ppx::ArtifactT &artifact,
                                     const std::string &device) {
  trace.device = device;
  trace.model = artifact.model;
  trace.plan = artifact.plan;
  const std::string where = device == "cpu" ? "" : " on " + device;
  std::vector<size_t> firstTrack;
  for (uint32_t rank = 0; rank < players.size(); ++rank) {
    const ppx::ProgramT &program = players.program(rank);
    firstTrack.push_back(trace.tracks.size());
    for (uint32_t queue = 0; queue < program.queues.size(); ++queue)
      trace.tracks.push_back({rank, "rank " + std::to_string(rank) + where,
                              queue, program.queues[queue]->name});
  }
  return firstTrack;
}

/// `shared`: the times of ranks that share cores; null if none do.
static void addStep(Trace &trace, const std::vector<size_t> &firstTrack,
                    const Players &players,
                    const std::vector<std::vector<Place>> &commOps,
                    const ppx::ArtifactT &artifact, const Timeline &timeline,
                    const std::vector<std::vector<InstructionTime>> *shared) {
  std::vector<size_t> firstSlice;
  for (uint32_t rank = 0; rank < players.size(); ++rank) {
    const InstructionList &body = players.body(rank);
    firstSlice.push_back(trace.slices.size());
    for (size_t i = 0; i < body.size(); ++i) {
      const pprt::Instruction instruction = body[i];
      TraceSlice slice;
      slice.track = firstTrack[rank] + instruction->queue;
      slice.name = instructionName(instruction);
      slice.detail = instruction->location;
      const bool isRun = instruction->opcode == ppx::Opcode_run;
      const bool isKernel = isRun || instruction->opcode == ppx::Opcode_gate;
      // Viewers colour by name: each kernel has its own.
      if (isKernel)
        slice.name = actionName(instruction) + ' ' +
                     artifact.kernels[instruction->kernel]->name;
      // A gate may have been closed.
      if (isRun) {
        slice.flops = artifact.kernels[instruction->kernel]->flops;
        slice.bytes = artifact.kernels[instruction->kernel]->bytes;
      }
      slice.category = categoryOf(*instruction);
      const Span &span = timeline[rank][i];
      slice.start = 1e6 * span.begin;
      slice.duration = 1e6 * (span.end - span.begin);
      if (shared && isKernel)
        slice.processor = double((*shared)[rank][i].cpu) / 1e3;
      trace.slices.push_back(slice);
    }
  }
  for (const std::vector<Place> &commOp : commOps)
    if (const auto [from, to] = orderTransfer(players, commOp); from && to)
      trace.arrows.push_back({firstSlice[from->player] + from->index,
                              firstSlice[to->player] + to->index});
}

static Trace
traceStep(const Players &players, const ppx::ArtifactT &artifact,
          const Timeline &timeline, const std::string &device,
          const std::vector<std::vector<InstructionTime>> *shared) {
  Trace trace;
  const std::vector<size_t> firstTrack =
      addTracks(trace, players, artifact, device);
  addStep(trace, firstTrack, players, players.findCommOps(), artifact, timeline,
          shared);
  return trace;
}

Trace pprt::host::makeTrace(const Players &players,
                            const ppx::ArtifactT &artifact,
                            const Timeline &timeline,
                            const std::string &device) {
  return traceStep(players, artifact, timeline, device, /*shared=*/nullptr);
}

Trace pprt::host::traceLastStep(const Session &session,
                                const std::vector<CheckpointReport> &saves) {
  if (session.isStuck() || !hasTimes(session))
    return {}; // no step was made, or it did not end
  const Players players = Players::ranks(session.artifact(), session.mesh());
  const auto times = timesOf(session);
  const Timeline timeline = since(firstBegin(times), times);
  Trace trace =
      traceStep(players, session.artifact(), timeline, session.device(),
                session.oversubscribed() ? &times : nullptr);
  addSaves(trace, uint32_t(players.size()), firstBegin(times),
           wholeOf(timeline).end, saves);
  return trace;
}

void LastSteps::add(const Session &session, uint64_t step) {
  if (steps.size() == most)
    steps.pop_front();
  steps.push_back({step, timesOf(session), session.clockError()});
}

double LastSteps::clockError() const {
  double most = 0;
  for (const Step &step : steps)
    most = std::max(most, step.clockError);
  return most;
}

Trace LastSteps::trace(const Session &session,
                       const std::vector<CheckpointReport> &saves) const {
  Trace trace;
  if (steps.empty())
    return trace;
  const Players players = Players::ranks(session.artifact(), session.mesh());
  const std::vector<std::vector<Place>> commOps = players.findCommOps();
  const std::vector<size_t> firstTrack =
      addTracks(trace, players, session.artifact(), session.device());
  const size_t stepTrack = trace.tracks.size();
  trace.tracks.push_back({uint32_t(players.size()), "steps", 0, "steps"});
  const int64_t origin = firstBegin(steps.front().times);
  double end = 0;
  for (const Step &step : steps) {
    const Timeline timeline = since(origin, step.times);
    const Span whole = wholeOf(timeline);
    trace.slices.push_back({stepTrack, "step " + std::to_string(step.number),
                            "step", 1e6 * whole.begin,
                            1e6 * (whole.end - whole.begin), ""});
    addStep(trace, firstTrack, players, commOps, session.artifact(), timeline,
            session.oversubscribed() ? &step.times : nullptr);
    end = whole.end;
  }
  addSaves(trace, uint32_t(players.size()) + 1, origin, end, saves);
  return trace;
}

//===- Measure.cpp - what a run measured ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Measure.h"
#include "pprt/Program.h"

#include <algorithm>
#include <limits>

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

/// The last step, in seconds from its first instruction.
Timeline lastStep(const Session &session) {
  int64_t origin = std::numeric_limits<int64_t>::max();
  const uint32_t world = session.mesh().worldSize();
  for (uint32_t rank = 0; rank < world; ++rank)
    for (const InstructionTime &time : session.times(rank, Section::body))
      origin = std::min(origin, time.begin);
  Timeline timeline(world);
  for (uint32_t rank = 0; rank < world; ++rank)
    for (const InstructionTime &time : session.times(rank, Section::body))
      timeline[rank].push_back(
          {double(time.begin - origin) / 1e9, double(time.end - origin) / 1e9});
  return timeline;
}

/// Of the last step as it was; or, if the ranks shared cores, as it would have
/// been with a core for each.
void measureTimes(const Session &session, Report &report) {
  const Players players = Players::ranks(session.artifact(), session.mesh());
  std::optional<Timeline> timeline;
  if (!session.oversubscribed())
    timeline = lastStep(session);
  else
    timeline = replay(players, [&](Place place) {
      const InstructionTime &time =
          session.times(place.player, Section::body)[place.index];
      return double(time.cpu) / 1e9;
    });
  report.bubble.measured = timeline ? idleShare(players, *timeline) : 0;
  if (timeline)
    report.travel.measured = travelTime(players, *timeline);
}

/// The send and the receive of a transfer; nothing for a collective.
std::pair<std::optional<Place>, std::optional<Place>>
orderTransfer(const Players &players, const std::vector<Place> &meeting) {
  std::pair<std::optional<Place>, std::optional<Place>> result;
  for (Place place : meeting) {
    const ppx::Opcode opcode = players.instruction(place).opcode;
    if (opcode == ppx::Opcode_send)
      result.first = place;
    if (opcode == ppx::Opcode_recv)
      result.second = place;
  }
  return result;
}

} // namespace

void pprt::host::measure(const Session &session, Report &report) {
  report.isOversubscribed = session.oversubscribed();
  if (session.isStuck())
    return;
  for (MemoryReport &memory : report.memory)
    memory.measuredPeak = session.measuredPeakBytes(memory.rank);
  if (!report.steps.empty())
    measureTimes(session, report);
}

Trace pprt::host::traceLastStep(const Session &session) {
  if (session.isStuck() || session.times(0, Section::body).empty())
    return {}; // no step was made, or not to its end
  return makeTrace(Players::ranks(session.artifact(), session.mesh()),
                   session.artifact(), lastStep(session));
}

Trace pprt::host::makeTrace(const Players &players,
                            const ppx::ArtifactT &artifact,
                            const Timeline &timeline) {
  Trace trace;
  std::vector<size_t> firstSlice;
  for (uint32_t rank = 0; rank < players.size(); ++rank) {
    const ppx::ProgramT &program = players.program(rank);
    const size_t firstTrack = trace.tracks.size();
    firstSlice.push_back(trace.slices.size());
    for (uint32_t queue = 0; queue < program.queues.size(); ++queue)
      trace.tracks.push_back({rank, "rank " + std::to_string(rank), queue,
                              program.queues[queue]->name});
    for (size_t i = 0; i < program.body.size(); ++i) {
      const ppx::InstructionT &instruction = *program.body[i];
      TraceSlice slice;
      slice.track = firstTrack + instruction.queue;
      slice.name = instructionName(instruction);
      const bool isRun = instruction.opcode == ppx::Opcode_run;
      if (isRun || instruction.opcode == ppx::Opcode_gate)
        slice.detail = artifact.kernels[instruction.kernel]->name;
      // A gate may have been closed.
      if (isRun) {
        slice.flops = artifact.kernels[instruction.kernel]->flops;
        slice.bytes = artifact.kernels[instruction.kernel]->bytes;
      }
      slice.category = categoryOf(instruction);
      const Span &span = timeline[rank][i];
      slice.start = 1e6 * span.begin;
      slice.duration = 1e6 * (span.end - span.begin);
      trace.slices.push_back(slice);
    }
  }
  for (const std::vector<Place> &meeting : players.findMeetings())
    if (const auto [from, to] = orderTransfer(players, meeting); from && to)
      trace.arrows.push_back({firstSlice[from->player] + from->index,
                              firstSlice[to->player] + to->index});
  return trace;
}

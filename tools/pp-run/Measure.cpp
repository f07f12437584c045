//===- Measure.cpp - what a session measured ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "Replay.h"

#include <algorithm>
#include <limits>

using namespace pp::run;
using namespace pprt;

namespace {

/// The first and last instruction of a body that touch a slot.
struct Life {
  size_t first = std::numeric_limits<size_t>::max(), last = 0;
  void touch(size_t index) {
    first = std::min(first, index);
    last = std::max(last, index);
  }
};

uint64_t &columnOf(ppx::SlotClass slotClass, MemoryReport &report) {
  switch (slotClass) {
  case ppx::SlotClass_parameter:
    return report.parameters;
  case ppx::SlotClass_optimizer:
    return report.optimizer;
  case ppx::SlotClass_gradient:
    return report.gradients;
  case ppx::SlotClass_activation:
  case ppx::SlotClass_input:
    return report.activations;
  case ppx::SlotClass_workspace:
    return report.workspace;
  case ppx::SlotClass_communication:
    break;
  }
  return report.communication;
}

/// The slots that live at the instruction of the body that needs the most.
void addPeakColumns(const ppx::ProgramT &program, MemoryReport &report) {
  std::vector<Life> lives(program.slots.size());
  for (size_t i = 0; i < program.body.size(); ++i)
    for (uint32_t slot : program.body[i]->arguments)
      lives[slot].touch(i);
  std::vector<int64_t> change(program.body.size() + 1);
  for (size_t slot = 0; slot < lives.size(); ++slot) {
    const ppx::SlotClass slotClass = program.slots[slot]->slot_class;
    // What is at rest between steps lives through all of the body.
    if (slotClass == ppx::SlotClass_parameter ||
        slotClass == ppx::SlotClass_optimizer)
      lives[slot] = {0, program.body.size() - 1};
    if (lives[slot].first > lives[slot].last)
      continue;
    change[lives[slot].first] += int64_t(program.slots[slot]->bytes);
    change[lives[slot].last + 1] -= int64_t(program.slots[slot]->bytes);
  }
  int64_t live = 0, most = -1;
  size_t peak = 0;
  for (size_t i = 0; i < program.body.size(); ++i)
    if ((live += change[i]) > most) {
      most = live;
      peak = i;
    }
  for (size_t slot = 0; slot < lives.size(); ++slot)
    if (lives[slot].first <= peak && peak <= lives[slot].last)
      columnOf(program.slots[slot]->slot_class, report) +=
          program.slots[slot]->bytes;
}

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

/// Seconds per operation and per byte of this run's kernels: the machine that
/// predictions are made for.
struct Rates {
  double perFlop = 0, perByte = 0;
};

bool isContraction(const ppx::KernelT &kernel) {
  return kernel.body.type == ppx::KernelBody_Contraction;
}

const ppx::KernelT *kernelOf(const ppx::ArtifactT &artifact,
                             const ppx::InstructionT &instruction) {
  const bool hasKernel = instruction.opcode == ppx::Opcode_run ||
                         instruction.opcode == ppx::Opcode_gate;
  return hasKernel ? artifact.kernels[instruction.kernel].get() : nullptr;
}

Rates calibrate(const Session &session) {
  double flops = 0, contractionTime = 0, bytes = 0, loopTime = 0;
  for (uint32_t rank = 0; rank < session.mesh().worldSize(); ++rank) {
    const InstructionList &body = programOf(session.artifact(), rank).body;
    const std::vector<InstructionTime> &times =
        session.times(rank, Section::body);
    for (size_t i = 0; i < body.size(); ++i)
      if (const ppx::KernelT *kernel = kernelOf(session.artifact(), *body[i])) {
        (isContraction(*kernel) ? flops : bytes) +=
            isContraction(*kernel) ? kernel->flops : kernel->bytes;
        (isContraction(*kernel) ? contractionTime : loopTime) +=
            double(times[i].cpu);
      }
  }
  return {flops > 0 ? contractionTime / flops : 0,
          bytes > 0 ? loopTime / bytes : 0};
}

/// Predicted: kernels take what their operations and bytes cost at the run's
/// average rates, communication nothing. Measured: the last step as it was, or,
/// if the ranks shared cores, as it would have been with a core for each.
BubbleReport measureBubble(const Session &session) {
  const ppx::ArtifactT &artifact = session.artifact();
  const Rates rates = calibrate(session);
  auto predicted = [&](Place place) {
    const ppx::KernelT *kernel =
        kernelOf(artifact, *programOf(artifact, place.rank).body[place.index]);
    if (!kernel)
      return 0.0;
    return isContraction(*kernel) ? kernel->flops * rates.perFlop
                                  : kernel->bytes * rates.perByte;
  };
  auto processorTime = [&](Place place) {
    return double(session.times(place.rank, Section::body)[place.index].cpu);
  };
  BubbleReport bubble;
  bubble.predicted =
      idleShare(artifact, replay(artifact, session.mesh(), predicted));
  if (session.oversubscribed()) {
    bubble.measured =
        idleShare(artifact, replay(artifact, session.mesh(), processorTime));
    return bubble;
  }
  Timeline measured;
  for (uint32_t rank = 0; rank < session.mesh().worldSize(); ++rank) {
    measured.emplace_back();
    for (const InstructionTime &time : session.times(rank, Section::body))
      measured.back().push_back({double(time.begin), double(time.end)});
  }
  bubble.measured = idleShare(artifact, measured);
  return bubble;
}

/// The send and the receive of a transfer; nothing for a collective.
std::pair<std::optional<Place>, std::optional<Place>>
orderTransfer(const ppx::ArtifactT &artifact,
              const std::vector<Place> &meeting) {
  std::pair<std::optional<Place>, std::optional<Place>> result;
  for (Place place : meeting) {
    const ppx::Opcode opcode =
        programOf(artifact, place.rank).body[place.index]->opcode;
    if (opcode == ppx::Opcode_send)
      result.first = place;
    if (opcode == ppx::Opcode_recv)
      result.second = place;
  }
  return result;
}

} // namespace

void pp::run::measure(const Session &session, Report &report) {
  report.world = session.mesh().worldSize();
  report.isOversubscribed = session.oversubscribed();
  report.itemsPerStep = session.artifact().items_per_step;
  for (uint32_t rank = 0; rank < report.world; ++rank) {
    const ppx::ProgramT &program = programOf(session.artifact(), rank);
    MemoryReport memory;
    memory.rank = rank;
    memory.predictedPeak = program.arena_bytes;
    memory.measuredPeak = session.measuredPeakBytes(rank);
    addPeakColumns(program, memory);
    report.memory.push_back(memory);

    CommunicationReport communication;
    communication.rank = rank;
    const auto kinds = session.communication(rank);
    for (unsigned kind = 0; kind < kCommunicationKinds; ++kind)
      if (kinds[kind].count != 0)
        communication.kinds[communicationName(CommunicationKind(kind))] = {
            kinds[kind].count, kinds[kind].bytes,
            double(kinds[kind].wireBytes)};
    report.communication.push_back(communication);
  }
  if (!report.steps.empty())
    report.bubble = measureBubble(session);
}

Trace pp::run::traceLastStep(const Session &session) {
  Trace trace;
  if (session.times(0, Section::body).empty())
    return trace; // no step was made
  int64_t origin = std::numeric_limits<int64_t>::max();
  const uint32_t world = session.mesh().worldSize();
  std::vector<size_t> firstSlice;
  for (uint32_t rank = 0; rank < world; ++rank)
    for (const InstructionTime &time : session.times(rank, Section::body))
      origin = std::min(origin, time.begin);
  for (uint32_t rank = 0; rank < world; ++rank) {
    const ppx::ProgramT &program = programOf(session.artifact(), rank);
    const size_t firstTrack = trace.tracks.size();
    firstSlice.push_back(trace.slices.size());
    for (uint32_t queue = 0; queue < program.queues.size(); ++queue)
      trace.tracks.push_back({rank, "rank " + std::to_string(rank), queue,
                              program.queues[queue]->name});
    const std::vector<InstructionTime> &times =
        session.times(rank, Section::body);
    for (size_t i = 0; i < program.body.size(); ++i) {
      const ppx::InstructionT &instruction = *program.body[i];
      TraceSlice slice;
      slice.track = firstTrack + instruction.queue;
      slice.name = instructionName(instruction);
      if (instruction.opcode == ppx::Opcode_run ||
          instruction.opcode == ppx::Opcode_gate)
        slice.detail = session.artifact().kernels[instruction.kernel]->name;
      slice.category = categoryOf(instruction);
      slice.start = double(times[i].begin - origin) / 1e3;
      slice.duration = double(times[i].end - times[i].begin) / 1e3;
      trace.slices.push_back(slice);
    }
  }
  for (const std::vector<Place> &meeting :
       findMeetings(session.artifact(), session.mesh()))
    if (const auto [from, to] = orderTransfer(session.artifact(), meeting);
        from && to)
      trace.arrows.push_back({firstSlice[from->rank] + from->index,
                              firstSlice[to->rank] + to->index});
  return trace;
}

//===- EnqueuedExecutor.cpp - gives streams a section at once -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "EnqueuedExecutor.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace pprt;
using namespace pprt::enqueued;

/// Time that a failed section may take to end.
static constexpr std::chrono::seconds kLeaving(2);
/// Error of an event's time: nanoseconds, and one of a float's digits.
static constexpr int64_t kEventError = 500, kEventDigits = 1 << 23;

EnqueuedExecutor::EnqueuedExecutor(
    std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
    Wiring given, const ExecutorOptions &options,
    std::shared_ptr<HostData> host)
    : artifact(std::move(artifact)), mesh(mesh), wiring(std::move(given)),
      options(options), host(std::move(host)), device(*wiring.device) {
  held->device = wiring.device;
  held->transport = wiring.transport;
}

Expected<std::unique_ptr<EnqueuedExecutor>>
EnqueuedExecutor::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                         const Mesh &mesh, Wiring wiring,
                         const ExecutorOptions &options,
                         std::shared_ptr<HostData> host) {
  std::unique_ptr<EnqueuedExecutor> executor(new EnqueuedExecutor(
      std::move(artifact), mesh, std::move(wiring), options, std::move(host)));
  if (Status status = executor->prepare(); !status.ok())
    return status;
  return executor;
}

EnqueuedExecutor::~EnqueuedExecutor() {
  // A failure that no call has returned yet.
  if (failure.ok() && wiring.transport)
    (void)keep(wiring.transport->poll());
  // The device may use this memory until the process ends.
  if (stuck)
    (void)held.release();
  else if (device.makeCurrent().ok())
    device.drain();
}

//===----------------------------------------------------------------------===//
// Before the first section
//===----------------------------------------------------------------------===//

Status EnqueuedExecutor::prepare() {
  if (Status status = device.makeCurrent(); !status.ok())
    return status;
  Expected<Kernels> prepared = prepareKernels(*artifact, device);
  if (!prepared)
    return prepared.status();
  held->kernels = std::move(*prepared);
  if (wiring.transport)
    wiring.transport->limit(options.limits.hangSeconds,
                            options.limits.isInterrupted);
  const Ranks programs(*artifact, mesh);
  auto ranks = makeRanks<Rank>(
      programs, options.ranks,
      wiring.transport ? wiring.transport->model() : TransportModel(), device);
  if (!ranks)
    return ranks.status();
  held->ranks = std::move(*ranks);
  for (Section section : kSections)
    if (Status status = prepareSection(section, programs); !status.ok())
      return status;
  layOutHost();
  return {};
}

/// Ranks that meet must all record, or none (NCCL), so this includes the ranks
/// of other devices.
bool EnqueuedExecutor::isCapturable() const {
  for (const std::unique_ptr<ppx::ProgramT> &program : artifact->programs)
    for (const Instruction its : InstructionList(*program, Section::body)) {
      const bool isGate = its->opcode == ppx::Opcode_gate;
      if ((isGate || its->opcode == ppx::Opcode_run) &&
          !device.isCapturable(*artifact->kernels[its->kernel], isGate))
        return false;
    }
  return true;
}

Status EnqueuedExecutor::prepareSection(Section which, const Ranks &programs) {
  Commands commands(programs, options.ranks, which);
  while (held->streams.size() < commands.meets.size()) {
    Expected<std::unique_ptr<Stream>> stream =
        device.makeStream(commands.meets[held->streams.size()]);
    if (!stream)
      return stream.status();
    held->streams.push_back(std::move(*stream));
  }
  SectionState &section = held->sections[size_t(which)];
  section.isCaptured =
      options.records && which == Section::body && isCapturable();
  for (Command &command : commands.list) {
    Step step;
    for (const InstructionRef &part : command.parts)
      step.tasks.push_back(rank(part.rank).makeTask(programs.instruction(part),
                                                    held->kernels, device));
    step.command = std::move(command);
    section.steps.push_back(std::move(step));
  }
  StepParts stepParts;
  for (Step &step : section.steps)
    for (size_t part = 0; part < step.command.parts.size(); ++part)
      stepParts[{step.command.parts[part].rank,
                 step.command.parts[part].index}] = {&step, part};
  const Status status = forEachCommOp(programs, options.ranks, which,
                                      [&](const CommOpHere &commOp) {
                                        return prepareCommOp(commOp, stepParts);
                                      });
  return status.ok() ? makeEvents(section) : status;
}

/// Finds the moves of the members.
Status EnqueuedExecutor::prepareCommOp(const CommOpHere &its,
                                       const StepParts &stepParts) {
  const auto partOf = [&](uint32_t member) {
    return stepParts.at({its.ranks[member], its.index(member)});
  };
  if (its.isWithin(options.ranks)) {
    for (const Move &move : its.moves())
      if (Status status = bindMove(*partOf(0).first, move, its.ranks);
          !status.ok())
        return status;
    return {};
  }
  const Participant all = its.participant();
  for (uint32_t member = 0; member < its.ranks.size(); ++member) {
    if (!options.ranks.contains(its.ranks[member]))
      continue;
    const auto [step, part] = partOf(member);
    const Expected<Ticket> ticket = wiring.transport->prepare(
        rank(its.ranks[member]).take(all, member, step->tasks[part]));
    if (!ticket)
      return ticket.status();
    step->tickets.push_back(*ticket);
  }
  return {};
}

Status EnqueuedExecutor::bindMove(Step &step, const Move &move,
                                  const std::vector<uint32_t> &members) {
  const auto taskOf = [&](uint32_t member) -> const Task & {
    size_t part = 0;
    while (step.command.parts[part].rank != members[member])
      ++part;
    return step.tasks[part];
  };
  const uint64_t width = elementSize(move.element);
  BoundMove bound = {move.region, move.element, move.reduction, {}, {}};
  for (const Part &part : move.sources)
    bound.sources.push_back(taskOf(part.member).arguments[part.operand] +
                            part.offset * width);
  for (const Part &part : move.targets) {
    const Task &task = taskOf(part.member);
    bound.targets.push_back(task.arguments[task.inputCount() + part.operand] +
                            part.offset * width);
  }
  Expected<std::unique_ptr<const Launch>> launch = device.bindMove(bound);
  if (!launch)
    return launch.status();
  step.moves.push_back(std::move(*launch));
  return {};
}

/// Recorded sections have only events that are waited for; the others have all
/// of them, for times.
Status EnqueuedExecutor::makeEvents(SectionState &section) {
  const bool isTimed = !section.isCaptured;
  for (Step &step : section.steps) {
    const std::pair<std::unique_ptr<Event> *, bool> wanted[] = {
        {&step.begin, isTimed}, {&step.end, isTimed || step.command.isAwaited}};
    for (const auto &[event, isWanted] : wanted) {
      if (!isWanted)
        continue;
      Expected<std::unique_ptr<Event>> made = device.makeEvent(isTimed);
      if (!made)
        return made.status();
      *event = std::move(*made);
    }
  }
  return {};
}

/// Assigns each load and emit a place in a turn's memory, and each rank one for
/// its scalars.
void EnqueuedExecutor::layOutHost() {
  const auto reserve = [&](uint64_t size) {
    const uint64_t begin = hostBytes;
    hostBytes += hostPlace(size);
    return begin;
  };
  for (std::unique_ptr<Rank> &rank : held->ranks)
    rank->hostScalars = reserve(rank->scalars.bytes());
  for (SectionState &section : held->sections)
    for (Step &step : section.steps)
      for (const Task &task : step.tasks) {
        const ppx::Opcode opcode = task.instruction->opcode;
        const bool loads = opcode == ppx::Opcode_load;
        if (!loads && opcode != ppx::Opcode_emit)
          continue;
        step.host = reserve(task.bytes());
        (loads ? section.loads : section.emits).push_back(&step);
      }
}

//===----------------------------------------------------------------------===//
// A section
//===----------------------------------------------------------------------===//

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// wait() reports a failure: another query need not fail again.
bool EnqueuedExecutor::hasEnded() {
  if (!failure.ok() || underWay.empty())
    return true;
  const Status entered = device.makeCurrent();
  const Expected<bool> isComplete =
      entered.ok() ? device.query(*underWay.front().turn->done) : entered;
  return isComplete ? *isComplete : !keep(isComplete.status()).ok();
}

/// Times need steps one after the other: each event holds one time.
unsigned EnqueuedExecutor::stepsAhead() const {
  return held->sections[size_t(Section::body)].isCaptured ? kTurns : 1;
}

/// Makes the second turn on demand: callers that wait for each step never need
/// it.
Expected<EnqueuedExecutor::Turn *>
EnqueuedExecutor::takeTurn(const SectionState &section) {
  Turn *turn = held->turns.data();
  while (turn->isTaken)
    ++turn;
  // Calls that allocate and record may wait for the device themselves, and
  // would then not notice failures of other processes.
  const bool isNew = !turn->memory || (section.isCaptured && !turn->graph);
  if (const UnderWay *last = underWay.empty() ? nullptr : &underWay.back();
      last && isNew)
    if (Status status = await(held->sections[size_t(last->section)],
                              last->number, *last->turn->done);
        !status.ok())
      return status;
  if (!turn->memory) {
    Expected<std::unique_ptr<Event>> done = device.makeEvent(/*isTimed=*/false);
    if (!done)
      return done.status();
    turn->done = std::move(*done);
    auto memory = device.hostMemory(hostBytes);
    if (!memory)
      return Status(memory.status().code(),
                    "expects " + std::to_string(hostBytes) +
                        " bytes of the host's memory for inputs and outputs, "
                        "pinned, got: " +
                        memory.status().message());
    turn->memory = std::move(*memory);
  }
  turn->isTaken = true;
  return turn;
}

Status EnqueuedExecutor::ready(Section which, int64_t number) {
  return keep(failure.ok() ? makeReady(which, number) : failure);
}

Status EnqueuedExecutor::start() {
  return keep(failure.ok() ? begin() : failure);
}

Status EnqueuedExecutor::wait() { return keep(failure.ok() ? end() : failure); }

Status EnqueuedExecutor::keep(const Status &status) {
  const bool isNew = failure.ok() && !status.ok();
  failure = status;
  if (isNew && wiring.transport)
    leave();
  return failure;
}

void EnqueuedExecutor::leave() {
  wiring.transport->abort(failure);
  if (!device.makeCurrent().ok())
    return;
  for (Turn &turn : held->turns)
    turn.graph.reset();
  for (const std::unique_ptr<Rank> &rank : held->ranks)
    wiring.transport->leave(rank->index);
  const int64_t since = now();
  while (!stuck && !underWay.empty()) {
    Expected<bool> isComplete = device.query(*underWay.back().turn->done);
    if (!isComplete || *isComplete)
      break;
    stuck = double(now() - since) * 1e-9 >= kLeaving.count();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Status EnqueuedExecutor::makeReady(Section which, int64_t number) {
  if (Status status = device.makeCurrent(); !status.ok())
    return status;
  const SectionState &section = held->sections[size_t(which)];
  Expected<Turn *> turn = takeTurn(section);
  if (!turn)
    return turn.status();
  if (Status status = load(section, **turn); !status.ok())
    return status;
  next = {which, number, 0, *turn};
  return section.isCaptured && !(*turn)->graph ? record(section, **turn)
                                               : Status();
}

Status EnqueuedExecutor::begin() {
  if (Status status = device.makeCurrent(); !status.ok())
    return status;
  next.began = now();
  underWay.push_back(next);
  const SectionState &section = held->sections[size_t(next.section)];
  Turn &turn = *next.turn;
  Stream &first = *held->streams.front();
  Status status;
  for (std::unique_ptr<Rank> &rank : held->ranks)
    if (status.ok())
      status = rank->scalars.setStep(first, next.number,
                                     turn.memory->host() + rank->hostScalars);
  if (status.ok())
    status = section.isCaptured ? first.launchGraph(*turn.graph)
                                : give(section, turn);
  return status.ok() ? first.record(*turn.done) : status;
}

Status EnqueuedExecutor::end() {
  const UnderWay its = underWay.front();
  const SectionState &section = held->sections[size_t(its.section)];
  Status status = device.makeCurrent();
  if (status.ok())
    status = await(section, its.number, *its.turn->done);
  if (status.ok() && !section.isCaptured)
    status = readTimes(its.section, its.began);
  if (!status.ok())
    return status;
  emit(section, *its.turn);
  its.turn->isTaken = false;
  underWay.pop_front();
  return {};
}

Status EnqueuedExecutor::load(const SectionState &section, const Turn &turn) {
  for (const Step *step : section.loads)
    if (Status status = host->load(step->command.parts.front().rank,
                                   step->tasks.front().instruction,
                                   turn.memory->host() + step->host);
        !status.ok())
      return status;
  return {};
}

void EnqueuedExecutor::emit(const SectionState &section, const Turn &turn) {
  for (const Step *step : section.emits)
    host->emit(step->command.parts.front().rank,
               step->tasks.front().instruction,
               turn.memory->host() + step->host);
}

Status EnqueuedExecutor::record(const SectionState &section, Turn &turn) {
  Stream &first = *held->streams.front();
  if (Status status = device.beginCapture(first); !status.ok())
    return status;
  const Status given = give(section, turn);
  // Also after a failure: the streams cannot be used otherwise.
  Expected<std::unique_ptr<const Graph>> recorded = device.endCapture(first);
  if (!given.ok() || !recorded)
    return given.ok() ? recorded.status() : given;
  turn.graph = std::move(*recorded);
  return {};
}

Status EnqueuedExecutor::give(const SectionState &section, const Turn &turn) {
  if (wiring.transport)
    for (const std::unique_ptr<Rank> &rank : held->ranks)
      wiring.transport->begin(rank->index);
  for (const Step &step : section.steps)
    if (Status status = give(section, step, turn); !status.ok())
      return status;
  return {};
}

Status EnqueuedExecutor::give(const SectionState &section, const Step &step,
                              const Turn &turn) {
  Stream &stream = *held->streams[step.command.stream];
  Status status;
  for (uint32_t other : step.command.waits)
    if (status.ok())
      status = stream.wait(*section.steps[other].end);
  if (status.ok() && step.begin)
    status = stream.record(*step.begin);
  for (const std::unique_ptr<const Launch> &move : step.moves)
    if (status.ok())
      status = stream.launch(*move);
  for (Ticket ticket : step.tickets)
    if (status.ok())
      status = wiring.transport->enqueue(ticket, stream);
  for (const Task &task : step.tasks) {
    if (!status.ok())
      break;
    switch (task.instruction->opcode) {
    case ppx::Opcode_load:
      status = stream.write(task.arguments[0], turn.memory->host() + step.host,
                            task.bytes());
      break;
    case ppx::Opcode_emit:
      status = stream.read(turn.memory->host() + step.host, task.arguments[0],
                           task.bytes());
      break;
    default:
      status = task.give(stream);
    }
  }
  return status.ok() && step.end ? stream.record(*step.end) : status;
}

//===----------------------------------------------------------------------===//
// End of a section
//===----------------------------------------------------------------------===//

/// Event times are relative to the first event. It came after the host had
/// begun, and the last one before the host saw it: the middle is taken.
Status EnqueuedExecutor::readTimes(Section which, int64_t began) {
  const int64_t seen = now();
  const SectionState &section = held->sections[size_t(which)];
  const Event &origin = *section.steps.front().begin;
  std::vector<std::pair<int64_t, int64_t>> spans;
  int64_t last = 0;
  for (const Step &step : section.steps) {
    Expected<int64_t> begin = device.elapsed(origin, *step.begin);
    Expected<int64_t> end = device.elapsed(origin, *step.end);
    if (!begin || !end)
      return begin ? end.status() : begin.status();
    spans.push_back({*begin, *end});
    last = std::max(last, *end);
  }
  const int64_t unknown = std::max<int64_t>(0, seen - began - last) / 2;
  timesErrors[size_t(which)] = unknown + last / kEventDigits + kEventError;
  for (size_t i = 0; i < spans.size(); ++i)
    for (const InstructionRef &part : section.steps[i].command.parts)
      held->ranks[part.rank - options.ranks.begin]
          ->times[size_t(part.section)][part.index] = {
          began + unknown + spans[i].first, began + unknown + spans[i].second,
          0};
  return {};
}

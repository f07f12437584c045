//===- Executor.cpp - the judge of programs and of their checks -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next instruction, and applies it to the bytes of its rank.
// CommOps determines which ranks meet, Data computes collectives, and
// MemoryWatch checks the use of memory.
//
//===----------------------------------------------------------------------===//
#include "Executor.h"

#include "CommOps.h"
#include "Data.h"
#include "FlatList.h"
#include "MemoryWatch.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

using namespace pprt;
using namespace pprt::reference;

namespace {

/// One queue of one rank in the current section.
struct QueueState {
  std::vector<const ppx::InstructionT *> instructions;
  std::vector<IssuePlace> places; ///< in the order of issue, if any
  size_t completed = 0;
  bool started = false; ///< the head, which then waits for its partners
  bool offered = false; ///< the queue is among those to pick from

  const ppx::InstructionT *head() const {
    return completed < instructions.size() ? instructions[completed] : nullptr;
  }
};

struct RankState {
  const ppx::ProgramT *program = nullptr; ///< written out
  uint32_t run = 0; ///< 0 setup, 1 to steps the bodies, then the teardown
  std::vector<QueueState> queues;
  /// Places of the instructions that the device takes in order, in descending
  /// order: the last is the next.
  std::vector<IssuePlace> issued;
  std::vector<uint8_t> arena;
  std::optional<MemoryWatch> watch; ///< if requested
};

class Executor {
public:
  Executor(const ppx::ArtifactT &artifact, const Mesh &mesh,
           const Options &options)
      : artifact(artifact), mesh(mesh), options(options), random(options.seed),
        commOps(artifact, mesh) {}

  Result run();

private:
  // Control.
  void initialize(uint32_t rank, size_t programIndex);
  void enterSection(uint32_t rank);
  void offer(uint32_t rank);
  bool mayStart(const RankState &state, const QueueState &queue) const;
  bool isTakenInOrder(const ppx::InstructionT &instruction) const;
  bool isNext(const RankState &state, const QueueState &queue) const;
  bool isOneUnit(QueueRef ref);
  size_t pickStartable();
  void start(QueueRef ref);
  void arrive(QueueRef ref);
  void complete(QueueRef ref);
  void watch(QueueRef ref);
  void watchHost(uint32_t rank);
  Section sectionOf(uint32_t run) const;
  static std::string nameOf(const RankState &state,
                            const ppx::InstructionT &instruction);
  std::string describe(QueueRef ref) const;
  std::string describeStall() const;

  // Data.
  void execute(QueueRef ref);
  void exchange(const std::vector<QueueRef> &members);

  const ppx::InstructionT &headOf(QueueRef ref) const {
    return *ranks[ref.rank].queues[ref.queue].head();
  }
  Side sideOf(QueueRef ref) const {
    return {*ranks[ref.rank].program, headOf(ref), ranks[ref.rank].run};
  }
  const ppx::SlotT &slotOf(QueueRef ref, size_t argument) const {
    return *ranks[ref.rank].program->slots[headOf(ref).arguments[argument]];
  }
  uint8_t *bytesOf(QueueRef ref, size_t argument) {
    return ranks[ref.rank].arena.data() + slotOf(ref, argument).offset;
  }
  int64_t stepOf(QueueRef ref) const {
    return int64_t(ranks[ref.rank].run) - 1;
  }

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  const Options &options;
  std::mt19937_64 random;
  std::vector<ppx::ProgramT> programs; ///< written out
  std::vector<RankState> ranks;
  std::vector<QueueRef> startable;
  CommOps commOps;
  /// Run and place of the last instruction that a shared device began.
  std::optional<std::pair<uint32_t, IssuePlace>> taken;
  Result result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Section Executor::sectionOf(uint32_t run) const {
  if (run == 0)
    return Section::setup;
  return run <= options.steps ? Section::body : Section::teardown;
}

void Executor::initialize(uint32_t rank, size_t programIndex) {
  RankState &state = ranks[rank];
  state.program = &programs[programIndex];
  // Bytes that are never written must not look like a value.
  state.arena.assign(state.program->arena_bytes, 0xA5);
  if (options.watchMemory)
    state.watch.emplace(artifact, *state.program);
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *artifact.arguments[i];
    const int32_t index = state.program->argument_slots[i];
    if (index < 0 ||
        (argument.role != ppx::Role_param && argument.role != ppx::Role_state))
      continue;
    const ppx::SlotT &slot = *state.program->slots[size_t(index)];
    if (state.watch)
      state.watch->fill(uint32_t(index));
    if (options.load)
      options.load(
          {rank, i, -1, -1, state.arena.data() + slot.offset, slot.bytes});
  }
}

/// Fills the queues with the rank's current section, or with the next one that
/// is not empty.
void Executor::enterSection(uint32_t rank) {
  RankState &state = ranks[rank];
  for (; state.run <= options.steps + 1; ++state.run) {
    const auto &list =
        state.program->routines[size_t(sectionOf(state.run))]->instructions;
    if (list.empty())
      continue;
    state.queues.assign(state.program->queues.size(), {});
    state.issued.clear();
    for (uint32_t index = 0; index < list.size(); ++index) {
      const ppx::InstructionT &instruction = *list[index];
      QueueState &queue = state.queues[instruction.queue];
      queue.instructions.push_back(&instruction);
      if (options.model == DeviceModel::channels)
        continue;
      queue.places.push_back(options.place(rank, sectionOf(state.run), index));
      if (isTakenInOrder(instruction))
        state.issued.push_back(queue.places.back());
    }
    std::sort(state.issued.begin(), state.issued.end(), std::greater<>());
    if (state.watch)
      state.watch->startSection();
    return;
  }
  state.queues.clear();
  state.issued.clear();
}

bool Executor::isTakenInOrder(const ppx::InstructionT &instruction) const {
  switch (options.model) {
  case DeviceModel::channels:
    return false;
  case DeviceModel::ordered:
    return instruction.opcode == ppx::Opcode_send ||
           instruction.opcode == ppx::Opcode_recv ||
           instruction.opcode == ppx::Opcode_collective;
  case DeviceModel::shared:
    return true;
  }
  return false;
}

/// Whether the device takes the head of the queue before all others.
bool Executor::isNext(const RankState &state, const QueueState &queue) const {
  if (!isTakenInOrder(*queue.head()))
    return true;
  const IssuePlace place = queue.places[queue.completed];
  if (state.issued.back() != place)
    return false;
  return options.model != DeviceModel::shared ||
         std::all_of(ranks.begin(), ranks.end(), [&](const RankState &other) {
           return other.issued.empty() ||
                  std::pair(other.run, other.issued.back()) >=
                      std::pair(state.run, place);
         });
}

/// Whether the instructions that a shared device gets at one place are a single
/// instruction or comm op: the device executes one thing after the other, and
/// two things at one place would have no order.
bool Executor::isOneUnit(QueueRef ref) {
  const RankState &state = ranks[ref.rank];
  const QueueState &queue = state.queues[ref.queue];
  const std::pair unit(state.run, queue.places[queue.completed]);
  const bool another = !taken || *taken != unit;
  taken = unit;
  return another || commOps.isExpected(ref, headOf(ref));
}

bool Executor::mayStart(const RankState &state, const QueueState &queue) const {
  const ppx::InstructionT *head = queue.head();
  if (!head || queue.started || !isNext(state, queue))
    return false;
  for (const ppx::Wait &wait : head->waits)
    if (state.queues[wait.queue()].completed < wait.count())
      return false;
  if (head->opcode == ppx::Opcode_step)
    for (const QueueState &other : state.queues)
      if (&other != &queue && other.head())
        return false;
  return true;
}

/// Adds the rank's heads that may start now to those to pick from.
void Executor::offer(uint32_t rank) {
  RankState &state = ranks[rank];
  for (uint32_t i = 0; i < state.queues.size(); ++i) {
    QueueState &queue = state.queues[i];
    if (queue.offered || !mayStart(state, queue))
      continue;
    queue.offered = true;
    startable.push_back({rank, i});
  }
}

void Executor::start(QueueRef ref) {
  RankState &state = ranks[ref.rank];
  state.queues[ref.queue].offered = false;
  state.queues[ref.queue].started = true;
  const ppx::InstructionT &head = headOf(ref);
  if (options.model == DeviceModel::shared && !isOneUnit(ref)) {
    result.end = End::mismatched;
    result.reason =
        describe(ref) + " is issued as one with what it does not meet";
    return;
  }
  if (state.watch)
    state.watch->start(head);
  switch (head.opcode) {
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
  case ppx::Opcode_collective:
    return arrive(ref);
  default:
    execute(ref);
    return complete(ref);
  }
}

/// The head waits for its partners; the last to arrive completes all of them.
void Executor::arrive(QueueRef ref) {
  const std::vector<QueueRef> members = commOps.arrive(ref, headOf(ref));
  for (QueueRef member : members)
    if (!agree(sideOf(members.front()), sideOf(member))) {
      result.end = End::mismatched;
      result.reason = describe(members.front()) + " meets " + describe(member);
      return;
    }
  if (members.empty())
    return;
  exchange(members);
  for (QueueRef member : members)
    complete(member);
}

void Executor::complete(QueueRef ref) {
  RankState &state = ranks[ref.rank];
  QueueState &queue = state.queues[ref.queue];
  watch(ref);
  if (isTakenInOrder(headOf(ref)))
    state.issued.pop_back();
  queue.started = false;
  ++queue.completed;
  if (std::none_of(state.queues.begin(), state.queues.end(),
                   [](const QueueState &q) { return q.head(); })) {
    watchHost(ref.rank);
    ++state.run;
    enterSection(ref.rank);
  }
  if (options.model != DeviceModel::shared)
    return offer(ref.rank);
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    offer(rank);
}

/// Records wrong uses of memory by the head.
void Executor::watch(QueueRef ref) {
  if (!ranks[ref.rank].watch)
    return;
  const MemoryWatch::Findings found =
      ranks[ref.rank].watch->complete(headOf(ref));
  for (const std::string &race : found.races)
    result.races.push_back(describe(ref) + " " + race);
  for (const std::string &clobber : found.clobbers)
    result.clobbers.push_back(describe(ref) + " " + clobber);
}

/// The same for the host, after a section.
void Executor::watchHost(uint32_t rank) {
  if (!ranks[rank].watch)
    return;
  for (const std::string &clobber : ranks[rank].watch->readAll())
    result.clobbers.push_back("rank " + std::to_string(rank) + ", after " +
                              sectionName(sectionOf(ranks[rank].run)) +
                              ": the host " + clobber);
}

std::string Executor::nameOf(const RankState &state,
                             const ppx::InstructionT &instruction) {
  static const ppx::CallT ofNone;
  return instructionName(Instruction(*state.program, instruction, ofNone));
}

std::string Executor::describe(QueueRef ref) const {
  const RankState &state = ranks[ref.rank];
  const QueueState &queue = state.queues[ref.queue];
  return "rank " + std::to_string(ref.rank) + ", " +
         sectionName(sectionOf(state.run)) + ", queue '" +
         state.program->queues[ref.queue]->name + "' #" +
         std::to_string(queue.completed) + " '" + nameOf(state, headOf(ref)) +
         "'";
}

std::string Executor::describeStall() const {
  std::string text;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    for (uint32_t i = 0; i < ranks[rank].queues.size(); ++i) {
      const QueueState &queue = ranks[rank].queues[i];
      const ppx::InstructionT *head = queue.head();
      if (!head)
        continue;
      text += describe({rank, i});
      if (queue.started && head->opcode != ppx::Opcode_collective)
        text += " waits for rank " +
                std::to_string(mesh.peer(rank, head->peer_stage));
      else if (queue.started)
        text += " waits for its group";
      for (const ppx::Wait &wait : head->waits) {
        const QueueState &other = ranks[rank].queues[wait.queue()];
        if (other.completed < wait.count())
          text += " waits for queue '" +
                  ranks[rank].program->queues[wait.queue()]->name +
                  "' to complete " + std::to_string(wait.count()) + ", got " +
                  std::to_string(other.completed);
      }
      text += '\n';
    }
  return text;
}

/// Returns an index into `startable`.
size_t Executor::pickStartable() {
  if (options.seed % 2 == 0)
    return random() % startable.size();
  // A hash of queue and seed, the same throughout the run.
  auto priority = [&](QueueRef ref) {
    const uint64_t mixed =
        (options.seed << 40 ^ uint64_t(ref.rank) << 20 ^ ref.queue) *
        0x9E3779B97F4A7C15;
    return mixed ^ mixed >> 29;
  };
  return size_t(std::max_element(startable.begin(), startable.end(),
                                 [&](QueueRef a, QueueRef b) {
                                   return priority(a) < priority(b);
                                 }) -
                startable.begin());
}

Result Executor::run() {
  for (const auto &program : artifact.programs)
    programs.push_back(writeOut(*program));
  ranks.resize(mesh.worldSize());
  for (size_t i = 0; i < artifact.programs.size(); ++i)
    for (uint32_t rank : artifact.programs[i]->ranks)
      initialize(rank, i);
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    enterSection(rank);
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    offer(rank);
  while (!startable.empty() && result.end == End::finished) {
    const size_t pick = pickStartable();
    const QueueRef ref = startable[pick];
    startable[pick] = startable.back();
    startable.pop_back();
    start(ref);
  }
  const bool remain =
      std::any_of(ranks.begin(), ranks.end(),
                  [](const RankState &s) { return !s.queues.empty(); });
  if (remain && result.end == End::finished) {
    result.end = End::stalled;
    result.reason = describeStall();
  }
  for (RankState &state : ranks)
    result.arenas.push_back(std::move(state.arena));
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Executes an instruction that needs no partner.
void Executor::execute(QueueRef ref) {
  const ppx::InstructionT &head = headOf(ref);
  const size_t count = head.arguments.size();
  switch (head.opcode) {
  case ppx::Opcode_gate: {
    int32_t flag;
    std::memcpy(&flag, bytesOf(ref, count - 1), sizeof(flag));
    if (flag != 0)
      return;
    [[fallthrough]];
  }
  case ppx::Opcode_run: {
    if (!options.runKernel)
      return;
    KernelCall call = {*artifact.kernels[head.kernel], {}, {}};
    for (size_t i = 0; i < call.kernel.parameters.size(); ++i)
      call.arguments.push_back(bytesOf(ref, i));
    for (uint32_t coordinate : mesh.coordinates(ref.rank))
      call.scalars.push_back(coordinate);
    call.scalars.push_back(head.micro_batch);
    call.scalars.push_back(stepOf(ref));
    return options.runKernel(call);
  }
  case ppx::Opcode_copy:
    std::memmove(bytesOf(ref, 1), bytesOf(ref, 0), slotOf(ref, 0).bytes);
    return;
  case ppx::Opcode_load:
    if (options.load)
      options.load({ref.rank, head.binding, stepOf(ref), head.micro_batch,
                    bytesOf(ref, 0), slotOf(ref, 0).bytes});
    return;
  case ppx::Opcode_emit:
    result.emitted[{ref.rank, head.binding, stepOf(ref), head.micro_batch}] = {
        bytesOf(ref, 0), bytesOf(ref, 0) + slotOf(ref, 0).bytes};
    return;
  case ppx::Opcode_flag: {
    int32_t flag = 0;
    for (size_t i = 0; i + 1 < count; ++i)
      if (!isFinite(slotOf(ref, i).element, bytesOf(ref, i),
                    slotOf(ref, i).bytes))
        flag = 1;
    std::memcpy(bytesOf(ref, count - 1), &flag, sizeof(flag));
    return;
  }
  default:
    return;
  }
}

/// Executes a comm op for its members; a send and its receive are members 0, 1.
void Executor::exchange(const std::vector<QueueRef> &members) {
  const ppx::InstructionT &head = headOf(members.front());
  if (head.opcode != ppx::Opcode_collective) {
    std::memcpy(bytesOf(members[1], 0), bytesOf(members[0], 0),
                slotOf(members[0], 0).bytes);
    return;
  }
  const size_t tensors = head.arguments.size() / 2;
  std::vector<size_t> receivers;
  if (head.collective == ppx::CollectiveKind_permute)
    for (uint32_t rank : mesh.members(*artifact.groups[head.target_group],
                                      members.front().rank))
      receivers.push_back(
          std::find_if(members.begin(), members.end(),
                       [&](QueueRef member) { return member.rank == rank; }) -
          members.begin());
  for (size_t i = 0; i < tensors; ++i) {
    std::vector<Bytes> inputs;
    for (QueueRef member : members)
      inputs.emplace_back(bytesOf(member, i),
                          bytesOf(member, i) + slotOf(member, i).bytes);
    const std::vector<Bytes> outputs =
        runCollective(head, i, slotOf(members.front(), i), inputs, receivers);
    for (size_t m = 0; m < members.size(); ++m)
      std::copy(outputs[m].begin(), outputs[m].end(),
                bytesOf(members[m], tensors + i));
  }
}

Result reference::execute(const ppx::ArtifactT &artifact,
                          const Options &options) {
  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  return Executor(artifact, *mesh, options).run();
}

//===- StructureInstructions.cpp - is each instruction well formed? -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact whose mesh, groups, ranks and slots are sound. Checks every
// index, the number and sizes of arguments, and that waits can be satisfied.
// Properties that depend on the rank depend only on its stage, so a program is
// checked once per stage of its ranks. Calls differ in the micro-batch, so in
// copies of slots, and in waits of their own: the rest is checked at the first
// call. StructureCollectives.cpp checks the shapes of collectives.
//
//===----------------------------------------------------------------------===//
#include "../ListAccesses.h"
#include "Passes.h"
#include "Sections.h"

#include <algorithm>
#include <map>

using namespace pprt;
using namespace pprt::checks;

namespace {

class InstructionChecker {
public:
  InstructionChecker(const ppx::ArtifactT &artifact, const Mesh &mesh,
                     const ppx::ProgramT &program, FindingList &report);

  void checkSection(Section section);
  /// Number of stages and groups that a rank sends to, receives from or meets.
  size_t channelCount() const { return channels.size(); }

private:
  bool fail(const std::string &message) {
    isSound = false;
    report.add({program.ranks.front(), section, index}, *current, message);
    return false;
  }
  const ppx::InstructionT &its() const { return **current; }
  const ppx::SlotT &argument(size_t i) const { return current->slot(i); }
  bool checkCount(size_t expected);
  bool checkIndices(size_t queueCount);
  bool checkMicroBatch();
  bool checkOwnWaits(const ppx::RoutineT &routine);
  bool checkCallWaits(const InstructionList &list,
                      const std::vector<uint32_t> &queueLengths);
  void checkWait(uint32_t queue, uint64_t count,
                 const std::vector<uint32_t> &queueLengths, const char *where);
  bool hasCopies() const {
    return std::any_of(
        its().arguments.begin(), its().arguments.end(),
        [&](uint32_t slot) { return !program.slots[slot]->more.empty(); });
  }
  void checkStep(const InstructionList &list);
  void checkOpcode();
  void checkKernelCall();
  void checkTransfer();
  void checkCollective();
  void checkTarget(const ppx::GroupT &group);
  void checkCopy();
  template <typename Tensor> void checkShard(const Tensor &tensor);
  void checkLoad();
  void checkEmit();
  void checkFlagSlot(const ppx::SlotT &slot);
  bool checkChannel(uint32_t kind, uint32_t key, const char *what);
  void checkOverlap();

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  const ppx::ProgramT &program;
  FindingList &report;
  std::vector<bool> isHeld; ///< by slot, whether a parameter's or state's
  /// Stages that the program runs on, in ascending order.
  std::vector<uint32_t> stages;
  /// (opcode, peer stage or group) -> the queue that carries it.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> channels;

  struct Range {
    uint64_t begin, end;
    size_t argument;
  };
  std::vector<Range> reads, writes; ///< of the current instruction

  /// The routine whose instructions are counted by queue.
  const ppx::RoutineT *lengthsOf = nullptr;
  std::vector<uint32_t> routineLengths;

  // The current instruction.
  std::optional<ListAccesses> listed;
  Section section = Section::setup;
  uint32_t index = 0;
  std::optional<Instruction> current;
  bool isLast = false, isSound = true;
};

} // namespace

InstructionChecker::InstructionChecker(const ppx::ArtifactT &artifact,
                                       const Mesh &mesh,
                                       const ppx::ProgramT &program,
                                       FindingList &report)
    : artifact(artifact), mesh(mesh), program(program), report(report),
      isHeld(program.slots.size()) {
  for (uint32_t rank : program.ranks)
    stages.push_back(mesh.stage(rank));
  for (int32_t slot : program.argument_slots)
    if (slot >= 0)
      isHeld[size_t(slot)] = true;
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
}

void InstructionChecker::checkSection(Section which) {
  section = which;
  const InstructionList list(program, section);
  std::vector<uint32_t> queueLengths(program.queues.size());
  for (const Instruction instruction : list)
    if (instruction->queue < queueLengths.size())
      ++queueLengths[instruction->queue];
  if (section == Section::body)
    checkStep(list);
  listed.emplace(artifact, list);
  // By number: whether it was checked, and nothing was found.
  std::vector<std::optional<bool>> known(list.numberCount());
  for (index = 0; index < list.size() && !report.full(); ++index) {
    current = list[index];
    isLast = index + 1 == list.size();
    isSound = true;
    report.work(1 + current->slotCount());
    std::optional<bool> &its = known[list.numberOf(index)];
    if (!its && checkIndices(queueLengths.size()) && checkMicroBatch() &&
        checkOwnWaits(*program.routines[list.routineOf(index)]) &&
        checkCallWaits(list, queueLengths))
      checkOpcode();
    else if (its == true && checkMicroBatch() &&
             checkCallWaits(list, queueLengths) && hasCopies())
      checkOverlap();
    its = its.value_or(true) && isSound;
  }
}

/// A body ends with its only step; the other sections have none.
void InstructionChecker::checkStep(const InstructionList &list) {
  if (list.empty() || list.back()->opcode != ppx::Opcode_step)
    report.add(
        text("program '", program.name,
             "' expects a body that ends with a step, got ",
             list.empty() ? "an empty body" : instructionName(list.back())),
        program.ranks.front());
}

/// Checks the parts of all opcodes: enumerations, queue and slots.
bool InstructionChecker::checkIndices(size_t queueCount) {
  const ppx::InstructionT &i = its();
  if (!isOneOf(i.opcode, ppx::Opcode_MIN, ppx::Opcode_MAX))
    return fail(text("expects a known opcode, got ", int(i.opcode)));
  if (!isOneOf(i.phase, ppx::Phase_MIN, ppx::Phase_MAX))
    return fail(text("expects a known phase, got ", int(i.phase)));
  if (i.queue >= queueCount)
    return fail(text("expects a queue below ", queueCount, ", got ", i.queue));
  // A place on the stage axis may have several, as many as there are cuts,
  // where the plan says these.
  constexpr uint64_t mostStages = 1 << 12;
  const bool isOfPlace =
      i.phase == ppx::Phase_prologue || i.phase == ppx::Phase_update;
  const uint64_t stageCount =
      isOfPlace ? mesh.stageCount()
      : artifact.cuts.empty() && mesh.stageAxis()
          ? mostStages
          : std::max<uint64_t>(mesh.stageCount(), artifact.cuts.size() + 1);
  if (i.stage >= stageCount)
    return fail(text("expects a stage below ", stageCount, ", got ", i.stage));
  for (uint32_t slot : i.arguments)
    if (slot >= program.slots.size())
      return fail(
          text("expects slots below ", program.slots.size(), ", got ", slot));
  return true;
}

bool InstructionChecker::checkMicroBatch() {
  const int32_t microBatch = current->microBatch();
  return (microBatch >= -1 && microBatch < int64_t(mesh.microBatchCount())) ||
         fail(text("expects a micro-batch below ", mesh.microBatchCount(),
                   ", got ", microBatch));
}

void InstructionChecker::checkWait(uint32_t queue, uint64_t count,
                                   const std::vector<uint32_t> &queueLengths,
                                   const char *where) {
  report.work(1);
  if (!isSound)
    return;
  if (queue >= queueLengths.size()) {
    fail(text("expects to wait for a queue below ", queueLengths.size(),
              ", got ", queue));
    return;
  }
  const uint32_t length = queueLengths[queue];
  const std::string &name = program.queues[queue]->name;
  if (length == 0)
    fail(text("expects to wait for a queue with instructions in this ", where,
              ", got '", name, "', which has none"));
  else if (count == 0 || count > length)
    fail(text("expects to wait for one of the instructions of queue '", name,
              "' in this ", where, ", numbered 1 to ", length, ", got number ",
              count));
}

/// A routine's own waits are for its instructions, so that they hold in every
/// call.
bool InstructionChecker::checkOwnWaits(const ppx::RoutineT &routine) {
  if (its().waits.empty())
    return true;
  if (&routine != lengthsOf) {
    lengthsOf = &routine;
    routineLengths.assign(program.queues.size(), 0);
    for (const auto &instruction : routine.instructions)
      if (instruction->queue < routineLengths.size())
        ++routineLengths[instruction->queue];
    report.work(routine.instructions.size() + routineLengths.size());
  }
  for (const ppx::Wait &wait : its().waits)
    checkWait(wait.queue(), wait.count(), routineLengths, "routine");
  return isSound;
}

bool InstructionChecker::checkCallWaits(
    const InstructionList &list, const std::vector<uint32_t> &queueLengths) {
  list.forEachCallWait(index, [&](uint32_t queue, uint32_t count) {
    checkWait(queue, count, queueLengths, "section");
  });
  return isSound;
}

bool InstructionChecker::checkCount(size_t expected) {
  return current->slotCount() == expected ||
         fail(text("expects ", expected, " arguments, got ",
                   current->slotCount()));
}

void InstructionChecker::checkOpcode() {
  switch (its().opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate:
    return checkKernelCall();
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
    return checkTransfer();
  case ppx::Opcode_collective:
    return checkCollective();
  case ppx::Opcode_copy:
    return checkCopy();
  case ppx::Opcode_load:
    return checkLoad();
  case ppx::Opcode_emit:
    return checkEmit();
  case ppx::Opcode_flag:
    if (current->slotCount() == 0)
      fail("expects a flag slot, got no arguments");
    else
      checkFlagSlot(argument(current->slotCount() - 1));
    return checkOverlap();
  case ppx::Opcode_step:
    if (section != Section::body || !isLast)
      fail("expects to be the last instruction of a body");
    checkCount(0);
    return;
  }
}

void InstructionChecker::checkFlagSlot(const ppx::SlotT &slot) {
  if (slot.element != ppx::ElementType_i32 || slot.bytes != 4)
    fail(text("expects one i32 as its flag, got ", slot.bytes, " bytes ",
              ppx::EnumNameElementType(slot.element)));
}

void InstructionChecker::checkKernelCall() {
  if (its().kernel >= artifact.kernels.size()) {
    fail(text("expects a kernel below ", artifact.kernels.size(), ", got ",
              its().kernel));
    return;
  }
  const ppx::KernelT &kernel = *artifact.kernels[its().kernel];
  const bool gated = its().opcode == ppx::Opcode_gate;
  if (!checkCount(kernel.parameters.size() + gated))
    return;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (argument(i).bytes != kernel.parameters[i]->bytes)
      fail(text("expects ", kernel.parameters[i]->bytes, " bytes as parameter ",
                i, " of kernel '", kernel.name, "', got slot '",
                argument(i).name, "' of ", argument(i).bytes, " bytes"));
  if (gated)
    checkFlagSlot(argument(kernel.parameters.size()));
  checkOverlap();
}

/// All transfers of an edge, or collectives of a group, use one queue, or else
/// "the k-th" would depend on the interleaving. Returns whether it is new.
bool InstructionChecker::checkChannel(uint32_t kind, uint32_t key,
                                      const char *what) {
  auto [entry, isNew] = channels.try_emplace({kind, key}, its().queue);
  if (!isNew && entry->second != its().queue)
    fail(text("expects queue '", program.queues[entry->second]->name,
              "' as others with the same ", what, ", got queue '",
              program.queues[its().queue]->name, "'"));
  return isNew;
}

void InstructionChecker::checkTransfer() {
  if (!checkCount(1))
    return;
  if (its().peer_stage >= mesh.stageCount()) {
    fail(text("expects a peer stage below ", mesh.stageCount(), ", got ",
              its().peer_stage));
    return;
  }
  if (std::binary_search(stages.begin(), stages.end(), its().peer_stage))
    fail(text("expects another stage as peer, got the own stage ",
              its().peer_stage));
  checkChannel(its().opcode, its().peer_stage, "peer stage");
}

void InstructionChecker::checkCollective() {
  const ppx::InstructionT &i = its();
  if (i.group >= artifact.groups.size()) {
    fail(text("expects a group below ", artifact.groups.size(), ", got ",
              i.group));
    return;
  }
  const ppx::GroupT &group = *artifact.groups[i.group];
  const bool isNew = checkChannel(i.opcode, i.group, "group");
  if (isNew && !group.stages.empty())
    for (uint32_t stage : stages)
      if (!std::binary_search(group.stages.begin(), group.stages.end(), stage))
        return void(fail(text("expects a group with stage ", stage,
                              ", got group ", i.group, " without it")));
  if (i.collective == ppx::CollectiveKind_permute)
    checkTarget(group);
  checkCollectiveTensors(*current, mesh.memberCount(group),
                         [this](const std::string &message) { fail(message); });
  checkOverlap();
}

/// A permute leads to its group's axes, all stages of them, in any order.
void InstructionChecker::checkTarget(const ppx::GroupT &group) {
  const uint32_t target = its().target_group;
  if (target >= artifact.groups.size()) {
    fail(text("expects a target group below ", artifact.groups.size(), ", got ",
              target));
    return;
  }
  const auto sorted = [](std::vector<uint32_t> axes) {
    std::sort(axes.begin(), axes.end());
    return axes;
  };
  const ppx::GroupT &other = *artifact.groups[target];
  if (sorted(group.axes) != sorted(other.axes) || !group.stages.empty() ||
      !other.stages.empty())
    fail(text("expects the axes and all stages of group ", its().group,
              " in its target group, got group ", target));
}

void InstructionChecker::checkCopy() {
  if (!checkCount(2))
    return;
  if (argument(0).bytes != argument(1).bytes)
    fail(text("expects a destination of ", argument(0).bytes, " bytes, got ",
              argument(1).bytes));
  checkOverlap();
}

/// Checks that the slot holds one shard of an argument or output.
template <typename Tensor>
void InstructionChecker::checkShard(const Tensor &tensor) {
  const ppx::SlotT &slot = argument(0);
  auto shape = shardShape(artifact, tensor.padded_shape, tensor.sharding);
  const uint64_t bytes = *denseBytes(*shape, elementSize(tensor.element));
  if (slot.element != tensor.element || slot.bytes != bytes)
    fail(text("expects a slot for one shard of '", tensor.name, "', ", bytes,
              " bytes ", ppx::EnumNameElementType(tensor.element), ", got ",
              slot.bytes, " bytes ", ppx::EnumNameElementType(slot.element)));
}

void InstructionChecker::checkLoad() {
  if (!checkCount(1))
    return;
  if (its().binding >= artifact.arguments.size()) {
    fail(text("expects an argument below ", artifact.arguments.size(), ", got ",
              its().binding));
    return;
  }
  const ppx::ArgumentT &loaded = *artifact.arguments[its().binding];
  if (isPersistent(loaded))
    fail(text("expects an input or label, got ", ppx::EnumNameRole(loaded.role),
              " '", loaded.name, "'"));
  if (isHeld[its().arguments[0]])
    fail(text("expects a slot that holds no parameter or state, got '",
              argument(0).name, "'"));
  checkShard(loaded);
}

void InstructionChecker::checkEmit() {
  if (!checkCount(1))
    return;
  if (its().binding >= artifact.outputs.size()) {
    fail(text("expects an output below ", artifact.outputs.size(), ", got ",
              its().binding));
    return;
  }
  checkShard(*artifact.outputs[its().binding]);
}

/// Within one instruction, written bytes overlap no others. Kernels are
/// compiled for disjoint parameters, and moving data in place would read bytes
/// after overwriting them. Parameters that are read and written are one access;
/// otherwise engines compute only the sums of an all_reduce in place.
void InstructionChecker::checkOverlap() {
  reads.clear();
  writes.clear();
  const std::vector<SlotAccess> &accesses = listed->of(index);
  for (size_t i = 0; i < accesses.size(); ++i) {
    const ppx::SlotT &slot = argument(i);
    const uint64_t offset = current->offset(i);
    if (slot.bytes > 0)
      (accesses[i].writes ? writes : reads)
          .push_back({offset, offset + slot.bytes, i});
  }
  const bool sums = its().opcode == ppx::Opcode_collective &&
                    its().collective == ppx::CollectiveKind_all_reduce;
  auto isInPlace = [&](const Range &read, const Range &write) {
    return sums && read.argument + accesses.size() / 2 == write.argument &&
           read.begin == write.begin && read.end == write.end;
  };
  auto complain = [&](const Range &a, const Range &b) {
    fail(text("expects what it writes apart from its other slots, got '",
              argument(a.argument).name, "' and '", argument(b.argument).name,
              "'"));
  };
  std::sort(writes.begin(), writes.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < writes.size(); ++i)
    if (writes[i].begin < writes[i - 1].end)
      return complain(writes[i - 1], writes[i]);
  for (const Range &read : reads) {
    // The writes are disjoint now: the first one that ends after the read
    // begins is the only one that may coincide with it.
    auto write = std::upper_bound(
        writes.begin(), writes.end(), read.begin,
        [](uint64_t begin, const Range &w) { return begin < w.end; });
    if (write != writes.end() && write->begin < read.end &&
        !isInPlace(read, *write))
      return complain(read, *write);
  }
}

void checks::checkInstructions(const ppx::ArtifactT &artifact, const Mesh &mesh,
                               const CheckOptions &options,
                               FindingList &report) {
  // Instructions are checked against kernels, arguments and outputs.
  if (!report.empty())
    return;
  std::vector<uint64_t> channels(artifact.programs.size());
  checkEach(options, channels.size(), report,
            [&](size_t number, FindingList &found) {
              InstructionChecker checker(artifact, mesh,
                                         *artifact.programs[number], found);
              for (Section section : kSections)
                checker.checkSection(section);
              channels[number] = checker.channelCount();
            });
  // Matching visits the comm ops of each rank.
  constexpr uint64_t mostCommOps = uint64_t(1) << 20;
  uint64_t commOps = 0;
  for (size_t number = 0; number < channels.size(); ++number)
    commOps += channels[number] * artifact.programs[number]->ranks.size();
  if (commOps > mostCommOps)
    report.add(text("expects ranks to meet at ", mostCommOps,
                    " edges and groups at most, got ", commOps));
}

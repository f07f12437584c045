//===- Mutations.cpp - one wrong thing in a valid program -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Mutations.h"
#include "Pipelines.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::test;

const char *test::nameOf(Mutation mutation) {
  static constexpr const char *kNames[] = {
      "swap", "drop",  "duplicate",  "peer", "offset",
      "wait", "count", "slot",       "tag",  "group",
      "axes", "queue", "collective", "call", "copies"};
  static_assert(std::size(kNames) == kMutations);
  return kNames[size_t(mutation)];
}

Mutator::Mutator(ppx::ArtifactT &artifact, std::mt19937_64 &random)
    : artifact(artifact), random(random) {
  uint32_t ranks = 0;
  for (const auto &each : artifact.programs)
    ranks += uint32_t(each->ranks.size());
  program =
      artifact.programs[makePrivateProgram(artifact, uint32_t(pick(ranks)))]
          .get();
  const size_t place = pick(8);
  const Section section = place == 0   ? Section::setup
                          : place == 1 ? Section::teardown
                                       : Section::body;
  const bool isWritten = callsOf(*program, Section::body).size() <= 1;
  if (!isWritten && pick(2) == 0) {
    const size_t routine = pick(program->routines.size());
    list = &program->routines[routine]->instructions;
    inBody = !list->empty() && list->back()->opcode == ppx::Opcode_step;
    return;
  }
  if (!isWritten)
    flatten(*program);
  inBody = section == Section::body || writtenOf(*program, section).empty();
  list = &writtenOf(*program, inBody ? Section::body : section);
}

bool Mutator::apply(Mutation mutation) {
  switch (mutation) {
  case Mutation::swap:
    return swap();
  case Mutation::drop:
    return drop();
  case Mutation::duplicate:
    return duplicate();
  case Mutation::peer:
    return changePeer();
  case Mutation::offset:
    return moveSlot();
  case Mutation::wait:
    return removeWait();
  case Mutation::count:
    return changeCount();
  case Mutation::slot:
    return changeSlot();
  case Mutation::tag:
    return changeTag();
  case Mutation::group:
    return changeGroup();
  case Mutation::axes:
    return changeAxes();
  case Mutation::queue:
    return changeQueue();
  case Mutation::collective:
    return changeCollective();
  case Mutation::call:
    return changeCall();
  case Mutation::copies:
    return changeCopies();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Places in the list
//===----------------------------------------------------------------------===//

size_t Mutator::listEnd() const { return list->size() - (inBody ? 1 : 0); }

template <typename Accept> size_t Mutator::pickWhere(Accept accept) {
  std::vector<size_t> found;
  for (size_t i = 0; i < listEnd(); ++i)
    if (accept(*(*list)[i]))
      found.push_back(i);
  return found.empty() ? list->size() : touch(found[pick(found.size())]);
}

/// Counts the instructions in the queue of `end` up to it.
uint32_t Mutator::countUpTo(size_t end) const {
  uint32_t count = 0;
  for (size_t k = 0; k <= end; ++k)
    count += (*list)[k]->queue == (*list)[end]->queue;
  return count;
}

/// Makes waits that end at i or j, which share a queue, end at the other.
void Mutator::renumber(size_t i, size_t j) {
  const uint32_t first = countUpTo(i), second = countUpTo(j);
  for (const auto &instruction : *list)
    for (ppx::Wait &wait : instruction->waits)
      if (wait.queue() == (*list)[i]->queue &&
          (wait.count() == first || wait.count() == second))
        wait = ppx::Wait(wait.queue(), first + second - wait.count());
}

/// Makes waits for at least `from` instructions of the queue count `by` more.
void Mutator::shiftWaits(uint32_t queue, uint32_t from, int by) {
  for (const auto &instruction : *list) {
    std::vector<ppx::Wait> &waits = instruction->waits;
    for (ppx::Wait &wait : waits)
      if (wait.queue() == queue && wait.count() >= from)
        wait = ppx::Wait(queue, uint32_t(int(wait.count()) + by));
    waits.erase(std::remove_if(waits.begin(), waits.end(),
                               [](const ppx::Wait &w) { return !w.count(); }),
                waits.end());
  }
}

/// Each instruction takes its own waits along, or each place keeps its waits;
/// waits for the two may be adapted.
bool Mutator::swap() {
  if (listEnd() < 2)
    return false;
  const size_t i = pickPlace();
  std::vector<size_t> others;
  const bool sameQueue = pick(4) != 0, adjacent = pick(2) == 0;
  for (size_t k = i + 1; k < listEnd(); ++k)
    if (!sameQueue || (*list)[k]->queue == (*list)[i]->queue)
      others.push_back(k);
  if (others.empty())
    return false;
  const size_t j = adjacent ? others.front() : others[pick(others.size())];
  const size_t waits = pick(3);
  if (waits == 0 && (*list)[i]->queue == (*list)[j]->queue)
    renumber(i, j);
  std::swap((*list)[i], (*list)[j]);
  if (waits == 1)
    std::swap((*list)[i]->waits, (*list)[j]->waits);
  return true;
}

bool Mutator::drop() {
  if (listEnd() == 0)
    return false;
  const size_t i = pickPlace();
  if (pick(4) != 0) // others that waited for it wait for the one before
    shiftWaits((*list)[i]->queue, countUpTo(i), -1);
  list->erase(list->begin() + ptrdiff_t(i));
  return true;
}

bool Mutator::duplicate() {
  if (listEnd() == 0)
    return false;
  const size_t i = pickPlace();
  const size_t at = pick(2) ? i + 1 : i + 1 + pick(listEnd() - i);
  auto copy = std::make_unique<ppx::InstructionT>(*(*list)[i]);
  list->insert(list->begin() + ptrdiff_t(at), std::move(copy));
  if (pick(4) != 0)
    shiftWaits((*list)[i]->queue, countUpTo(at), 1);
  return true;
}

bool Mutator::changeQueue() {
  if (listEnd() == 0 || program->queues.size() < 2)
    return false;
  ppx::InstructionT &moved = *(*list)[pickPlace()];
  moved.queue = uint32_t((moved.queue + 1 + pick(program->queues.size() - 1)) %
                         program->queues.size());
  return true;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

bool Mutator::removeWait() {
  const size_t i = pickWhere([](const auto &it) { return !it.waits.empty(); });
  if (i == list->size())
    return false;
  std::vector<ppx::Wait> &waits = (*list)[i]->waits;
  waits.erase(waits.begin() + ptrdiff_t(pick(waits.size())));
  return true;
}

bool Mutator::changeCount() {
  const size_t i = pickWhere([](const auto &it) { return !it.waits.empty(); });
  if (i == list->size())
    return false;
  std::vector<ppx::Wait> &waits = (*list)[i]->waits;
  ppx::Wait &wait = waits[pick(waits.size())];
  const auto length =
      uint32_t(std::count_if(list->begin(), list->end(), [&](const auto &it) {
        return it->queue == wait.queue();
      }));
  if (length < 2)
    return false;
  const uint32_t step = pick(2) ? 1 : uint32_t(1 + pick(length - 1));
  const uint32_t up = pick(2) ? step : length - step;
  wait = ppx::Wait(wait.queue(), (wait.count() - 1 + up) % length + 1);
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool Mutator::moveSlot() {
  ppx::SlotT &slot = *program->slots[pick(program->slots.size())];
  const uint64_t places = (program->arena_bytes - slot.bytes) / 64 + 1;
  const uint64_t old = slot.offset;
  // A neighbouring slot overlaps most often.
  slot.offset = 64 * (pick(2) ? (old / 64 + 1) % places : random() % places);
  return slot.offset != old;
}

bool Mutator::changeSlot() {
  const size_t i =
      pickWhere([](const auto &it) { return !it.arguments.empty(); });
  if (i == list->size())
    return false;
  std::vector<uint32_t> &arguments = (*list)[i]->arguments;
  uint32_t &argument = arguments[pick(arguments.size())];
  const ppx::SlotT &old = *program->slots[argument];
  std::vector<uint32_t> alike;
  for (uint32_t s = 0; s < program->slots.size(); ++s)
    if (s != argument && program->slots[s]->bytes == old.bytes &&
        program->slots[s]->element == old.element)
      alike.push_back(s);
  if (alike.empty())
    return false;
  argument = alike[pick(alike.size())];
  return true;
}

bool Mutator::changeCopies() {
  std::vector<ppx::SlotT *> found;
  for (const auto &slot : program->slots)
    if (!slot->more.empty())
      found.push_back(slot.get());
  if (found.empty())
    return false;
  ppx::SlotT &slot = *found[pick(found.size())];
  const size_t copy = pick(slot.more.size());
  switch (pick(3)) {
  case 0:
    slot.more.resize(copy);
    return true;
  case 1:
    slot.more.push_back(slot.more[copy]);
    return true;
  default:
    return std::exchange(slot.more[copy], slot.offset) != slot.offset;
  }
}

bool Mutator::changeCall() {
  auto &calls = program->body;
  if (calls.size() < 3)
    return false;
  // The last has the step.
  const size_t i = pick(calls.size() - 1), j = pick(calls.size() - 1);
  ppx::CallT &call = *calls[i];
  switch (pick(5)) {
  case 0:
    std::swap(calls[i], calls[j]);
    return i != j;
  case 1:
    calls.erase(calls.begin() + ptrdiff_t(i));
    return true;
  case 2:
    std::swap(call.micro_batch, calls[j]->micro_batch);
    return call.micro_batch != calls[j]->micro_batch;
  case 3:
    std::swap(call.routine, calls[j]->routine);
    return call.routine != calls[j]->routine;
  default:
    if (call.waits.empty())
      return false;
    call.waits.erase(call.waits.begin() + ptrdiff_t(pick(call.waits.size())));
    return true;
  }
}

//===----------------------------------------------------------------------===//
// Partners
//===----------------------------------------------------------------------===//

static bool isTransfer(const ppx::InstructionT &instruction) {
  return instruction.opcode == ppx::Opcode_send ||
         instruction.opcode == ppx::Opcode_recv;
}

static bool isCollective(const ppx::InstructionT &instruction) {
  return instruction.opcode == ppx::Opcode_collective;
}

bool Mutator::changePeer() {
  const size_t i = pickWhere(isTransfer);
  if (i == list->size())
    return false;
  uint32_t stages = 1;
  for (const auto &axis : artifact.axes)
    if (axis->kind == ppx::AxisKind_stage)
      stages = axis->size;
  // Sometimes one below the stages: a stage that does not exist, or its own.
  uint32_t &peer = (*list)[i]->peer_stage;
  peer = uint32_t((peer + 1 + pick(stages)) % (stages + 1));
  return true;
}

bool Mutator::changeTag() {
  const size_t i = pickWhere([&](const auto &it) {
    return isTransfer(it) || isCollective(it) ||
           it.opcode == ppx::Opcode_emit || it.opcode == ppx::Opcode_load;
  });
  if (i == list->size())
    return false;
  ppx::InstructionT &it = *(*list)[i];
  switch (pick(3)) {
  case 0:
    it.micro_batch += pick(2) ? 1 : it.micro_batch > 0 ? -1 : 2;
    break;
  case 1:
    it.stage += pick(2) || it.stage == 0 ? 1 : -1;
    break;
  default:
    it.phase = ppx::Phase((it.phase + 1 + pick(4)) % 5);
  }
  return true;
}

bool Mutator::changeGroup() {
  const size_t i = pickWhere(isCollective);
  const size_t groups = artifact.groups.size();
  if (i == list->size() || groups < 2)
    return false;
  uint32_t &group = (*list)[i]->group;
  group = uint32_t((group + 1 + pick(groups - 1)) % groups);
  return true;
}

bool Mutator::changeAxes() {
  if (artifact.groups.empty())
    return false;
  ppx::GroupT &group = *artifact.groups[pick(artifact.groups.size())];
  const auto axis = uint32_t(pick(artifact.axes.size()));
  auto known = std::find(group.axes.begin(), group.axes.end(), axis);
  switch (pick(4)) {
  case 0:
    std::reverse(group.axes.begin(), group.axes.end());
    return group.axes.size() > 1;
  case 1: // keeps only some stages
    group.stages = {uint32_t(pick(2))};
    return true;
  case 2:
    if (known != group.axes.end() || group.axes.empty())
      return false;
    group.axes[pick(group.axes.size())] = axis;
    return true;
  default:
    if (known != group.axes.end())
      group.axes.erase(known);
    else
      group.axes.insert(
          group.axes.begin() + ptrdiff_t(pick(group.axes.size() + 1)), axis);
    return true;
  }
}

bool Mutator::changeCollective() {
  const size_t i = pickWhere(isCollective);
  if (i == list->size())
    return false;
  ppx::InstructionT &it = *(*list)[i];
  switch (pick(5)) {
  case 0:
    it.collective = ppx::CollectiveKind((it.collective + 1 + pick(4)) % 5);
    return true;
  case 1:
    it.reduction = ppx::Reduction((it.reduction + 1 + pick(4)) % 5);
    return true;
  case 2:
    if (it.dimensions.empty())
      return false;
    ++it.dimensions[pick(it.dimensions.size())];
    return true;
  case 3:
    if (it.split_dimensions.empty())
      return false;
    ++it.split_dimensions[pick(it.split_dimensions.size())];
    return true;
  default:
    it.target_group = uint32_t(pick(artifact.groups.size() + 1));
    return it.collective == ppx::CollectiveKind_permute;
  }
}

//===- InstructionList.h - a section as it runs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A section calls routines. What runs is one list, in which each instruction of
// a routine stands once for each call, with the call's micro-batch, and with
// the slots that this micro-batch has. For a body that calls {run, send} twice:
//
//   routines [[run x, send x after [compute 1]]]   x: 2 copies
//   body     [call 0 for 0, call 0 for 1]
//   list     run x copy 0, send x copy 0 after compute 1,
//            run x copy 1, send x copy 1 after compute 2
//
// The list is a view: it takes 8 bytes for each instruction that runs, and 4
// for each call and queue. The program must outlive it, and its instructions.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_INSTRUCTIONLIST_H
#define PPRT_INSTRUCTIONLIST_H

#include "pprt/Ppx.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

enum class Section : uint8_t { setup, body, teardown };
constexpr std::array<Section, 3> kSections = {Section::setup, Section::body,
                                              Section::teardown};

const std::vector<std::unique_ptr<ppx::CallT>> &
callsOf(const ppx::ProgramT &program, Section section);
std::vector<std::unique_ptr<ppx::CallT>> &callsOf(ppx::ProgramT &program,
                                                  Section section);

inline uint64_t offsetOf(const ppx::SlotT &slot, uint32_t copy) {
  return copy == 0 ? slot.offset : slot.more[copy - 1];
}

/// The copies of all slots of a program, numbered, those of one slot in a row.
class SlotCopies {
public:
  explicit SlotCopies(const ppx::ProgramT &program);

  uint32_t size() const { return uint32_t(slots.size()); }
  uint32_t number(uint32_t slot, uint32_t copy) const {
    return first[slot] + copy;
  }
  uint32_t slotOf(uint32_t number) const { return slots[number]; }
  const ppx::SlotT &operator[](uint32_t number) const {
    return *program->slots[slots[number]];
  }
  uint64_t offset(uint32_t number) const {
    return offsetOf((*this)[number], number - first[slots[number]]);
  }

private:
  const ppx::ProgramT *program;
  std::vector<uint32_t> first; ///< number of the first copy, by slot
  std::vector<uint32_t> slots; ///< by number
};

/// An instruction as it runs. What does not depend on the call is reached by
/// `->`. Waits belong to the list.
class Instruction {
public:
  Instruction(const ppx::ProgramT &program, const ppx::InstructionT &written,
              const ppx::CallT &call)
      : its(&program), written(&written), call(&call) {}

  const ppx::InstructionT *operator->() const { return written; }
  const ppx::InstructionT &operator*() const { return *written; }
  const ppx::ProgramT &program() const { return *its; }

  /// -1 if it belongs to none.
  int32_t microBatch() const {
    return call->micro_batch >= 0 ? call->micro_batch : written->micro_batch;
  }
  size_t slotCount() const { return written->arguments.size(); }
  /// The slot that argument `i` names.
  const ppx::SlotT &slot(size_t i) const {
    return *its->slots[written->arguments[i]];
  }
  /// Which of a slot's copies the instruction has.
  uint32_t copyOf(uint32_t slot) const {
    const size_t more = its->slots[slot]->more.size();
    return more == 0 ? 0
                     : uint32_t(std::max(microBatch(), 0)) % uint32_t(more + 1);
  }
  uint32_t copy(size_t i) const { return copyOf(written->arguments[i]); }
  /// Where that begins in the arena.
  uint64_t offset(size_t i) const { return offsetOf(slot(i), copy(i)); }

private:
  const ppx::ProgramT *its;
  const ppx::InstructionT *written;
  const ppx::CallT *call;
};

/// All instructions that one section of a program runs, in the order of calls.
class InstructionList {
public:
  /// Calls of routines that do not exist count as empty.
  InstructionList(const ppx::ProgramT &program, Section section);

  size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
  Instruction operator[](size_t index) const {
    const Item &item = items[index];
    return {*program, *written[item.number], callAt(item)};
  }
  Instruction back() const { return (*this)[size() - 1]; }

  /// Instructions that differ only in the call have one number.
  uint32_t numberOf(size_t index) const { return items[index].number; }
  uint32_t routineOf(size_t index) const {
    return callAt(items[index]).routine;
  }
  size_t numberCount() const { return written.size(); }

  /// Calls `visit(queue, count)` for each wait of an instruction, with counts
  /// from the begin of the section on.
  template <typename Visitor>
  void forEachWait(size_t index, Visitor visit) const;
  /// The same for those that only this call has.
  template <typename Visitor>
  void forEachCallWait(size_t index, Visitor visit) const;
  /// Returns the same.
  std::vector<ppx::Wait> waits(size_t index) const;

  /// Goes through the instructions.
  class Iterator {
  public:
    Iterator(const InstructionList &list, size_t index)
        : list(&list), index(index) {}
    Instruction operator*() const { return (*list)[index]; }
    Iterator &operator++() {
      ++index;
      return *this;
    }
    bool operator!=(const Iterator &other) const {
      return index != other.index;
    }

  private:
    const InstructionList *list;
    size_t index;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

private:
  struct Item {
    uint32_t number, call;
  };
  const ppx::CallT &callAt(const Item &item) const {
    return *(*calls)[item.call];
  }

  const ppx::ProgramT *program;
  const std::vector<std::unique_ptr<ppx::CallT>> *calls;
  std::vector<const ppx::InstructionT *> written; ///< by number
  std::vector<uint32_t> firstOfRoutine;           ///< numbers
  std::vector<Item> items;
  /// By call and queue, how many instructions of it the calls before have.
  std::vector<uint32_t> before;
};

template <typename Visitor>
void InstructionList::forEachWait(size_t index, Visitor visit) const {
  const Item &item = items[index];
  const size_t queues = program->queues.size();
  for (const ppx::Wait &wait : written[item.number]->waits) {
    const uint64_t base =
        wait.queue() < queues ? before[item.call * queues + wait.queue()] : 0;
    visit(wait.queue(),
          uint32_t(std::min<uint64_t>(base + wait.count(),
                                      std::numeric_limits<uint32_t>::max())));
  }
  forEachCallWait(index, visit);
}

template <typename Visitor>
void InstructionList::forEachCallWait(size_t index, Visitor visit) const {
  const Item &item = items[index];
  const ppx::CallT &call = callAt(item);
  if (call.waits.empty())
    return;
  const uint32_t place = item.number - firstOfRoutine[call.routine];
  auto next = std::partition_point(
      call.waits.begin(), call.waits.end(),
      [&](const ppx::CallWait &wait) { return wait.instruction() < place; });
  for (; next != call.waits.end() && next->instruction() == place; ++next)
    visit(next->queue(), next->count());
}

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_INSTRUCTIONLIST_H

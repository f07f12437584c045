//===- Mutations.h - one wrong thing in a valid program ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a faulty compiler: an instruction too many or too few, in another
// place, with another operand, partner, name or wait; a slot in another place.
// Most results are wrong, some are another valid program: the checks must tell
// them apart.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_MUTATIONS_H
#define PP_TEST_RUNTIME_MUTATIONS_H

#include "ProgramBuilder.h"

#include <optional>
#include <random>

namespace pprt::test {

enum class Mutation {
  swap,       ///< two instructions change places
  drop,       ///< an instruction is missing
  duplicate,  ///< an instruction comes twice
  peer,       ///< a transfer is with another stage
  offset,     ///< a slot lies elsewhere in the arena
  wait,       ///< a wait is missing
  count,      ///< a wait counts to another instruction
  slot,       ///< an argument is another slot
  tag,        ///< another phase, stage or micro-batch
  group,      ///< a collective of another group
  axes,       ///< a group over other axes or stages
  queue,      ///< an instruction in another queue
  collective, ///< another kind, reduction, dimension or target
  call,       ///< a call is for another micro-batch, elsewhere, or missing
  copies      ///< a slot has another number of copies
};
constexpr size_t kMutations = size_t(Mutation::copies) + 1;
/// Those of programs of one call.
constexpr size_t kFlatMutations = size_t(Mutation::call);
const char *nameOf(Mutation mutation);

/// Whether a program that stays valid after the mutation must compute the same:
/// the mutation removes an order, or moves memory, and adds nothing.
inline bool keepsMeaning(Mutation mutation) {
  return mutation == Mutation::wait || mutation == Mutation::offset;
}

class Mutator {
public:
  Mutator(ppx::ArtifactT &artifact, std::mt19937_64 &random);

  /// Changes one thing, on one rank unless it is a group. Returns false if the
  /// artifact has nothing of the kind.
  bool apply(Mutation mutation);
  /// Opcode of the changed instruction; none if it was a slot or a group.
  std::optional<ppx::Opcode> touched() const { return opcode; }

private:
  size_t pick(size_t count) { return size_t(random() % count); }
  /// Returns any index that may change.
  size_t pickPlace() { return touch(pick(listEnd())); }
  size_t touch(size_t index) {
    opcode = (*list)[index]->opcode;
    return index;
  }
  /// Returns an index of the list that `accept` takes, or the list's size.
  template <typename Accept> size_t pickWhere(Accept accept);
  /// End of the part that may change: a step stays where it is.
  size_t listEnd() const;
  void renumber(size_t i, size_t j);
  void shiftWaits(uint32_t queue, uint32_t from, int by);
  uint32_t countUpTo(size_t end) const;

  bool swap();
  bool drop();
  bool duplicate();
  bool changePeer();
  bool moveSlot();
  bool removeWait();
  bool changeCount();
  bool changeSlot();
  bool changeTag();
  bool changeGroup();
  bool changeAxes();
  bool changeQueue();
  bool changeCollective();
  bool changeCall();
  bool changeCopies();

  ppx::ArtifactT &artifact;
  std::mt19937_64 &random;
  // The target: a section of the program of one rank, or a routine of it.
  ppx::ProgramT *program = nullptr;
  WrittenList *list = nullptr;
  bool inBody = false;
  std::optional<ppx::Opcode> opcode;
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_MUTATIONS_H

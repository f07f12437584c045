//===- Checks.h - what is proved before a run -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact, as the compiler made it or as it was loaded from a file.
// Out: findings. An artifact without findings runs to its end on every backend
// that keeps the model below, and computes the same bits in every interleaving.
//
// The model of execution that the checks prove things about, and that every
// backend must keep:
//  - A section (the setup, one body, the teardown) begins when the section
//    before it has completed on the same rank. Other ranks may be elsewhere.
//  - The instructions of one queue run one after another, in list order. The
//    queue's head starts when its waits hold; queues are otherwise independent.
//  - A send and its receive, and the members of a collective, meet: a member
//    completes only after all members have started that it sends elements to or
//    receives them from. It may wait for the others, too.
//  - A rank's memory is ordered by its own queues and waits alone: no check
//    relies on an order that exists only through messages of other ranks.
//  - The slots of parameters and states are defined before the setup, and
//    read by the host between sections. Everything else must be written before
//    it is read. What is read was last written through the same slot.
//
// Backends may thus differ in how many members of a comm op a member waits for:
// in a permute or with empty messages, threads wait for all members, processes
// for those that exchange data with them. Both are covered. Deadlock is judged
// as if each member waited for all; a member that waits for fewer completes no
// later, so it adds no deadlock. Races and clobbers are judged by the orders
// within one rank, and waiting for other members adds no order that is relied
// upon. A member has waited for everything it receives, so the bits are the
// same.
//
// Each check takes time linear in the instructions that distinct programs run,
// their arguments and waits (times the few queues of a rank and a logarithm for
// the order on memory), and in the members of groups; where ranks of one
// program meet ranks of different ones, as if they had programs of their own.
// Only refused artifacts are examined rank by rank. CheckResult::operations
// counts the elementary steps taken, so that tests need no clock.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_CHECKS_H
#define PPRT_CHECKS_H

#include "pprt/Ranks.h"
#include "pprt/Status.h"

#include <functional>
#include <optional>

#pragma GCC visibility push(default)
namespace pprt {

enum class FindingKind {
  structure, ///< not a well-formed program; nothing else was checked
  memory,    ///< the arena exceeds the device's memory
  race,      ///< two accesses to the same bytes without an order
  clobber,   ///< a read of bytes not written, or last through another slot, or
             ///< for another micro-batch, or of a sum that lacks one
  mismatch,  ///< the two ends of a transfer, or members of a group, disagree
  deadlock   ///< a cycle of instructions that wait for each other
};

struct Finding {
  FindingKind kind;
  /// Complete: names the rank and the instructions.
  std::string message;
  std::optional<uint32_t> rank;
  std::optional<InstructionRef> instruction;
};

struct CheckOptions {
  /// Bytes of one device, if the arenas must fit a limit.
  std::optional<uint64_t> memoryLimit;
  /// Calls its second argument with each number below the first, in any order
  /// and on any threads; if empty, one after another on this one. Programs are
  /// checked so, and communication beside them.
  std::function<void(size_t, const std::function<void(size_t)> &)> forEach;
};

struct CheckResult {
  std::vector<Finding> findings;
  uint64_t operations = 0;
  bool lacksMemory = false; ///< for the checks themselves: some were not made

  bool ok() const { return findings.empty() && !lacksMemory; }
  bool has(FindingKind kind) const;
  /// One line per finding, under the exit code of the first: 3 for structure, 4
  /// for memory, also if the checks run out of it, 5 for the others.
  Status status() const;
};

/// Makes all checks. Those after the structure assume that it holds, clobbering
/// assumes that there are no races, and deadlock that communication matches; a
/// check whose assumption fails is left out.
CheckResult checkArtifact(const ppx::ArtifactT &artifact,
                          const CheckOptions &options = {});

/// Makes only the first of them: indices, sizes, alignment, kinds.
CheckResult checkStructure(const ppx::ArtifactT &artifact);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_CHECKS_H

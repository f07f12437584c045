//===- CommOps.h - members of comm ops, and their agreement -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: sends, receives and collectives, each as it arrives at the head of its
// queue. Out: the members of a comm op when the last of them arrives. A send
// meets the receive on the other side of its edge, a collective the other
// members of its group, whatever their operands: whether these agree is checked
// afterwards. Queues are assumed to keep their order, so that an edge or a
// group has one comm op at a time.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_COMMOPS_H
#define PPRT_BACKENDS_REFERENCE_COMMOPS_H

#include "pprt/Mesh.h"
#include "pprt/Ppx.h"

#include <map>
#include <tuple>
#include <vector>

namespace pprt::reference {

/// A queue of a rank.
struct QueueRef {
  uint32_t rank, queue;
};

/// One side of a comm op: its instruction, and its section.
struct Side {
  const ppx::ProgramT &program;
  const ppx::InstructionT &instruction;
  uint32_t run;
};

/// Whether two sides expect the same comm op.
bool agree(const Side &a, const Side &b);

class CommOps {
public:
  CommOps(const ppx::ArtifactT &artifact, const Mesh &mesh)
      : artifact(artifact), mesh(mesh) {}

  /// Returns all members if `ref`, which is at `instruction`, arrives last;
  /// none if others are missing. A send is member 0 and its receive member 1;
  /// members of a collective have the order of their group.
  std::vector<QueueRef> arrive(QueueRef ref,
                               const ppx::InstructionT &instruction);

  /// Whether other members wait for `ref` at `instruction`.
  bool isExpected(QueueRef ref, const ppx::InstructionT &instruction) const;

private:
  /// The carrier of a comm op: an edge, or an instance of a group.
  using Key = std::tuple<ppx::Opcode, uint32_t, uint32_t>;
  Key keyOf(QueueRef ref, const ppx::InstructionT &instruction) const;

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  /// The members that have arrived.
  std::map<Key, std::map<uint32_t, QueueRef>> waiting;
};

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_COMMOPS_H

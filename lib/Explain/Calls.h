//===- Calls.h - the collectives of a program, with causes ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The instructions that send, with the figures of the artifact and the causes
// that passes left in their locations.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPLAIN_CALLS_H
#define PP_LIB_EXPLAIN_CALLS_H

#include "pp/IR/PP.h"
#include "pp/Schedule/Topology.h"
#include "pp/Transforms/Cause.h"
#include "pprt/Communication.h"

namespace pp {

/// Calls of one step that are alike in all but where they are.
struct Calls {
  std::string axes;
  pprt::CommunicationKind kind;
  Phase phase;
  /// The ranks of its groups, or of which stage to which a message goes.
  std::string groups;
  int64_t count = 0;
  /// For one call: its tensors, its size as in reports, the bytes that a rank
  /// sends, and the predicted time.
  int64_t tensors = 0;
  uint64_t bytes = 0, wireBytes = 0;
  double seconds = 0;

  /// The value, the cause and its sources; the names of the places with this
  /// reason, with numbers as `*`, and their count.
  struct Reason {
    std::string text;
    std::vector<std::string> origins, readers, alternatives;
    std::vector<std::pair<std::string, int64_t>> subjects;
  };
  std::vector<Reason> reasons;
};

/// `sum over tp`; empty if nothing is partial.
std::string spellPartial(ShardingAttr sharding);

/// The calls of one program, those that take most time first.
std::vector<Calls> collectCalls(ProgramOp program, MeshAttr mesh,
                                const pprt::ppx::ArtifactT &artifact,
                                const pprt::Mesh &ranks,
                                const pprt::ppx::ProgramT &written,
                                const schedule::Topology &topology);

} // namespace pp

#endif // PP_LIB_EXPLAIN_CALLS_H

//===- Leading.h - calls that other processes repeat ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A session that leads tells all other processes what it is asked to do, before
// it does it. There each has a session of its own under the same number, and
// makes the same calls in the same order: see followSessions().
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_LEADING_H
#define PPRT_ENGINE_LEADING_H

#include "pprt/World.h"

#include <vector>

namespace pprt {

enum class CallKind : uint64_t {
  create, ///< of the artifact in `bytes`, with so many threads a rank
  initialize,
  setArgument,
  getArgument,
  setInput,
  begin,
  submit,
  wait,
  end,
  collect,
  destroy,
  finish ///< of no session: nothing follows
};

struct Call {
  CallKind kind = CallKind::finish;
  uint64_t session = 0;
  uint64_t number = 0; ///< the argument; the seed; the threads
  double seconds = 0;  ///< after which a session hangs
  bool graph = true;   ///< whether it records a step
  std::string device;  ///< that a session is created on
  std::vector<std::byte> bytes;
};

/// By process 0.
Status tell(World &world, const Call &call);
/// By the others.
Expected<Call> listen(World &world);

} // namespace pprt

#endif // PPRT_ENGINE_LEADING_H

//===- Leading.h - calls that other processes repeat ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A session that leads announces each of its calls to all other processes
// before it executes it. Each of them has a session of its own under the same
// number, and makes the same calls in the same order: see followSessions().
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_LEADING_H
#define PPRT_ENGINE_LEADING_H

#include "pprt/World.h"

#include <vector>

namespace pprt {

enum class CallKind : uint64_t {
  create, ///< the artifact in `bytes`, `number` threads a rank
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
  finish ///< without a session; the last call
};

struct Call {
  CallKind kind = CallKind::finish;
  uint64_t session = 0;
  uint64_t number = 0; ///< argument, seed or threads
  double seconds = 0;  ///< hang timeout of a session
  bool graph = true;   ///< whether a session records a step
  std::string device;  ///< of the session that is created
  std::vector<std::byte> bytes;
};

/// Called by process 0.
Status tell(World &world, const Call &call);
/// Called by the other processes.
Expected<Call> listen(World &world);

} // namespace pprt

#endif // PPRT_ENGINE_LEADING_H

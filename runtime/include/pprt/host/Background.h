//===- Background.h - one task beside the caller ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One thread, its caller's, starts and awaits the tasks of an object.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_BACKGROUND_H
#define PPRT_HOST_BACKGROUND_H

#include "pprt/Status.h"

#include <functional>
#include <memory>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Runs a task at a time on a thread; in start() if the system refuses one.
class Background {
public:
  Background();
  /// Waits for the task.
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  /// Assumes that the last task was waited for.
  void start(std::function<Status()> task);
  /// Whether finish() would wait.
  bool isBusy() const;
  /// Waits for the task and returns its result.
  Status finish();

private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state;
};

/// Calls body(i, thread) for all i < count, on up to `threads` threads, which
/// are numbered from 0. Begins none behind a failure, and returns that of the
/// least i.
Status
forEachAtOnce(size_t count, size_t threads,
              const std::function<Status(size_t i, size_t thread)> &body);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_BACKGROUND_H

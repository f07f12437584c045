//===- Thread.h - a thread that may be refused ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// std::thread throws when the system has no thread left, and containers often
// allow few. This class returns a failure instead.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_THREAD_H
#define PPRT_ENGINE_THREAD_H

#include "pprt/Status.h"

#include <functional>
#include <optional>
#include <pthread.h>

namespace pprt {

class Thread {
public:
  Thread() = default;
  Thread(Thread &&other) noexcept;
  Thread &operator=(Thread &&) = delete;
  ~Thread() { join(); }

  /// Calls `body` on a new thread. Returns false if the system refuses one.
  [[nodiscard]] bool start(std::function<void()> body);
  /// Waits for the end of `body`, if it was started and not detached.
  void join();
  /// Lets the thread run on without being joined.
  void detach();

private:
  std::optional<pthread_t> handle;
};

/// The failure to report when it does.
Status refusedThread();

} // namespace pprt

#endif // PPRT_ENGINE_THREAD_H

//===- Thread.cpp - a thread that may be refused --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Thread.h"
#include "pprt/Lack.h"

#include <memory>
#include <utility>

using namespace pprt;

using Body = std::function<void()>;

static void *call(void *argument) {
  const std::unique_ptr<Body> body(static_cast<Body *>(argument));
  (*body)();
  return nullptr;
}

Thread::Thread(Thread &&other) noexcept
    : handle(std::exchange(other.handle, std::nullopt)) {}

bool Thread::start(Body body) {
  auto owned = std::make_unique<Body>(std::move(body));
  pthread_t created;
  if (pthread_create(&created, nullptr, call, owned.get()) != 0)
    return false;
  owned.release(); // call() frees it
  handle = created;
  return true;
}

void Thread::join() {
  if (handle)
    pthread_join(*std::exchange(handle, std::nullopt), nullptr);
}

void Thread::detach() {
  if (handle)
    pthread_detach(*std::exchange(handle, std::nullopt));
}

Status pprt::refusedThread() {
  return findLack("a thread of a rank", 16 << 20, // its stack, and a heap
                  Status(ExitCode::device,
                         "cannot start a thread for each rank and its "
                         "team; use fewer ranks or threads"));
}

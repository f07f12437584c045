//===- Shortage.cpp - ends for lack of memory or threads ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Handlers run in signals and with little memory, so they only write lines that
// were prepared and end the process.
//
//===----------------------------------------------------------------------===//
#include "Process.h"
#include "pprt/Lack.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <malloc.h>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using pprt::ExitCode;

/// A thread's stack and a heap: where so much is refused, it is memory that
/// lacks.
static constexpr uint64_t kRoomBytes = 16 << 20;

static constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGABRT};

static constexpr char kOutOfMemory[] =
    "out of memory: the system refuses more (ulimit -v); raise the limit, or "
    "use a smaller model or fewer ranks";

/// Enough to tell other processes.
static constexpr size_t kKeptBytes = 1 << 20;
static void *kept = nullptr;
static std::function<void(const pprt::Status &)> tellOthers;

static const char *toolName = nullptr;
static void (*removeUnfinished)() = nullptr;
/// The previous handlers, for faults without a shortage.
static struct sigaction others[std::size(kFaults)];
/// The stack of the first thread may have no room left.
alignas(16) static char faultStack[64 << 10];

/// Calls nothing that a signal's handler may not, nor takes memory.
[[noreturn]] static void end(ExitCode code, const char *message) {
  for (const char *part : {toolName, ": error: ", message, "\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  removeUnfinished();
  _exit(int(code));
}

[[noreturn]] static void endHere() { end(ExitCode::outOfMemory, kOutOfMemory); }

void pp::tellOfShortage(std::function<void(const pprt::Status &)> tell) {
  kept = std::malloc(kKeptBytes);
  tellOthers = std::move(tell);
}

void pp::endWithoutMemory() {
  static std::atomic<bool> isTelling{false};
  static thread_local bool tells = false;
  if (!tellOthers || tells)
    endHere();
  if (isTelling.exchange(true))
    while (true)
      pause(); // another thread tells, and ends this one
  tells = true;
  std::free(kept);
  tellOthers(pprt::Status(ExitCode::outOfMemory, kOutOfMemory));
  endHere();
}

void pp::endWithoutThread() {
  if (!pprt::hasRoom(kRoomBytes))
    endWithoutMemory();
  end(ExitCode::device,
      "cannot start a thread for the compiler; raise ulimit -u");
}

extern "C" {
static void endIfShort(int signal) {
  if (!pprt::hasRoom(kRoomBytes))
    endHere();
  for (size_t i = 0; i < std::size(kFaults); ++i)
    if (kFaults[i] == signal)
      sigaction(signal, &others[i], nullptr);
  raise(signal); // once this returns
}
}

static bool isAddressSpaceLimited() {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void pp::guardAgainstShortage(const char *tool, void (*cleanUp)()) {
  toolName = tool;
  removeUnfinished = cleanUp;
  std::set_new_handler(endWithoutMemory);
  if (!isAddressSpaceLimited())
    return;
  // If a thread's heap is refused, glibc asks the system again for each
  // allocation: a run takes minutes. One heap for all threads needs less.
  mallopt(M_ARENA_MAX, 1);
  stack_t stack = {};
  stack.ss_sp = faultStack;
  stack.ss_size = sizeof(faultStack);
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = endIfShort;
  action.sa_flags = SA_ONSTACK;
  for (size_t i = 0; i < std::size(kFaults); ++i)
    sigaction(kFaults[i], &action, &others[i]);
}

//===- Process.cpp - early ends of a tool ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Process.h"
#include "pprt/Files.h"
#include "pprt/Launcher.h"
#include "pprt/Status.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <unistd.h>

using pprt::ExitCode;

static const char *toolName = nullptr;

static void removeUnfinished() {
  pprt::removeUnfinishedFiles();
  llvm::sys::RunInterruptHandlers(); // LLVM's own temporary files
}

static void endInterrupted() {
  // In a signal's handler nothing else may print.
  for (const char *part : {toolName, ": interrupted: there are no results\n"})
    if (!pp::tellsOfSignals ||
        ::write(STDERR_FILENO, part, std::strlen(part)) < 0)
      break;
  removeUnfinished();
  _exit(int(ExitCode::interrupted));
}

/// Not by exit(): static objects may be in destruction already.
[[noreturn]] static void endUnwritten() {
  removeUnfinished();
  _exit(int(ExitCode::io));
}

/// LLVM allocates by malloc(), too.
static void reportAllocation(void *, const char *, bool) {
  pp::endWithoutMemory();
}

static void reportFatal(void *, const char *reason, bool) {
  if (llvm::StringRef(reason).starts_with("pthread_create failed"))
    pp::endWithoutThread();
  llvm::errs() << toolName << ": error: " << reason << "\n";
  if (llvm::StringRef(reason).starts_with("IO failure"))
    endUnwritten();
}

/// LLVM does not check the stream of its own help.
static void checkStandardOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return;
  llvm::errs() << toolName << ": error: standard output: cannot write: "
               << llvm::outs().error().message() << "\n";
  endUnwritten();
}

/// LLVM takes over signals when it first notes a temporary file, also those
/// that the caller ignores, as nohup does. It does so once: here, where the
/// ignored ones are restored.
static void takeOverSignals() {
  constexpr int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR2};
  struct sigaction inherited[std::size(signals)];
  for (size_t i = 0; i < std::size(signals); ++i)
    sigaction(signals[i], nullptr, &inherited[i]);
  llvm::sys::SetInterruptFunction(endInterrupted);
  for (size_t i = 0; i < std::size(signals); ++i)
    if (inherited[i].sa_handler == SIG_IGN)
      sigaction(signals[i], &inherited[i], nullptr);
}

bool pp::isFirstProcess() {
  const std::optional<pprt::Launched> its = pprt::findLauncher();
  return !its || its->rank == 0;
}

void pp::guardProcess(const char *tool) {
  toolName = tool;
  const std::optional<pprt::Launched> launched = pprt::findLauncher();
  tellsOfSignals = !launched || !launched->isOneOfSeveral();
  pprt::holdStandardStreams();
  llvm::install_fatal_error_handler(reportFatal);
  // llvm::InitLLVM has operator new call it as well.
  llvm::install_bad_alloc_error_handler(reportAllocation);
  llvm::outs(); // both are destroyed after the check
  llvm::errs();
  std::atexit(checkStandardOutput);
  takeOverSignals();
  guardAgainstShortage(tool, removeUnfinished);
  // A file that grows beyond `ulimit -f` is a failure like others.
  std::signal(SIGXFSZ, SIG_IGN);
}

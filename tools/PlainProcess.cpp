//===- PlainProcess.cpp - early ends of a tool without LLVM ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The work of Process.cpp without LLVM, which would install signal handlers.
//
//===----------------------------------------------------------------------===//
#include "Process.h"
#include "pprt/Files.h"
#include "pprt/Launcher.h"
#include "pprt/Status.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

static const char *toolName = nullptr;

extern "C" {
static void endInterrupted(int) {
  // In a signal's handler nothing else may print.
  for (const char *part : {toolName, ": interrupted: there are no results\n"})
    if (!pp::tellsOfSignals ||
        ::write(STDERR_FILENO, part, std::strlen(part)) < 0)
      break;
  pprt::removeUnfinishedFiles();
  _exit(int(pprt::ExitCode::interrupted));
}
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
  struct sigaction action = {};
  action.sa_handler = endInterrupted;
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR2}) {
    struct sigaction inherited;
    sigaction(signal, nullptr, &inherited);
    // As nohup leaves them.
    if (inherited.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  guardAgainstShortage(tool, pprt::removeUnfinishedFiles);
  // A file that grows beyond `ulimit -f` is a failure like others.
  std::signal(SIGXFSZ, SIG_IGN);
}

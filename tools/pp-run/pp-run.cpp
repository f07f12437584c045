//===- pp-run.cpp - trains a model, partitioned over devices --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "Run.h"
#include "pp/IR/Version.h"

#include <iostream>
#include <new>
#include <unistd.h>

/// Memory that cannot be had ends the process here, as nothing throws.
[[noreturn]] static void endWithoutMemory() {
  static constexpr char message[] = "pp-run: error: out of memory\n";
  (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
  _exit(int(pprt::ExitCode::outOfMemory));
}

int main(int argc, char **argv) {
  std::set_new_handler(endWithoutMemory);
  pprt::Expected<pp::run::Options> options = pp::run::parseOptions(argc, argv);
  if (options && options->help) {
    std::cout << pp::run::describeOptions();
    return 0;
  }
  if (options && options->version) {
    std::cout << pp::describeVersion() << "\n";
    return 0;
  }
  const pprt::Status status =
      options ? pp::run::run(*options) : options.status();
  if (status.ok())
    return 0;
  // Diagnostics of the compiler come with their locations.
  const bool isDiagnostic = status.code() == pprt::ExitCode::doesNotCompile;
  std::cerr << (isDiagnostic ? "" : "pp-run: error: ") << status.message()
            << std::endl;
  // A kernel that hangs may still use what a proper end would destroy.
  if (status.code() == pprt::ExitCode::hang) {
    std::cout.flush();
    _exit(int(status.code()));
  }
  return static_cast<int>(status.code());
}

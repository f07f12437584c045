//===- pp-run.cpp - trains a model, partitioned over devices --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the options, runs them or has a process do so, and turns the status
// into the exit code.
//
//===----------------------------------------------------------------------===//
#include "../Process.h"
#include "Launch.h"
#include "Options.h"
#include "Run.h"
#include "Supervisor.h"
#include "pp/IR/Version.h"

#include <iostream>
#include <unistd.h>

int main(int argc, char **argv) {
  pp::guardProcess("pp-run");
  pprt::Expected<pp::run::Options> options = pp::run::parseOptions(argc, argv);
  pprt::Status status = options.status();
  if (options && options->help)
    std::cout << pp::run::describeOptions();
  else if (options && options->version)
    std::cout << pp::describeVersion() << "\n";
  else if (options && pp::run::isSupervised(*options))
    status = pp::run::supervise(*options, argc, argv);
  else if (options)
    status = pp::run::run(*options);
  if (!std::cout.flush() && status.ok())
    status = {pprt::ExitCode::io, "standard output: cannot write"};
  if (status.ok())
    return 0;
  if (!status.message().empty()) {
    pp::run::letFirstTell();
    pp::run::printError(status);
  }
  // A kernel that is still running may use memory that a normal exit would
  // free.
  _exit(int(status.code()));
}

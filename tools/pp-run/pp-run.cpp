//===- pp-run.cpp - trains a model, partitioned over devices --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "Run.h"

#include <iostream>

int main(int argc, char **argv) {
  pprt::Expected<pp::run::Options> options = pp::run::parseOptions(argc, argv);
  if (options && options->help) {
    std::cout << pp::run::describeOptions();
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
  return static_cast<int>(status.code());
}

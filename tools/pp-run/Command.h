//===- Command.h - the command of a job -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the words of pp-run's own command line, which are valid options, and of
// --launcher. Out: the words of a command that starts the same job, that lets
// it go on from its checkpoints, or that runs it on fewer devices.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_COMMAND_H
#define PP_RUN_COMMAND_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pp::run {

/// Splits at blanks outside of quotes, without expanding anything; nothing if a
/// quote does not end.
std::optional<std::vector<std::string>> splitWords(std::string_view text);

/// Whether the system finds a program of this name, by PATH if the name has no
/// slash.
bool isProgram(const std::string &name);

/// The size of the axis dp that keys of --parallelize give; nothing if they do
/// not.
std::optional<uint64_t> dataParallelOf(std::string_view keys);

/// How many processes a launcher is told to start, as in `mpirun -n 4`; nothing
/// if it is not told.
std::optional<uint64_t>
processCountOf(const std::vector<std::string> &launcher);

struct Command {
  std::vector<std::string> launcher; ///< empty: none
  std::vector<std::string> options;  ///< of pp-run
};

/// The job of a command line, without the options that its supervisor obeys.
Command commandOf(int argc, const char *const *argv,
                  const std::vector<std::string> &launcher);

/// The same job, which goes on from the newest checkpoint of --checkpoint.
Command resumed(Command command);

/// The same job with `dp` members of data parallelism in place of `before`, and
/// as much fewer processes. No process lacks a rank, as they are rounded down.
Command shrunk(Command command, uint64_t before, uint64_t dp);

} // namespace pp::run

#endif // PP_RUN_COMMAND_H

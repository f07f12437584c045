//===- Status.h - success, or an exit code and a message --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing in the runtime throws or aborts on user input. A function that can
// fail returns a Status, or an Expected<T> if it also has a value. A failure
// carries the process's exit code and one message that names the place, what
// was expected and what was found.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_STATUS_H
#define PPRT_STATUS_H

#include <optional>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace pprt {

/// The exit codes of the tools; part of the public interface.
enum class ExitCode : int {
  ok = 0,
  doesNotCompile = 1,
  usage = 2,
  badArtifact = 3,
  outOfMemory = 4,
  checkFailed = 5,
  ranksDisagree = 6,
  verifyDiffers = 7,
  rankDied = 10,
  hang = 11,
  nonFinite = 12,
  badParameters = 13,
  io = 14,
  device = 15,
  interrupted = 130
};

/// Success, or an exit code other than `ok` with a message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ExitCode code, std::string message)
      : exitCode(code), text(std::move(message)) {}

  bool ok() const { return exitCode == ExitCode::ok; }
  ExitCode code() const { return exitCode; }
  const std::string &message() const { return text; }

private:
  ExitCode exitCode = ExitCode::ok;
  std::string text;
};

/// A value, or the Status that explains why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : content(std::move(value)) {}
  Expected(Status failure) : failure(std::move(failure)) {}

  bool ok() const { return content.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Valid only after ok() returned true.
  T &operator*() { return *content; }
  const T &operator*() const { return *content; }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

  const Status &status() const { return failure; }

private:
  std::optional<T> content;
  Status failure;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_STATUS_H

//===- WaitingLine.h - what a terminal shows of a long wait -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For work that reports nothing itself, such as compiling. Short work shows
// nothing.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_WAITINGLINE_H
#define PPRT_HOST_WAITINGLINE_H

#include <chrono>
#include <memory>
#include <ostream>
#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Shows `compiling ... 12 s` after the first second and erases it at the end.
/// Nobody else may write to the terminal meanwhile.
class WaitingLine {
public:
  /// A line is drawn every `second`. Without `shows` there is none.
  WaitingLine(std::ostream &out, std::string what, bool shows,
              std::chrono::milliseconds second = std::chrono::seconds(1));
  ~WaitingLine();
  WaitingLine(const WaitingLine &) = delete;
  WaitingLine &operator=(const WaitingLine &) = delete;

private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state; ///< null: shows nothing
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_WAITINGLINE_H

//===- Side.h - one way to compute, in a process of its own -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The system places a process's threads by what ran in it before: in one
// process the threads of one library decide where those of the next wake, at
// worst both on one core. So every side has its own process, and each runs only
// in its turn.
//
//===----------------------------------------------------------------------===//
#ifndef PP_BENCHMARKS_SIDE_H
#define PP_BENCHMARKS_SIDE_H

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

/// The work of a side's process.
struct Work {
  std::string name;            ///< empty: nothing
  double sum = 0;              ///< of the result: all sides must agree on it
  std::function<void()> again; ///< computes once more
};

class Side {
public:
  /// If `processor`, a time is the processor time of all `threads`, divided by
  /// their number.
  struct Clock {
    bool processor;
    unsigned threads;
  };

  /// Starts a process that calls `create` and waits for its turns. Assumes that
  /// this process has one thread. Returns nothing if the other cannot run.
  static std::optional<Side> start(const std::function<Work()> &create,
                                   Clock clock);
  Side(Side &&other) noexcept;
  Side &operator=(Side &&other) = delete;
  ~Side();

  const std::string &name() const { return itsName; }
  double sum() const { return itsSum; }
  /// Computes for some time and adds to times(); false if the process ended.
  bool takeTurn(double seconds);
  const std::vector<double> &times() const { return milliseconds; }

private:
  Side(pid_t process, int requests, int replies)
      : process(process), requests(requests), replies(replies) {}

  pid_t process;
  int requests, replies;
  std::string itsName;
  double itsSum = 0;
  std::vector<double> milliseconds;
};

#endif // PP_BENCHMARKS_SIDE_H

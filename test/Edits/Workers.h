//===- Workers.h - trials that may crash ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs numbered trials in processes of their own, so that one that ends in a
// signal, takes all memory or never ends is a finding like any other.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_EDITS_WORKERS_H
#define PP_TEST_EDITS_WORKERS_H

#include <cstdint>
#include <functional>
#include <string>

namespace pp::testing {

struct WorkerLimits {
  unsigned workers = 2;
  unsigned trialsPerProcess = 100;
  uint64_t memoryBytes = uint64_t(2) << 30; ///< resident, of one process
  unsigned seconds = 20;                    ///< of one trial
};

/// Calls `trial(k, folder)` for every k in [first, last) in some process, with
/// a folder that the trial has for itself, and hands what it returned to
/// `done`, in the calling process and in any order. A trial that did not
/// return is told by `died`, with the reason.
void runTrials(
    unsigned first, unsigned last, const WorkerLimits &limits,
    const std::function<std::string(unsigned, const std::string &)> &trial,
    const std::function<void(unsigned, const std::string &)> &done,
    const std::function<void(unsigned, const std::string &)> &died);

} // namespace pp::testing

#endif // PP_TEST_EDITS_WORKERS_H

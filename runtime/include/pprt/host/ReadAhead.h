//===- ReadAhead.h - batches read while a step runs -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: batches, and the number of steps that want one. Out: the same batches in
// the same order; a thread reads the next one while the caller computes. A
// batch that cannot be read fails when it is requested, not before.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_READAHEAD_H
#define PPRT_HOST_READAHEAD_H

#include "pprt/host/Batches.h"

#include <chrono>

#pragma GCC visibility push(default)
namespace pprt::host {

class ReadAhead {
public:
  /// Reads for steps [first, end). `batches` must outlive it.
  ReadAhead(const Batches &batches, uint64_t first, uint64_t end);
  /// Waits for a batch that is being read.
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// Returns the next step's batch in exchange for the memory of a used one.
  /// Fails like Batches::read, and then always. Assumes that there is a
  /// step left.
  Status next(Batch &batch);
  /// Waits at most `patience` for the batch of next(). Also returns true if no
  /// thread reads ahead: then next() reads.
  bool isReady(std::chrono::milliseconds patience);

private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_READAHEAD_H

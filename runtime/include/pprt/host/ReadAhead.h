//===- ReadAhead.h - batches read while a step runs -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: batches, and how many steps want one. Out: the same batches in the same
// order, the next of which a thread reads while the caller computes. A batch
// that cannot be read fails when it is asked for, not before.
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
  /// Of the steps [0, count). `batches` outlives it.
  ReadAhead(const Batches &batches, uint64_t count);
  /// Waits for a batch that is being read.
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// The next step's, in exchange for the memory of one that is no longer
  /// needed. Fails as Batches::read, and then always. Assumes less than `count`
  /// calls before.
  Status next(Batch &batch);
  /// Waits at most `patience` for a batch to be there for next(). True, too,
  /// where nothing reads ahead: then next() reads.
  bool isReady(std::chrono::milliseconds patience);

private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_READAHEAD_H

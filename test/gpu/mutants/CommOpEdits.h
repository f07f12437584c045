//===- CommOpEdits.h - single edits of calls of NCCL ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an edit, which of the calls that carry out comm ops of several GPUs
// (runtime/backends/cuda/Collectives.h) is left out or told something else.
// Out: what is wrong after two rounds of the table that all transports are held
// to, in one process.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_MEETINGEDITS_H
#define PP_TEST_GPU_MUTANTS_MEETINGEDITS_H

#include "Mutants.h"

#include <array>

namespace pprt::mutants {

enum class CommOpCall : uint8_t {
  wait,   ///< cuStreamWaitEvent
  record, ///< cuEventRecord
  copy,   ///< cuMemcpyDtoDAsync
  box,    ///< cuMemcpy3DAsync
  collective,
  message, ///< ncclSend, ncclRecv
  groupEnd,
};
constexpr size_t kCommOpCalls = size_t(CommOpCall::groupEnd) + 1;

enum class CommOpChange : uint8_t {
  drop,
  late, ///< behind the next such call
  twice,
  elsewhere, ///< the rank's other stream
  fewer,     ///< elements, bytes, or rows of a box
  type,
  operation,
  peer,
  from, ///< 16 bytes further
  to,   ///< the same
  pitch,
};

struct CommOpEdit {
  const char *name;
  CommOpCall call;
  CommOpChange change;
};
extern const std::vector<CommOpEdit> kCommOpEdits;

using CommOpCounts = std::array<uint64_t, kCommOpCalls>;
/// By call, which of its number can be edited: of waits and records those that
/// are not implied.
using CommPlaces = std::array<std::vector<uint64_t>, kCommOpCalls>;

/// Over the emulated libraries as they were set up; without an edit, what is
/// right.
Judged runCommOps(uint32_t worldSize, const CommOpEdit *edit, uint64_t number,
                  CommPlaces &places);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_MEETINGEDITS_H

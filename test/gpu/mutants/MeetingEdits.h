//===- MeetingEdits.h - single edits of calls of NCCL -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an edit, which of the calls that carry out meetings of several GPUs
// (runtime/backends/cuda/Collectives.h) is left out or told something else.
// Out: what is wrong after two rounds of the table that all transports are held
// to, in one process.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_MEETINGEDITS_H
#define PP_TEST_GPU_MUTANTS_MEETINGEDITS_H

#include "Children.h"

#include <array>

namespace pprt::mutants {

enum class MeetingCall : uint8_t {
  wait,   ///< cuStreamWaitEvent
  record, ///< cuEventRecord
  copy,   ///< cuMemcpyDtoDAsync
  box,    ///< cuMemcpy3DAsync
  collective,
  message, ///< ncclSend, ncclRecv
  groupEnd,
};
constexpr size_t kMeetingCalls = size_t(MeetingCall::groupEnd) + 1;

enum class MeetingChange : uint8_t {
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

struct MeetingEdit {
  const char *name;
  MeetingCall call;
  MeetingChange change;
};
extern const std::vector<MeetingEdit> kMeetingEdits;

using MeetingCounts = std::array<uint64_t, kMeetingCalls>;
/// By call, which of its number can be edited: of waits and records those that
/// are not implied.
using MeetingPlaces = std::array<std::vector<uint64_t>, kMeetingCalls>;

/// Over the stand-ins as they were set up; without an edit, what is right.
Judged runMeetings(uint32_t worldSize, const MeetingEdit *edit, uint64_t number,
                   MeetingPlaces &places);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_MEETINGEDITS_H

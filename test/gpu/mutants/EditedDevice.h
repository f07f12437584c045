//===- EditedDevice.h - a device that gets one call wrong -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a device whose streams run behind the host, and an edit: which call of
// which kind is left out, comes too late, goes to another stream, or is told
// other addresses. Out: a device for the enqueued executor that hands on all
// else unchanged, and counts how often each kind of call was made.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_EDITEDDEVICE_H
#define PP_TEST_GPU_MUTANTS_EDITEDDEVICE_H

#include "pprt/StreamDevice.h"

#include <array>
#include <optional>

namespace pprt::mutants {

/// A kind of call of an executor, or a part of one.
enum class Call : uint8_t {
  wait,
  record, ///< of an event that is not only for times
  launch,
  move, ///< launch() of what bind(BoundMove) made
  copy,
  flag,
  write,
  read,
  launchGraph,
  endCapture,
  ask,      ///< query()
  allocate, ///< device memory
  pin,      ///< memory of the host
  argument, ///< each of each Binding
  scalars,  ///< of a Binding
  gate,     ///< of a Binding that has one
  source,   ///< each of each BoundMove
  target,
  reduction, ///< of a BoundMove of several sources
};
constexpr size_t kCalls = size_t(Call::reduction) + 1;

enum class Change : uint8_t {
  drop,
  twice,
  elsewhere, ///< to the next stream
  behind,    ///< after the next call to the same stream, if that is record()
  half,      ///< of the bytes
  shift,     ///< an address, by `by`; of a copy, where it writes
  shiftFrom, ///< where it reads
  other,     ///< the first argument of the same binding; another reduction
  early,     ///< before the last call; a block freed while a section runs
  spoil,     ///< what is read, and what a write changes: see CallEdit::proof
};

/// One row of the table of edits.
struct CallEdit {
  const char *name;
  Call call;
  Change change;
  int64_t by = 0; ///< of spoil, whether the first half of a write stays
  /// Of an edit that changes nothing if nobody looks at what it touches: one
  /// that whoever looks at it must notice.
  std::optional<Change> proof = {};
  int64_t proofBy = 0;
};
extern const std::vector<CallEdit> kCallEdits;

using Counts = std::array<uint64_t, kCalls>;

/// Makes the edit at the `number`-th such call, from 0 on; none without an
/// edit. `counts` and `isMade`, whether it was made, outlive the device.
std::shared_ptr<enqueued::StreamDevice>
editDevice(std::shared_ptr<enqueued::StreamDevice> device, const CallEdit *edit,
           uint64_t number, Counts &counts, bool &isMade);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_EDITEDDEVICE_H

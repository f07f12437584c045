//===- ScalarRows.h - what launches know of where and when ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The scalars of a compiled kernel (see ppx.fbs) lie in the device's memory, a
// row for launches of each micro-batch and one for launches of none. A launch
// is bound to the address of its row, so that what was recorded once runs any
// step: of a row only the step changes, which the host writes before a section.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_SCALARROWS_H
#define PPRT_ENGINE_SCALARROWS_H

#include "pprt/Device.h"

#include <map>

namespace pprt {

class ScalarRows {
public:
  /// Of a rank with these coordinates.
  ScalarRows(const std::vector<uint32_t> &coordinates,
             const ppx::ProgramT &program);

  /// Of the device's memory, or as it fails.
  Status allocate(Device &device);
  /// Of a launch for a micro-batch of the program, or for none (-1).
  const std::byte *row(int32_t microBatch) const {
    return memory->address() + rows.at(microBatch) * sizeof(int64_t);
  }
  /// Before anything of the step is launched, and after all of the last one.
  /// What `stream` is given lies in `host`, of bytes(), until it is done.
  Status setStep(Stream &stream, int64_t step, std::byte *host) const;
  uint64_t bytes() const { return values.size() * sizeof(int64_t); }

private:
  const size_t width; ///< scalars from row to row: whole cache lines
  const size_t step;  ///< which scalar of a row it is
  /// By micro-batch; whatever numbers a program gives them.
  std::map<int32_t, size_t> rows;
  std::vector<int64_t> values;
  std::unique_ptr<Memory> memory;
};

} // namespace pprt

#endif // PPRT_ENGINE_SCALARROWS_H

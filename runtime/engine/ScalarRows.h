//===- ScalarRows.h - scalars of launches: place and time -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The scalars of a compiled kernel (see ppx.fbs) lie in the device's memory,
// one row for launches of each micro-batch and one for the others. A launch is
// bound to the address of its row, so a recorded launch runs any step: only the
// step changes in a row, and the host writes it before a section.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_SCALARROWS_H
#define PPRT_ENGINE_SCALARROWS_H

#include "pprt/Device.h"

#include <map>

namespace pprt {

class ScalarRows {
public:
  /// Makes the rows of a rank with these coordinates.
  ScalarRows(const std::vector<uint32_t> &coordinates,
             const ppx::ProgramT &program);

  /// Allocates the rows on the device. Fails as the device does.
  Status allocate(Device &device);
  /// Returns the row of launches for a micro-batch, or for none (-1).
  const std::byte *row(int32_t microBatch) const {
    return memory->address() + rows.at(microBatch) * sizeof(int64_t);
  }
  /// Called between the launches of the last step and of this one. The stream
  /// reads `host`, of bytes(), which must not change until it has.
  Status setStep(Stream &stream, int64_t step, std::byte *host) const;
  uint64_t bytes() const { return values.size() * sizeof(int64_t); }

private:
  const size_t width; ///< scalars from row to row: whole cache lines
  const size_t step;  ///< index of the step in a row
  /// By micro-batch, whose numbers are the program's.
  std::map<int32_t, size_t> rows;
  std::vector<int64_t> values;
  std::unique_ptr<Memory> memory;
};

} // namespace pprt

#endif // PPRT_ENGINE_SCALARROWS_H

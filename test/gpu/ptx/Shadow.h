//===- Shadow.h - who touched a byte, and when ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two threads touch a byte, one of them writes: unless a barrier is between, or
// both are atomic, that is a race, whatever order they happen to run in.
// Threads of different blocks have no barrier. What is read as constant, nobody
// may write at all, the reader neither.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_SHADOW_H
#define PP_TEST_GPU_PTX_SHADOW_H

#include "Ptx.h"

#include <array>
#include <unordered_map>

namespace ptx {

/// A thread at a moment.
struct Moment {
  uint32_t block = 0, thread = 0;
  uint32_t blockEpoch = 0; ///< barriers of the block that it has passed
  bool isAtomic = false;
  /// Reads what nobody writes during the launch, by its word (ld.global.nc).
  bool isNonCoherent = false;
};

class Shadow {
public:
  /// False, and `conflict`, if another access of these bytes is unordered.
  bool read(uint64_t address, uint64_t size, const Moment &moment,
            std::string &conflict) {
    return touch(address, size, moment, false, conflict);
  }
  bool write(uint64_t address, uint64_t size, const Moment &moment,
             std::string &conflict) {
    return touch(address, size, moment, true, conflict);
  }
  void collect(Accesses &accesses) const;

private:
  static constexpr uint64_t kPage = 1024;
  struct Access {
    uint32_t block = 0, thread = ~uint32_t(0), blockEpoch = 0;
    bool isAtomic = false;
    bool isThere() const { return thread != ~uint32_t(0); }
  };
  /// Of two readers one is another thread than whoever writes.
  struct Byte {
    Access writer, first, second, nonCoherent;
  };
  /// As long as every access takes all of them, its bytes are as one.
  static constexpr uint64_t kCell = 4;
  struct Cell {
    Byte whole;
    std::unique_ptr<std::array<Byte, kCell>> parts;
  };
  struct Page {
    Cell cells[kPage / kCell];
  };

  Cell &cellOf(uint64_t address);
  bool touch(uint64_t address, uint64_t size, const Moment &moment, bool writes,
             std::string &conflict);
  /// Who touched it without an order, and how; null if nobody did.
  static const Access *touch(Byte &byte, const Moment &moment, bool writes,
                             const char *&did);
  static bool isBefore(const Access &before, const Moment &now);
  /// The same, or neither disturbs the other.
  static bool isOrdered(const Access &before, const Moment &now);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Page *lastPage = nullptr;
};

} // namespace ptx

#endif // PP_TEST_GPU_PTX_SHADOW_H

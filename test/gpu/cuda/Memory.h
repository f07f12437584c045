//===- Memory.h - memory of devices, and pinned memory ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An address of device memory is one that the host cannot touch; the bytes lie
// elsewhere, beside one more each that says whether they were written.
// Addresses are not used again. Pinned memory is mapped twice: pages of the
// host's mapping are closed to it while a copy that it does not know to have
// ended writes them, and read-only while one reads them. Who touches them all
// the same is told by which copy and ended.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_MEMORY_H
#define PP_TEST_GPU_CUDA_MEMORY_H

#include "Order.h"

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace emulated {

/// One allocation.
struct Block {
  uint64_t address = 0, size = 0;
  int device = -1;              ///< -1: pinned memory of the host
  std::byte *bytes = nullptr;   ///< where they are
  std::byte *written = nullptr; ///< one each: not 0 once it was written
  /// Of each kTouch bytes, whether any was written since all were spoilt: of a
  /// large workspace few are.
  std::vector<bool> touched;
  std::byte *mapping = nullptr; ///< reserved at the address, in whole pages
  uint64_t mappedBytes = 0;

  /// Copies under way in pinned memory.
  struct Use {
    uint64_t begin, end;
    bool isWrite;
    History::By by;
  };
  std::list<Use> uses;

  static constexpr uint64_t kTouch = 4096;
  /// What says of these bytes whether they were written, to be changed.
  std::byte *touch(uint64_t at, uint64_t count) {
    for (uint64_t i = at / kTouch; i * kTouch < at + count; ++i)
      touched[i] = true;
    return written + at;
  }
  /// Takes them for never written, and none of them for a number.
  void spoil(uint64_t at, uint64_t count);
  bool holds(uint64_t begin, uint64_t count) const {
    return begin >= address && begin - address <= size &&
           count <= size - (begin - address);
  }
};

class Memory {
public:
  ~Memory();

  /// Null if the system has no more.
  Block *allocate(int device, uint64_t size);
  void free(Block *block);
  /// The block at exactly this address, or null.
  Block *at(uint64_t address);
  /// The block that holds [address, address + size), or null.
  Block *find(uint64_t address, uint64_t size);
  /// What lies at an address, in words: for messages.
  std::string describe(uint64_t address) const;
  uint64_t count(bool isDevice) const;
  uint64_t allocated(int device) const;

  /// Takes all that there is for written.
  void takeForWritten();

  /// A copy was issued that uses pinned memory: closes its pages.
  void lend(Block *block, uint64_t begin, uint64_t end, bool isWrite,
            const History::By &by);
  /// Opens pages of copies that `host` knows to have ended.
  void giveBack(const Clock &host);

private:
  std::map<uint64_t, std::unique_ptr<Block>> blocks; ///< by address
  std::map<uint64_t, uint64_t> freed;                ///< sizes, by address
  std::map<int, uint64_t> bytes;                     ///< there are, by device
  std::set<Block *> lent;                            ///< that copies use
};

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_MEMORY_H

//===- Lending.h - heap memory from a block of the caller -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library that allocates inside a call, and frees before it returns, gets
// that memory from a block that its caller has planned. In: the block. Out:
// allocations in it, if `pprt_counting_malloc` is part of the program; without
// it, or when the block is too small, they come from the heap.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LENDING_H
#define PPRT_LENDING_H

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// While it lives, allocations of the calling thread come from the block. One
/// at a time per thread.
class Lending {
public:
  /// Allocations smaller than `smallest` bytes are a library's own notes, which
  /// it may keep: they come from the heap and are not counted.
  Lending(std::byte *memory, uint64_t bytes, uint64_t smallest);
  /// Ends the program if some of the block is still in use: its owner would
  /// overwrite it.
  ~Lending();
  Lending(const Lending &) = delete;
  Lending &operator=(const Lending &) = delete;

  /// Returns the calling thread's lending, or null.
  static Lending *current();

  /// Returns null if the block has no room, or `bytes` is below `smallest`.
  void *allocate(std::size_t alignment, std::size_t bytes);
  /// Whether `address` lies in the block.
  bool owns(const void *address) const {
    const auto *byte = static_cast<const std::byte *>(address);
    return byte >= memory && byte < memory + size;
  }
  void free() { used = --live == 0 ? 0 : used; }
  /// Returns the bytes from `address` to the end of the used part.
  uint64_t bytesBehind(const void *address) const {
    return used - uint64_t(static_cast<const std::byte *>(address) - memory);
  }
  bool isNote(uint64_t bytes) const { return bytes < smallest; }

private:
  std::byte *const memory;
  const uint64_t size, smallest;
  uint64_t used = 0, live = 0;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_LENDING_H

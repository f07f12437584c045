//===- Lending.h - heap memory out of a block of the caller's ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Libraries that allocate inside of a call, and free it before they return, get
// that memory from a block that their caller has planned. In: the block. Out:
// allocations that lie in it, as long as `pprt_counting_malloc` is part of the
// program; without it, or when the block is too small, they come from the heap.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LENDING_H
#define PPRT_LENDING_H

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// While it lives, what the calling thread allocates comes from the block.
/// One at a time per thread.
class Lending {
public:
  /// Smaller allocations than `smallest` bytes are a library's own notes, which
  /// it may keep: they come from the heap and count nowhere.
  Lending(std::byte *memory, uint64_t bytes, uint64_t smallest);
  /// Ends the program if something is still in use: its owner would overwrite
  /// it.
  ~Lending();
  Lending(const Lending &) = delete;
  Lending &operator=(const Lending &) = delete;

  /// The calling thread's, or null.
  static Lending *current();

  /// Null for what does not fit, or is too small.
  void *allocate(std::size_t alignment, std::size_t bytes);
  /// Whether `address` lies in the block.
  bool owns(const void *address) const {
    const auto *byte = static_cast<const std::byte *>(address);
    return byte >= memory && byte < memory + size;
  }
  void free() { used = --live == 0 ? 0 : used; }
  /// Bytes from `address` to the end of what is in use.
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

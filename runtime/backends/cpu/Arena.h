//===- Arena.h - the memory of one rank -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One allocation, filled with a pattern at creation. The pattern is a NaN in
// every floating-point type, so that a read before the first write shows; the
// highest byte that lost it tells how much memory the program really used.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_ARENA_H
#define PPRT_BACKENDS_CPU_ARENA_H

#include "pprt/Alignment.h"
#include "pprt/Device.h"

namespace pprt::cpu {

class Team;

class Arena final : public Memory {
public:
  /// Arenas are aligned as most of their slots are: to a cache line.
  static constexpr uint64_t kAlignment = kSlotAlignment;

  /// Returns false if there is not enough memory.
  bool allocate(uint64_t bytes);
  /// Keeps another object that the rank needs.
  void keep(std::shared_ptr<const void> share) { kept = std::move(share); }
  /// Fills the arena; call it with the team that will use it, so that the pages
  /// are placed close to its threads.
  void poison(Team &team);

  std::byte *address() const override { return memory.get(); }
  std::byte *host() const override { return memory.get(); }
  uint64_t size() const override { return bytes; }
  /// Rounded up to the alignment.
  uint64_t writtenBytes() const override;

private:
  struct Free {
    void operator()(std::byte *memory) const;
  };
  std::unique_ptr<std::byte, Free> memory;
  uint64_t bytes = 0;
  std::shared_ptr<const void> kept;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_ARENA_H

//===- KernelCache.h - machine code kept between runs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the digest of everything that machine code depends on. Out: the object
// compiled for it, by this process or another one. The directory belongs to the
// user, and any number of processes share it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELCACHE_H
#define PP_LIB_TARGET_KERNELCACHE_H

#include "KernelPipeline.h"
#include <atomic>
#include <optional>
#include <string>

namespace pp {

/// A directory of objects named by the digest of all they depend on. Every
/// entry holds the digest of its content: a damaged one is as good as none.
/// Never fails: a directory that cannot be used, or that others can write to,
/// leaves the cache empty, and says so.
class KernelCache {
public:
  /// Empty `directory`: $XDG_CACHE_HOME/pp, or ~/.cache/pp. `limit` in bytes;
  /// 0: none.
  KernelCache(llvm::StringRef directory, uint64_t limit);

  /// Why nothing is kept; empty if it is.
  const std::string &getObstacle() const { return obstacle; }

  std::optional<ObjectCode> lookup(llvm::StringRef key) const;
  /// Written aside and renamed, so that no reader sees half of it.
  void store(llvm::StringRef key, const ObjectCode &object) const;
  /// Removes the least recently used entries until the limit holds. Never takes
  /// more than three quarters of the free disk space. For a large cache it
  /// removes some more, and does nothing while the entries stored since fit
  /// there: scanning tens of thousands of entries takes longer than compiling a
  /// small model.
  void prune() const;

private:
  /// Records the bytes that this process stored. Whether these and the bytes
  /// that others have stored since the last prune, under the same limit, fit in
  /// `room`.
  bool fits(uint64_t room) const;
  std::string pathOf(llvm::StringRef key) const;
  std::string directory, obstacle;
  uint64_t limit;
  mutable std::atomic<uint64_t> stored = 0; ///< bytes
};

} // namespace pp

#endif // PP_LIB_TARGET_KERNELCACHE_H

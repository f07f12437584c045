//===- KernelCache.h - machine code kept between runs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELCACHE_H
#define PP_LIB_TARGET_KERNELCACHE_H

#include "KernelObject.h"
#include <optional>
#include <string>

namespace pp {

/// A directory of objects named by the digest of all they depend on. Every
/// entry holds the digest of its content: a damaged one is as good as none.
/// Never fails: a directory that cannot be used leaves the cache empty.
class KernelCache {
public:
  /// Empty `directory`: $XDG_CACHE_HOME/pp, or ~/.cache/pp.
  explicit KernelCache(llvm::StringRef directory);

  std::optional<ObjectCode> lookup(llvm::StringRef key) const;
  /// Written aside and renamed, so that no reader sees half of it.
  void store(llvm::StringRef key, const ObjectCode &object) const;

private:
  std::string pathOf(llvm::StringRef key) const;
  std::string directory;
};

} // namespace pp

#endif // PP_LIB_TARGET_KERNELCACHE_H

//===- KernelCache.cpp - machine code kept between runs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "KernelCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace pp;
using namespace llvm;

namespace {

constexpr size_t kDigestSize = 32;
using Digest = std::array<uint8_t, kDigestSize>;

Digest digestOf(StringRef text) {
  return SHA256::hash(arrayRefFromStringRef(text));
}

} // namespace

KernelCache::KernelCache(StringRef requested) : directory(requested.str()) {
  if (directory.empty()) {
    SmallString<128> path;
    if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
      path = cache;
    else if (!sys::path::home_directory(path))
      return;
    else
      sys::path::append(path, ".cache");
    sys::path::append(path, "pp");
    directory = path.str().str();
  }
  if (sys::fs::create_directories(directory))
    directory.clear();
}

std::string KernelCache::pathOf(StringRef key) const {
  SmallString<128> path(directory);
  sys::path::append(path, toHex(digestOf(key), /*LowerCase=*/true) + ".o");
  return path.str().str();
}

std::optional<ObjectCode> KernelCache::lookup(StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  auto file = MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  StringRef content = (*file)->getBuffer();
  if (content.size() <= kDigestSize)
    return std::nullopt;
  StringRef code = content.drop_front(kDigestSize);
  if (toStringRef(digestOf(code)) != content.take_front(kDigestSize))
    return std::nullopt;
  return ObjectCode(code.begin(), code.end());
}

void KernelCache::store(StringRef key, const ObjectCode &object) const {
  if (directory.empty())
    return;
  std::string path = pathOf(key);
  auto file = sys::fs::TempFile::create(path + ".%%%%%%%%");
  if (!file) {
    consumeError(file.takeError());
    return;
  }
  StringRef code(object.data(), object.size());
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << toStringRef(digestOf(code)) << code;
  stream.flush();
  bool isWritten = !stream.has_error();
  stream.clear_error();
  if (isWritten)
    consumeError(file->keep(path));
  else
    consumeError(file->discard());
}

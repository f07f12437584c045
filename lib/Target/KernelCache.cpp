//===- KernelCache.cpp - machine code kept between runs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cached code is executed, so only the user may be able to write to the
// directory. Files carry the prefix that llvm::pruneCache() expects; a
// temporary file of a killed process is pruned like the others.
//
//===----------------------------------------------------------------------===//
#include "KernelCache.h"
#include "pprt/Files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pp;
using namespace llvm;

namespace {

constexpr size_t kDigestSize = 32;
/// No kernel is as large; a file that is was not written by us.
constexpr uint64_t kMostBytes = 1 << 30;
using Digest = std::array<uint8_t, kDigestSize>;

Digest digestOf(StringRef text) {
  return SHA256::hash(arrayRefFromStringRef(text));
}

/// The digest of an entry: code of another key does not match.
Digest digestOf(StringRef key, StringRef code) {
  SHA256 hash;
  hash.update(arrayRefFromStringRef(toStringRef(digestOf(key))));
  hash.update(code);
  return hash.final();
}

/// Whether only this user can put files there.
bool isPrivate(const std::string &directory) {
  struct stat info;
  return ::stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Opening anything else may block.
bool isRegularFile(const std::string &path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string joinPath(StringRef directory, const Twine &name) {
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return path.str().str();
}

} // namespace

KernelCache::KernelCache(StringRef requested, uint64_t limit)
    : directory(requested.str()), limit(limit) {
  if (directory.empty()) {
    SmallString<128> path;
    // The specification of that variable wants relative paths ignored.
    if (const char *cache = std::getenv("XDG_CACHE_HOME");
        cache && sys::path::is_absolute(cache))
      path = cache;
    else if (sys::path::home_directory(path))
      sys::path::append(path, ".cache");
    else {
      obstacle = "expects XDG_CACHE_HOME or a home directory, got neither";
      return;
    }
    directory = joinPath(path, "pp");
  }
  const std::error_code error = sys::fs::create_directories(
      directory, /*IgnoreExisting=*/true, sys::fs::owner_all);
  if (error)
    obstacle = directory + ": cannot create: " + error.message();
  else if (!isPrivate(directory))
    obstacle =
        directory +
        ": other users can write to this directory; fix it with chmod go-w";
  if (!obstacle.empty())
    directory.clear();
}

std::string KernelCache::pathOf(StringRef key) const {
  return joinPath(directory,
                  "llvmcache-" + toHex(digestOf(key), /*LowerCase=*/true));
}

std::optional<ObjectCode> KernelCache::lookup(StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  const std::string path = pathOf(key);
  if (!isRegularFile(path))
    return std::nullopt;
  pprt::Expected<std::string> file = pprt::readFile(path, kMostBytes);
  if (!file || file->size() <= kDigestSize)
    return std::nullopt;
  StringRef content = *file, code = content.drop_front(kDigestSize);
  if (toStringRef(digestOf(key, code)) != content.take_front(kDigestSize))
    return std::nullopt;
  // Pruning removes the least recently used entry first.
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return ObjectCode(code.begin(), code.end());
}

void KernelCache::store(StringRef key, const ObjectCode &object) const {
  if (directory.empty())
    return;
  std::string path = pathOf(key);
  // A new file, which signals remove.
  auto file = sys::fs::TempFile::create(
      path + ".%%%%%%%%", sys::fs::owner_read | sys::fs::owner_write);
  if (!file) {
    consumeError(file.takeError());
    return;
  }
  StringRef code(object.data(), object.size());
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << toStringRef(digestOf(key, code)) << code;
  stream.flush();
  bool isWritten = !stream.has_error();
  stream.clear_error();
  stored += kDigestSize + code.size();
  if (isWritten)
    consumeError(file->keep(path));
  else
    consumeError(file->discard());
}

/// State that one run leaves for the next ones.
struct Stored {
  uint64_t limit, bytes;
};
/// Its file, from the last prune on.
static constexpr StringRef kStored = "llvmcache.stored";

bool KernelCache::fits(uint64_t room) const {
  const std::string path = joinPath(directory, kStored);
  if (!isRegularFile(path))
    return false;
  const Stored ours = {limit, stored};
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool isNoted =
      file >= 0 && ::write(file, &ours, sizeof(ours)) == sizeof(ours);
  if (file >= 0)
    ::close(file);
  pprt::Expected<std::string> all = pprt::readFile(path, kMostBytes);
  if (!isNoted || !all || all->size() % sizeof(Stored) != 0)
    return false;
  for (size_t at = 0; at < all->size(); at += sizeof(Stored)) {
    Stored one;
    std::memcpy(&one, all->data() + at, sizeof(one));
    if (one.limit != limit || one.bytes > room)
      return false;
    room -= one.bytes;
  }
  return true;
}

void KernelCache::prune() const {
  if (directory.empty() || limit == 0)
    return;
  constexpr uint64_t kLarge = 16 << 20;
  const uint64_t room = limit < kLarge ? 0 : limit / 16;
  if (room > 0 && fits(room))
    return;
  // pruneCache() writes to this file and would wait for a pipe's reader.
  const std::string timestamp = joinPath(directory, "llvmcache.timestamp");
  if (!isRegularFile(timestamp))
    ::unlink(timestamp.c_str());
  CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0);
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizeBytes = limit - room;
  pruneCache(directory, policy);
  const std::string path = joinPath(directory, kStored);
  const Stored none = {limit, 0};
  ::unlink(path.c_str());
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  if (::write(file, &none, sizeof(none)) != sizeof(none))
    ::unlink(path.c_str());
  ::close(file);
}

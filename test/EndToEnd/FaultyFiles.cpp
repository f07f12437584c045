//===- FaultyFiles.cpp - a file system with a fault -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loaded before the C library. PP_FAULT="KIND N" concerns the N-th change (from
// 1 on) of files below a folder called `checkpoints`: creating, writing,
// syncing, renaming, removing. kill: the process dies before it. half: a write
// stores half its bytes, then the process dies. once: it fails (EIO). full: it
// and all later ones fail (ENOSPC). slow: each takes N ms. hide: each look at
// the file of a checkpoint's index fails (ESTALE). unaligned: writes past
// the cache end halfway, and fail (EINVAL). count: none fails; at the end the
// number of changes is printed.
//
//===----------------------------------------------------------------------===//
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Fault {
  std::string kind;
  int number = 0;
  std::atomic<int> changes{0};

  Fault() {
    char name[16] = "";
    if (const char *text = std::getenv("PP_FAULT"))
      (void)!std::sscanf(text, "%15s %d", name, &number);
    kind = name;
  }
  ~Fault() {
    if (kind == "count")
      std::fprintf(stderr, "changes %d\n", changes.load());
  }

  /// Whether the next change fails; sets errno.
  bool fails() {
    const int its = ++changes;
    if (kind == "slow")
      usleep(unsigned(number) * 1000);
    if (kind == "kill" && its == number)
      raise(SIGKILL);
    errno = kind == "full" ? ENOSPC : EIO;
    return (kind == "once" && its == number) ||
           (kind == "full" && its >= number);
  }
} fault;

bool concerns(const char *path) {
  return path && std::strstr(path, "checkpoints");
}

bool concerns(int descriptor) {
  char path[4096] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  (void)!readlink(link.c_str(), path, sizeof(path) - 1);
  return concerns(path);
}

template <typename Function> Function *next(const char *name, Function *) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

bool hides(const char *path) {
  errno = ESTALE;
  return fault.kind == "hide" && concerns(path) &&
         std::strstr(path, "index.json");
}

} // namespace

extern "C" {

int stat(const char *path, struct stat *info) noexcept {
  return hides(path) ? -1 : next("stat", &stat)(path, info);
}
int stat64(const char *path, struct stat64 *info) noexcept {
  return hides(path) ? -1 : next("stat64", &stat64)(path, info);
}

#define PP_OPEN(name)                                                          \
  int name(const char *path, int flags, ...) {                                 \
    va_list arguments;                                                         \
    va_start(arguments, flags);                                                \
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;       \
    va_end(arguments);                                                         \
    if ((flags & O_CREAT) && concerns(path) && fault.fails())                  \
      return -1;                                                               \
    return next(#name, static_cast<int (*)(const char *, int, ...)>(nullptr))( \
        path, flags, mode);                                                    \
  }
PP_OPEN(open)
PP_OPEN(open64)

ssize_t write(int descriptor, const void *data, size_t count) {
  const auto its = next("write", &write);
  if (!concerns(descriptor))
    return its(descriptor, data, count);
  if (fault.kind == "half" && fault.changes + 1 == fault.number) {
    (void)!its(descriptor, data, count / 2);
    raise(SIGKILL);
  }
  if (fault.kind == "unaligned" &&
      (fcntl(descriptor, F_GETFL) & O_DIRECT) != 0) {
    static std::atomic<bool> isRest{false};
    if (!isRest.exchange(true))
      return its(descriptor, data, count / 2);
    isRest = false;
    errno = EINVAL;
    return -1;
  }
  return fault.fails() ? -1 : its(descriptor, data, count);
}
int fsync(int descriptor) {
  return concerns(descriptor) && fault.fails()
             ? -1
             : next("fsync", &fsync)(descriptor);
}
int rename(const char *from, const char *to) {
  return concerns(to) && fault.fails() ? -1 : next("rename", &rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
  return concerns(path) && fault.fails() ? -1
                                         : next("mkdir", &mkdir)(path, mode);
}
int remove(const char *path) {
  return concerns(path) && fault.fails() ? -1 : next("remove", &remove)(path);
}
int unlink(const char *path) {
  return concerns(path) && fault.fails() ? -1 : next("unlink", &unlink)(path);
}
int unlinkat(int folder, const char *path, int flags) {
  return (concerns(path) || concerns(folder)) && fault.fails()
             ? -1
             : next("unlinkat", &unlinkat)(folder, path, flags);
}
}

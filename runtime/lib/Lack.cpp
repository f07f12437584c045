//===- Lack.cpp - memory and descriptors that run out ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Lack.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace pprt;

bool pprt::hasRoom(uint64_t bytes) {
  void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  munmap(memory, bytes);
  return true;
}

Status pprt::findLack(const std::string &what, uint64_t bytes,
                      const Status &otherwise) {
  if (!hasRoom(bytes))
    return Status(ExitCode::outOfMemory,
                  what + " expects " + std::to_string(bytes) +
                      " bytes of memory, which the system refuses; raise "
                      "ulimit -v, or give fewer ranks or threads");
  const int file = ::open("/", O_RDONLY | O_CLOEXEC);
  if (file < 0 && (errno == EMFILE || errno == ENFILE))
    return Status(ExitCode::io,
                  what +
                      " expects a file descriptor, which the system refuses (" +
                      std::strerror(errno) + "); raise ulimit -n");
  if (file >= 0)
    ::close(file);
  return otherwise;
}

//===- Digest.h - tells damaged bytes from whole ones -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// XXH3 of 64 bits (xxhash.com), as fast as memory: a CRC would take longer than
// the disk.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_DIGEST_H
#define PPRT_HOST_DIGEST_H

#include <cstddef>
#include <memory>
#include <string>

namespace pprt::host {

class Digest {
public:
  Digest();
  ~Digest();
  Digest(const Digest &) = delete;
  Digest &operator=(const Digest &) = delete;

  void add(const void *bytes, size_t count);
  /// Sixteen hexadecimal digits.
  std::string print() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

std::string digestOf(const void *bytes, size_t count);

} // namespace pprt::host

#endif // PPRT_HOST_DIGEST_H

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
#include <string>

namespace pprt::host {

/// Returns sixteen hexadecimal digits.
std::string digestOf(const void *bytes, size_t count);

} // namespace pprt::host

#endif // PPRT_HOST_DIGEST_H

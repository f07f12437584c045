//===- Encoding.h - checks that FlatBuffers lacks ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a part of a file that FlatBuffers' own verifier has passed: every offset
// stays inside. Out: whether its values can be unpacked as they are, in memory
// bounded by the size of the part.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_ENCODING_H
#define PPRT_LIB_ENCODING_H

#include "pprt/Ppx.h"
#include "pprt/Status.h"

namespace pprt {

/// Memory that the tables of a part of `size` bytes may take; two parts of a
/// file are read. An almost empty table takes 8 bytes in a file, with the entry
/// that refers to it, and 30 times that in memory; compiled artifacts take less
/// than 3 times their size.
constexpr uint64_t unpackedLimit(uint64_t size) {
  return (uint64_t(32) << 20) + 4 * size;
}

/// Fails (badArtifact) unless
///  - strings and vectors are referenced once: together they are no larger
///    than the part of `size` bytes, and neither are the copies of them;
///  - all that is unpacked takes unpackedLimit(size) bytes at most;
///  - the elements of vectors are aligned for their type;
///  - strings are UTF-8, which reports and traces rely on.
Status checkEncoding(const uint8_t *table, const flatbuffers::TypeTable &type,
                     size_t size);

} // namespace pprt

#endif // PPRT_LIB_ENCODING_H

//===- Bytes.h - amounts of memory as people write them ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Used by options and reports of all tools: one syntax in, one out.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BYTES_H
#define PPRT_BYTES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pprt {

/// Reads `4096`, `512M`, `1.5G`, `1GiB`, `26 GB`. K, M, G, T and KiB ... TiB
/// are powers of 1024, KB ... TB of 1000, as coreutils reads them; letters may
/// be lowercase. Returns nothing for any other text, a fraction of a byte, or
/// 2^63 or more.
std::optional<uint64_t> parseBytes(std::string_view text);

/// Syntax that parseBytes reads, for messages.
extern const char *const kBytesSyntax;

/// Prints `980 B`, `8.62 KiB`, `25.9 GiB`: three digits and a unit.
std::string printBytes(double bytes);

/// Prints a limit, or what it has to be: `2485123 bytes (2.38 MiB)`, `980
/// bytes`. The second is rounded up, so that either suffices as a limit.
std::string printLimit(uint64_t bytes);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_BYTES_H

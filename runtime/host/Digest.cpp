//===- Digest.cpp - tells damaged bytes from whole ones -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Digest.h"

// In headers alone, so that nothing is linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>

std::string pprt::host::digestOf(const void *bytes, size_t count) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, XXH3_64bits(bytes, count));
  return text;
}

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

using namespace pprt::host;

struct Digest::State {
  XXH3_state_t xxh3;
};

Digest::Digest() : state(std::make_unique<State>()) {
  XXH3_64bits_reset(&state->xxh3);
}
Digest::~Digest() = default;

void Digest::add(const void *bytes, size_t count) {
  XXH3_64bits_update(&state->xxh3, bytes, count);
}

static std::string printHash(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, hash);
  return text;
}

std::string Digest::print() const {
  return printHash(XXH3_64bits_digest(&state->xxh3));
}

std::string pprt::host::digestOf(const void *bytes, size_t count) {
  return printHash(XXH3_64bits(bytes, count));
}

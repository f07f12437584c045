//===- Philox.cpp - counter-based random bits -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). Key: the seed's low and high word. Counter: the element's global
// row-major index (low, high word), the step, the stream. The element's bits
// are the block's first word, so that each depends on its own index alone.
//
//===----------------------------------------------------------------------===//
#include "Evaluators.h"
#include <array>

int32_t pp::reference::randomBits(uint64_t seed, uint64_t step, uint64_t stream,
                                  uint64_t index) {
  auto low = [](uint64_t word) { return static_cast<uint32_t>(word); };
  auto high = [](uint64_t word) { return static_cast<uint32_t>(word >> 32); };
  std::array<uint32_t, 4> counter = {low(index), high(index), low(step),
                                     low(stream)};
  uint32_t key0 = low(seed), key1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {high(product1) ^ counter[1] ^ key0, low(product1),
               high(product0) ^ counter[3] ^ key1, low(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return static_cast<int32_t>(counter[0]);
}

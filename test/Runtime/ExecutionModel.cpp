//===- ExecutionModel.cpp - data for the reference executor ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ExecutionModel.h"

using namespace pprt;
using namespace pprt::test;

/// One step of FNV-1a over a whole word.
static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x100000001b3;
}

static void fill(uint8_t *bytes, uint64_t size, uint64_t hash) {
  for (uint64_t i = 0; i < size; ++i) {
    hash = mix(hash, i + 1);
    bytes[i] = uint8_t(hash >> 32);
  }
}

static void hashKernel(const reference::KernelCall &call) {
  const auto &parameters = call.kernel.parameters;
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t scalar : call.scalars)
    hash = mix(hash, uint64_t(scalar));
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i]->access != ppx::Access_write)
      for (uint64_t byte = 0; byte < parameters[i]->bytes; ++byte)
        hash = mix(hash, call.arguments[i][byte]);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i]->access != ppx::Access_read)
      fill(call.arguments[i], parameters[i]->bytes, mix(hash, i));
}

static void hashLoad(const reference::LoadCall &call) {
  uint64_t hash = mix(mix(call.rank + 1, call.argument + 1),
                      uint64_t(call.step * 64 + call.microBatch));
  fill(call.bytes, call.size, hash);
}

reference::Options test::hashingOptions(uint64_t seed, bool watchMemory) {
  reference::Options options;
  options.seed = seed;
  options.watchMemory = watchMemory;
  options.runKernel = hashKernel;
  options.load = hashLoad;
  return options;
}

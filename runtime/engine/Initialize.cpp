//===- Initialize.cpp - initial values of parameters ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Initialize.h"
#include "Thread.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

using namespace pprt;

std::array<uint32_t, 4> pprt::philox(std::array<uint32_t, 4> counter,
                                     std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    const uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {
        uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
        uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Returns two numbers in [0, 1), from elements 2 * pair and 2 * pair + 1.
static std::array<double, 2> uniformPair(uint64_t seed, uint64_t stream,
                                         uint64_t pair) {
  const std::array<uint32_t, 4> words =
      philox({uint32_t(pair), uint32_t(pair >> 32), uint32_t(stream),
              uint32_t(stream >> 32)},
             {uint32_t(seed), uint32_t(seed >> 32)});
  const auto unit = [](uint32_t high, uint32_t low) {
    return double((uint64_t(high) << 32 | low) >> 11) * 0x1p-53;
  };
  return {unit(words[0], words[1]), unit(words[2], words[3])};
}

/// Returns the values of elements 2 * pair and 2 * pair + 1.
static std::array<double, 2> valuePair(const ppx::InitializerT &initializer,
                                       uint64_t seed, uint64_t pair) {
  const double a = initializer.a, b = initializer.b;
  switch (initializer.kind) {
  case ppx::InitializerKind_zeros:
    break;
  case ppx::InitializerKind_constant:
    return {a, a};
  case ppx::InitializerKind_uniform: {
    const auto u = uniformPair(seed, initializer.stream, pair);
    return {a + (b - a) * u[0], a + (b - a) * u[1]};
  }
  case ppx::InitializerKind_normal: {
    const auto u = uniformPair(seed, initializer.stream, pair);
    const double radius = std::sqrt(-2 * std::log(1 - u[0]));
    const double angle = 6.283185307179586476925 * u[1];
    double sine, cosine;
    __builtin_sincos(angle, &sine, &cosine);
    return {a + b * radius * cosine, a + b * radius * sine};
  }
  }
  return {0, 0};
}

double pprt::initialValue(const ppx::InitializerT &initializer, uint64_t seed,
                          uint64_t index) {
  return valuePair(initializer, seed, index / 2)[index % 2];
}

/// Writes the run's elements, converted to T.
template <typename T, typename Convert>
static void fill(const ppx::InitializerT &initializer, uint64_t seed,
                 const ElementRun &run, const Convert &convert) {
  std::byte *to = run.values;
  const uint64_t end = run.first + run.count;
  for (uint64_t i = run.first; i < end;) {
    const std::array<double, 2> pair = valuePair(initializer, seed, i / 2);
    for (const uint64_t next = std::min(i / 2 * 2 + 2, end); i < next; ++i) {
      const T value = convert(pair[i % 2]);
      std::memcpy(to, &value, sizeof(T));
      to += sizeof(T);
    }
  }
}

static void fill(const ppx::InitializerT &initializer, uint64_t seed,
                 ppx::ElementType element, const ElementRun &run) {
  const bool isBool = element == ppx::ElementType_i1;
  withFormat(element, [&](auto format) {
    using Format = decltype(format);
    fill<typename Format::Stored>(initializer, seed, run, [&](double value) {
      return Format::store(typename Format::Value(isBool ? value != 0 : value));
    });
  });
}

void pprt::initialize(const ppx::InitializerT &initializer, uint64_t seed,
                      ppx::ElementType element,
                      const std::vector<ElementRun> &runs) {
  const uint64_t width = elementSize(element);
  // Zero is all bits zero in every type; most of an optimizer's state starts as
  // zeros.
  if (initializer.kind == ppx::InitializerKind_zeros) {
    for (const ElementRun &run : runs)
      std::memset(run.values, 0, run.count * width);
    return;
  }
  uint64_t count = 0;
  for (const ElementRun &run : runs)
    count += run.count;
  // Fills elements [begin, end) of the concatenation of all runs.
  const auto part = [&](uint64_t begin, uint64_t end) {
    uint64_t before = 0;
    for (const ElementRun &run : runs) {
      const uint64_t from = std::max(begin, before),
                     to = std::min(end, before + run.count);
      if (from < to)
        fill(initializer, seed, element,
             {run.first + (from - before), to - from,
              run.values + (from - before) * width});
      before += run.count;
    }
  };
  // Elements per thread that are worth starting one.
  constexpr uint64_t kPart = 1 << 17;
  const uint64_t parts = std::clamp<uint64_t>(
      count / kPart, 1, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<Thread> threads(parts);
  for (uint64_t i = 0; i < parts; ++i) {
    const uint64_t begin = count * i / parts, end = count * (i + 1) / parts;
    if (i + 1 == parts || !threads[i].start([=] { part(begin, end); }))
      part(begin, end);
  }
}

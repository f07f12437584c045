//===- Elements.cpp - Tensors as they lie in files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every conversion goes through f64, which holds all values of the other
// floats.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Elements.h"
#include "pprt/ElementFormats.h"

#include <cmath>
#include <cstring>

using namespace pprt::host;
using namespace pprt::ppx;

std::string pprt::host::printShape(const std::vector<uint64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// The f32 that `value` is rounded to on the way to a narrower float. To
/// nearest it would be rounded twice; rounded to odd, a discarded part stays
/// visible in the last bit.
static float roundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || nearest == value)
    return nearest;
  const bool isAbove = std::fabs(nearest) > std::fabs(value);
  return pprt::floatOfBits((pprt::bitsOfFloat(nearest) - isAbove) | 1);
}

void pprt::host::convertFloats(ElementType from, const void *in, ElementType to,
                               void *out, size_t count) {
  const auto *source = static_cast<const std::byte *>(in);
  auto *target = static_cast<std::byte *>(out);
  withFormat(from, [&](auto input) {
    withFormat(to, [&](auto output) {
      using Input = decltype(input);
      using Output = decltype(output);
      typename Input::Stored read;
      typename Output::Stored written;
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(&read, source + i * sizeof(read), sizeof(read));
        const auto value = static_cast<double>(Input::load(read));
        if constexpr (sizeof(written) < sizeof(float))
          written = Output::store(
              static_cast<typename Output::Value>(roundToOdd(value)));
        else
          written = Output::store(static_cast<typename Output::Value>(value));
        std::memcpy(target + i * sizeof(written), &written, sizeof(written));
      }
    });
  });
}

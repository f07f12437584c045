//===- Case.h - a kernel, what it gets, what it is held against -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the sources in this folder registers itself where they are
// compiled for the host: how it is launched, what its parameters are, how exact
// its results must be. The inputs are numbers drawn from the kernel's name:
// those where arithmetic has its edges, in all pairs, and arbitrary bits.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_KERNELS_CASE_H
#define PP_TEST_GPU_KERNELS_CASE_H

#include "HostHalf.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernels {

/// How far a result may be off: so many units in the last place, or this much.
struct Bound {
  double ulps = 0, absolute = 0;
};
inline Bound ulps(double count) { return {count, 0}; }
inline Bound absolute(double size) { return {0, size}; }

/// Numbers of a generator whose start is fixed.
class Draw {
public:
  explicit Draw(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state ^ (state >> 29);
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 32);
  }
  double unit() { return double((*this)() >> 11) / 9007199254740992.0; }

private:
  uint64_t state;
};

/// A parameter of a launch: a buffer, or a value.
struct Argument {
  enum Kind { Input, Output, InOut, Value } kind = Value;
  size_t elementBytes = 0;
  std::vector<std::byte> bytes; ///< before the launch
  /// Empty if `found` may stand where `expected` does, else both in words.
  std::function<std::string(const std::byte *expected, const std::byte *found,
                            const Bound &bound)>
      differ;
  std::function<void(std::vector<std::byte> &, Draw &, unsigned)> fill;
};

struct Launch {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
};
struct Size {
  Size(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  unsigned x, y, z;
};
inline Launch launch(Size grid, Size block, unsigned sharedBytes = 0) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, sharedBytes};
}

struct Case {
  std::string name, theme; ///< the theme is the source's name
  Launch launch;
  Bound bound;
  std::vector<Argument> arguments;
  /// Runs it for the host; one pointer for each parameter.
  std::function<void(const std::vector<void *> &)> body;
  std::string fault; ///< what running it must report; empty: nothing
};
std::vector<Case> &cases();

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

template <typename T> struct Traits {
  static_assert(std::is_integral_v<T>);
  static std::vector<T> edges() {
    using L = std::numeric_limits<T>;
    return {T(0),
            T(1),
            T(2),
            T(3),
            T(7),
            T(31),
            T(32),
            T(-1),
            T(-2),
            T(100),
            L::max(),
            L::min(),
            T(L::max() - 1),
            T(L::min() + 1),
            T(L::max() / 2),
            T(L::max() / 2 + 1),
            T(0x5A)};
  }
  static T any(Draw &draw) {
    // Of every size: few are small among arbitrary bits.
    const uint64_t bits = draw();
    if (draw() % 8 == 0)
      return T(uint64_t(1) << (bits % 64));
    return T(draw() % 3 ? bits : bits >> (bits % 64));
  }
  static std::string text(T value) { return std::to_string(value); }
  static bool isSame(T expected, T found, const Bound &bound) {
    if (expected == found)
      return true;
    return bound.absolute > 0 &&
           std::fabs(double(expected) - double(found)) <= bound.absolute;
  }
};

/// Of formats with `Bits` as an integer: the distance between neighbours is 1.
template <typename Bits> int64_t orderOf(Bits bits) {
  const Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  return bits & sign ? -int64_t(bits & Bits(~sign)) : int64_t(bits);
}

template <typename T, typename Bits, int kMantissa> struct FloatTraits {
  static T of(uint64_t bits) {
    const Bits some = Bits(bits);
    T value;
    std::memcpy(&value, &some, sizeof(T));
    return value;
  }
  static Bits bitsOf(T value) {
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static constexpr uint64_t kSign = uint64_t(1) << (sizeof(T) * 8 - 1);
  static constexpr uint64_t kOne = uint64_t(1) << kMantissa; ///< of an exponent
  static constexpr uint64_t kInfinity = (kSign - 1) & ~(kOne - 1);
  static constexpr uint64_t kBias = (kInfinity >> 1) & ~(kOne - 1);

  static std::vector<T> edges() {
    std::vector<T> result;
    for (uint64_t bits :
         {uint64_t(0), uint64_t(1), kOne - 1, kOne, kBias, kBias + 1, kBias - 1,
          kBias - kOne,            // 0.5
          kBias + kOne / 2,        // 1.5
          kBias + kOne + kOne / 4, // 2.5
          kBias + kOne * (kMantissa + 1), kInfinity - 1, kInfinity,
          kInfinity + kOne / 2})
      for (uint64_t sign : {uint64_t(0), kSign})
        result.push_back(of(bits | sign));
    return result;
  }
  static T any(Draw &draw) {
    const uint64_t bits = draw();
    if (draw() % 4 == 0)
      return of(bits);
    if (draw() % 8 == 0) // where integers of some width end
      return of((bits & kSign) |
                (kBias + (bits >> 32) % 66 * kOne) % kInfinity);
    // Of sizes near one another: sums and products that neither vanish nor end.
    const uint64_t exponent = kBias / kOne - 6 + (bits >> 56) % 12;
    return of((bits & (kSign | (kOne - 1))) | exponent * kOne);
  }
  static double number(T value) { return double(value); }
  static std::string text(T value) {
    char text[80];
    std::snprintf(text, sizeof text, "%.17g (0x%llx)", number(value),
                  (unsigned long long)bitsOf(value));
    return text;
  }
  static bool isSame(T expected, T found, const Bound &bound) {
    const double x = number(expected), y = number(found);
    if (std::isnan(x) || std::isnan(y)) // of one the bits are left open
      return std::isnan(x) && std::isnan(y);
    if (bitsOf(expected) == bitsOf(found))
      return true;
    if (bound.ulps == 0 && bound.absolute == 0)
      return false;
    return (bound.absolute > 0 && std::fabs(x - y) <= bound.absolute) ||
           std::fabs(double(orderOf(bitsOf(expected)) -
                            orderOf(bitsOf(found)))) <= bound.ulps;
  }
};
template <> struct Traits<float> : FloatTraits<float, uint32_t, 23> {};
template <> struct Traits<double> : FloatTraits<double, uint64_t, 52> {};
template <> struct Traits<__half> : FloatTraits<__half, uint16_t, 10> {};
template <>
struct Traits<__nv_bfloat16> : FloatTraits<__nv_bfloat16, uint16_t, 7> {};
template <> struct Traits<bool> {
  static std::string text(bool value) { return value ? "true" : "false"; }
  static bool isSame(bool expected, bool found, const Bound &) {
    return expected == found;
  }
};

template <typename T>
void store(std::vector<std::byte> &bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// Edges in all pairs with those of the other parameter, if there is room, then
/// anything.
template <typename T>
void fillAnything(std::vector<std::byte> &bytes, Draw &draw, unsigned which) {
  const std::vector<T> edges = Traits<T>::edges();
  const size_t count = bytes.size() / sizeof(T), size = edges.size();
  for (size_t index = 0; index < count; ++index) {
    const bool isPair =
        which < 2 && index < size * size && count >= size * size;
    store(bytes, index,
          isPair            ? edges[which == 0 ? index % size : index / size]
          : draw() % 3 == 0 ? edges[draw() % size]
                            : Traits<T>::any(draw));
  }
}

template <typename T> Argument buffer(Argument::Kind kind, size_t count) {
  Argument result;
  result.kind = kind;
  result.elementBytes = sizeof(T);
  result.bytes.assign(count * sizeof(T), std::byte(0xA5));
  result.differ = [](const std::byte *expected, const std::byte *found,
                     const Bound &bound) -> std::string {
    T x, y;
    std::memcpy(&x, expected, sizeof(T));
    std::memcpy(&y, found, sizeof(T));
    if (Traits<T>::isSame(x, y, bound))
      return "";
    return "expected " + Traits<T>::text(x) + ", found " + Traits<T>::text(y);
  };
  return result;
}
template <typename T> Argument out(size_t count) {
  return buffer<T>(Argument::Output, count);
}
template <typename T> Argument in(size_t count) {
  Argument result = buffer<T>(Argument::Input, count);
  result.fill = fillAnything<T>;
  return result;
}
/// Of numbers from `low` to `high`, both among them.
template <typename T> Argument in(size_t count, double low, double high) {
  Argument result = buffer<T>(Argument::Input, count);
  result.fill = [=](std::vector<std::byte> &bytes, Draw &draw, unsigned) {
    for (size_t index = 0; index < count; ++index)
      store(bytes, index,
            T(index == 0   ? low
              : index == 1 ? high
                           : low + draw.unit() * (high - low)));
  };
  return result;
}
template <typename T>
Argument inout(size_t count, double low = 0, double high = 0) {
  Argument result = in<T>(count, low, high);
  result.kind = Argument::InOut;
  return result;
}
template <typename T> Argument value(const T &what) {
  Argument result;
  result.elementBytes = sizeof(T);
  result.bytes.resize(sizeof(T));
  std::memcpy(result.bytes.data(), &what, sizeof(T));
  return result;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

class Registrar {
public:
  template <typename... Parameters>
  Registrar(const char *name, const char *file, const Launch &launch,
            const Bound &bound, void (*kernel)(Parameters...),
            std::vector<Argument> arguments, const char *fault = "") {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...));
    add(name, file, launch, bound, std::move(arguments), fault,
        {sizeof(Parameters)...}, [kernel](const std::vector<void *> &places) {
          call(kernel, places, std::index_sequence_for<Parameters...>());
        });
  }

private:
  template <typename... Parameters, size_t... At>
  static void call(void (*kernel)(Parameters...),
                   const std::vector<void *> &places,
                   std::index_sequence<At...>) {
    kernel(valueOf<Parameters>(places[At])...);
  }
  template <typename T> static T valueOf(void *place) {
    if constexpr (std::is_pointer_v<T>)
      return static_cast<T>(place);
    else
      return *static_cast<T *>(place);
  }
  static void add(const char *name, const char *file, const Launch &launch,
                  const Bound &bound, std::vector<Argument> arguments,
                  const char *fault, const std::vector<size_t> &sizes,
                  std::function<void(const std::vector<void *> &)> body);
};

template <typename... T> std::vector<Argument> arguments(T... list) {
  return {std::move(list)...};
}

/// Most kernels have one thread for each element of so many.
constexpr unsigned kCount = 1024;
inline Launch flat() { return launch(8, 128); }

} // namespace kernels

#endif // PP_TEST_GPU_KERNELS_CASE_H

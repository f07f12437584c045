//===- Reduce.cpp - additions in some order -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// NCCL does not say in which order it adds, and rounds to the type of the
// elements after each addition. Here each run of elements has an order of its
// own, drawn from the setting, the count and the place of the run, so that it
// is the same each time. max and min are those of C, which drop what is no
// number. Types and reductions are those that the engine asks for.
//
//===----------------------------------------------------------------------===//
#include "Objects.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <type_traits>

using namespace emulated;
using namespace emulated::nccl;

uint64_t nccl::sizeOf(ncclDataType_t type) {
  switch (type) {
  case ncclUint8:
    return 1;
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

const char *nccl::nameOf(ncclDataType_t type) {
  switch (type) {
  case ncclUint8:
    return "u8";
  case ncclBfloat16:
    return "bf16";
  case ncclInt32:
    return "i32";
  case ncclFloat32:
    return "f32";
  case ncclInt64:
    return "i64";
  case ncclFloat64:
    return "f64";
  default:
    return "an unknown type";
  }
}

namespace {
template <typename T> struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct BrainFloat {
  using Stored = __nv_bfloat16;
  static float load(Stored value) { return __bfloat162float(value); }
  static Stored store(float value) { return __float2bfloat16_rn(value); }
};

template <typename T> T combine(ncclRedOp_t reduction, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>; // which wraps around
    switch (reduction) {
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return T(Unsigned(a) + Unsigned(b));
    }
  } else {
    switch (reduction) {
    case ncclMax:
      return std::fmax(a, b);
    case ncclMin:
      return std::fmin(a, b);
    default:
      return a + b;
    }
  }
}

constexpr uint64_t kRun = 64; ///< elements that are added in one order
} // namespace

template <typename Type>
static void reduceAs(ncclRedOp_t reduction,
                     const std::vector<const std::byte *> &from, std::byte *to,
                     uint64_t count, uint64_t errors) {
  using Stored = typename Type::Stored;
  std::vector<size_t> order(from.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Stored> result(count);
  for (uint64_t begin = 0; begin < count; begin += kRun) {
    if (errors != 0) {
      std::iota(order.begin(), order.end(), 0);
      std::mt19937_64 random(errors * 0x9e3779b97f4a7c15ULL + count * 31 +
                             begin / kRun);
      for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random() % i]);
    }
    for (uint64_t i = begin; i < std::min(begin + kRun, count); ++i) {
      const auto load = [&](size_t member) {
        Stored value;
        std::memcpy(&value, from[member] + i * sizeof(Stored), sizeof(Stored));
        return value;
      };
      Stored sum = load(order[0]);
      for (size_t k = 1; k < order.size(); ++k)
        sum = Type::store(
            combine(reduction, Type::load(sum), Type::load(load(order[k]))));
      result[i] = sum;
    }
  }
  // Behind all that is read, for it may be one of them.
  std::memcpy(to, result.data(), count * sizeof(Stored));
}

void nccl::reduce(ncclDataType_t type, ncclRedOp_t reduction,
                  const std::vector<const std::byte *> &from, std::byte *to,
                  uint64_t count, uint64_t errors) {
  switch (type) {
  case ncclUint8:
    return reduceAs<Plain<uint8_t>>(reduction, from, to, count, errors);
  case ncclInt32:
    return reduceAs<Plain<int32_t>>(reduction, from, to, count, errors);
  case ncclInt64:
    return reduceAs<Plain<int64_t>>(reduction, from, to, count, errors);
  case ncclBfloat16:
    return reduceAs<BrainFloat>(reduction, from, to, count, errors);
  case ncclFloat32:
    return reduceAs<Plain<float>>(reduction, from, to, count, errors);
  case ncclFloat64:
    return reduceAs<Plain<double>>(reduction, from, to, count, errors);
  default:
    notModelled("a reduction of type " + std::to_string(int(type)));
  }
}

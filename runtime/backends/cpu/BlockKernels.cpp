//===- BlockKernels.cpp - the inner loops of contractions -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled several times, with PPRT_ISA naming the instruction set, PPRT_VECTOR
// the bytes of its registers and PPRT_TILE_ROWS the rows of a tile that its
// register file holds beside two columns of vectors. Everything here but the
// two tables at the end is local to the file: a function shared with other
// files could be linked in the variant that this machine cannot run.
//
//===----------------------------------------------------------------------===//
#include "BlockKernels.h"
#include "BlockKernelTables.h"

#include <cmath>

using namespace pprt;
using namespace pprt::cpu;

namespace {

#define PPRT_LAMBDA __attribute__((always_inline))
#define PPRT_INLINE static inline PPRT_LAMBDA

template <typename T, uint64_t Size> struct VectorOf {
  using Type = T __attribute__((vector_size(Size * sizeof(T))));
};
template <typename T, uint64_t Size>
using Vector = typename VectorOf<T, Size>::Type;
template <typename T> constexpr uint64_t kWidth = PPRT_VECTOR / sizeof(T);

/// Nothing that is loaded or stored is aligned to more than an element.
template <typename V, typename T> PPRT_INLINE V loadVector(const T *from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
template <typename V, typename T> PPRT_INLINE void storeVector(T *to, V value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

constexpr uint64_t kTileRows = PPRT_TILE_ROWS;
template <typename T> constexpr uint64_t kTileColumns = 2 * kWidth<T>;

PPRT_INLINE uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

//===----------------------------------------------------------------------===//
// Elements as they are stored
//===----------------------------------------------------------------------===//

template <typename Type> struct Plain {
  using Stored = Type;
  template <typename T> PPRT_INLINE T load(Type value) { return T(value); }
  template <typename T, uint64_t Count>
  PPRT_INLINE Vector<T, Count> loadMany(const Type *from) {
    return __builtin_convertvector((loadVector<Vector<Type, Count>>(from)),
                                   Vector<T, Count>);
  }
  template <typename T> PPRT_INLINE Type store(T value) { return Type(value); }
};
/// The upper half of an f32, rounded to nearest even; a NaN stays one.
struct BFloat16 {
  using Stored = uint16_t;
  template <typename T> PPRT_INLINE T load(uint16_t value) {
    const uint32_t bits = uint32_t(value) << 16;
    float result;
    __builtin_memcpy(&result, &bits, sizeof(result));
    return T(result);
  }
  template <typename T, uint64_t Count>
  PPRT_INLINE Vector<T, Count> loadMany(const uint16_t *from) {
    const auto bits =
        __builtin_convertvector((loadVector<Vector<uint16_t, Count>>(from)),
                                Vector<uint32_t, Count>)
        << 16;
    return __builtin_convertvector((loadVector<Vector<float, Count>>(
                                       reinterpret_cast<const float *>(&bits))),
                                   Vector<T, Count>);
  }
  template <typename T> PPRT_INLINE uint16_t store(T value) {
    const float single = float(value);
    uint32_t bits;
    __builtin_memcpy(&bits, &single, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return uint16_t(single != single ? (bits >> 16) | 0x40 : rounded);
  }
};

template <typename Function>
PPRT_INLINE void withFormat(ppx::ElementType element, Function &&function) {
  switch (element) {
  case ppx::ElementType_f64:
    return function(Plain<double>());
  case ppx::ElementType_bf16:
    return function(BFloat16());
  default:
    return function(Plain<float>());
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Four rows of four steps each, written as four steps of four rows.
template <typename Format, typename T>
PPRT_INLINE void transpose4(const typename Format::Stored *from,
                            uint64_t rowStride, T scale, T *to, uint64_t tile) {
  using Four = Vector<T, 4>;
  const auto row = [&](uint64_t r) PPRT_LAMBDA {
    return Format::template loadMany<T, 4>(from + r * rowStride) * scale;
  };
  const Four a = row(0), b = row(1), c = row(2), d = row(3);
  const Four ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  storeVector(to, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  storeVector(to + tile, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  storeVector(to + 2 * tile, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  storeVector(to + 3 * tile, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

/// The same of two rows.
template <typename Format, typename T>
PPRT_INLINE void transpose2(const typename Format::Stored *from,
                            uint64_t rowStride, T scale, T *to, uint64_t tile) {
  using Two = Vector<T, 2>;
  const auto a = Format::template loadMany<T, 4>(from) * scale;
  const auto b = Format::template loadMany<T, 4>(from + rowStride) * scale;
  storeVector(to, Two(__builtin_shufflevector(a, b, 0, 4)));
  storeVector(to + tile, Two(__builtin_shufflevector(a, b, 1, 5)));
  storeVector(to + 2 * tile, Two(__builtin_shufflevector(a, b, 2, 6)));
  storeVector(to + 3 * tile, Two(__builtin_shufflevector(a, b, 3, 7)));
}

/// Whole panels of rows that lie side by side: memory is read in its order.
template <typename Format, uint64_t Tile, typename T>
PPRT_INLINE void packSideBySide(const typename Format::Stored *from,
                                uint64_t stepStride, uint64_t panels,
                                uint64_t steps, T scale, T *to) {
  static_assert(Tile % 2 == 0, "copies fours, then a pair");
  constexpr uint64_t fours = Tile / 4 * 4;
  for (uint64_t step = 0; step < steps; ++step)
    for (uint64_t panel = 0; panel < panels; ++panel) {
      const auto *source = from + step * stepStride + panel * Tile;
      T *target = to + (panel * steps + step) * Tile;
#pragma clang loop unroll(full)
      for (uint64_t r = 0; r < fours; r += 4)
        storeVector(target + r,
                    Format::template loadMany<T, 4>(source + r) * scale);
      if constexpr (Tile % 4 != 0)
        storeVector(target + fours,
                    Format::template loadMany<T, 2>(source + fours) * scale);
    }
}

/// One panel of `rows` <= tile rows.
template <typename Format, typename T>
PPRT_INLINE void packPanel(const typename Format::Stored *from,
                           uint64_t rowStride, uint64_t stepStride,
                           uint64_t rows, uint64_t steps, uint64_t tile,
                           T scale, T *to) {
  const auto one = [&](uint64_t row, uint64_t step) PPRT_LAMBDA {
    to[step * tile + row] =
        Format::template load<T>(from[row * rowStride + step * stepStride]) *
        scale;
  };
  // Steps that lie side by side are transposed in registers.
  const uint64_t transposed = stepStride == 1 ? steps / 4 * 4 : 0;
  for (uint64_t row = 0; row < rows && transposed > 0;) {
    const auto *source = from + row * rowStride;
    const uint64_t count = rows - row >= 4 ? 4 : rows - row >= 2 ? 2 : 1;
    for (uint64_t r = count; r < 2 * count; ++r)
      __builtin_prefetch(source + r * rowStride);
    for (uint64_t step = 0; step < transposed; step += 4) {
      T *target = to + step * tile + row;
      if (count == 4)
        transpose4<Format>(source + step, rowStride, scale, target, tile);
      else if (count == 2)
        transpose2<Format>(source + step, rowStride, scale, target, tile);
      else
        for (uint64_t s = step; s < step + 4; ++s)
          one(row, s);
    }
    row += count;
  }
  for (uint64_t step = transposed; step < steps; ++step)
    for (uint64_t row = 0; row < rows; ++row)
      one(row, step);
  if (rows < tile)
    for (uint64_t step = 0; step < steps; ++step)
      for (uint64_t row = rows; row < tile; ++row)
        to[step * tile + row] = 0;
}

template <typename T>
void pack(const StridedInput &from, uint64_t rows, uint64_t steps,
          uint64_t tile, T scale, T *to) {
  withFormat(from.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    const auto *data =
        reinterpret_cast<const typename Format::Stored *>(from.data);
    uint64_t begin = 0;
    if (from.rowStride == 1) {
      const uint64_t panels = rows / tile;
      begin = panels * tile;
      if (tile == kTileColumns<T>)
        packSideBySide<Format, kTileColumns<T>>(data, from.columnStride, panels,
                                                steps, scale, to);
      else
        packSideBySide<Format, kTileRows>(data, from.columnStride, panels,
                                          steps, scale, to);
    }
    for (; begin < rows; begin += tile)
      packPanel<Format>(data + begin * from.rowStride, from.rowStride,
                        from.columnStride, smaller(tile, rows - begin), steps,
                        tile, scale, to + begin * steps);
  });
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// One tile, of the first panel of `lhs`: Rows x two vectors in registers, over
/// all steps.
template <typename T, uint64_t Rows>
PPRT_INLINE void multiplyTile(uint64_t steps, const Panels<T> &lhs,
                              const T *rhs, T *out, uint64_t leading,
                              bool add) {
  constexpr uint64_t width = kWidth<T>;
  using Register = Vector<T, width>;
  Register sum[Rows][2];
#pragma clang loop unroll(full)
  for (uint64_t r = 0; r < Rows; ++r)
    sum[r][0] = sum[r][1] = Register{};
  // The result is needed at the end; the next panel's rows, which the hardware
  // sees as too many short streams, after that.
  for (uint64_t r = 0; r < Rows; ++r)
    __builtin_prefetch(out + r * leading, 1);
  constexpr uint64_t line = 64 / sizeof(T);
  const T *left = lhs.data;
  for (uint64_t begin = 0; begin < steps; begin += line) {
    if (lhs.stepStride == 1)
      for (uint64_t r = 0; r < Rows; ++r)
        __builtin_prefetch(left + r * lhs.rowStride + lhs.panelStride);
    const uint64_t count = smaller(line, steps - begin);
    for (uint64_t step = 0; step < count; ++step) {
      const auto right0 = loadVector<Register>(rhs);
      const auto right1 = loadVector<Register>(rhs + width);
#pragma clang loop unroll(full)
      for (uint64_t r = 0; r < Rows; ++r) {
        const T factor = left[r * lhs.rowStride];
        sum[r][0] += factor * right0;
        sum[r][1] += factor * right1;
      }
      left += lhs.stepStride;
      rhs += 2 * width;
    }
  }
#pragma clang loop unroll(full)
  for (uint64_t r = 0; r < Rows; ++r) {
    T *row = out + r * leading;
    if (add) {
      sum[r][0] += loadVector<Register>(row);
      sum[r][1] += loadVector<Register>(row + width);
    }
    storeVector(row, sum[r][0]);
    storeVector(row + width, sum[r][1]);
  }
}

/// Dispatches on the rows of the last panel.
template <typename T, uint64_t Rows = kTileRows>
PPRT_INLINE void multiplyRows(uint64_t rows, uint64_t steps,
                              const Panels<T> &lhs, const T *rhs, T *out,
                              uint64_t leading, bool add) {
  if constexpr (Rows > 1)
    if (rows < Rows)
      return multiplyRows<T, Rows - 1>(rows, steps, lhs, rhs, out, leading,
                                       add);
  multiplyTile<T, Rows>(steps, lhs, rhs, out, leading, add);
}

template <typename T>
void multiply(uint64_t rows, uint64_t columns, uint64_t steps,
              const Panels<T> &lhs, const T *rhs, T *out, uint64_t leading,
              bool add) {
  constexpr uint64_t tile = kTileColumns<T>;
  for (uint64_t column = 0; column < columns; column += tile) {
    const uint64_t width = smaller(tile, columns - column);
    const T *panel = rhs + column * steps;
    Panels<T> left = lhs;
    for (uint64_t row = 0; row < rows; row += kTileRows) {
      const uint64_t height = smaller(kTileRows, rows - row);
      T *corner = out + row * leading + column;
      if (width == tile) {
        multiplyRows<T>(height, steps, left, panel, corner, leading, add);
      } else {
        T edge[kTileRows * tile];
        multiplyRows<T>(height, steps, left, panel, edge, tile, false);
        for (uint64_t r = 0; r < height; ++r)
          for (uint64_t c = 0; c < width; ++c)
            corner[r * leading + c] =
                edge[r * tile + c] + (add ? corner[r * leading + c] : T(0));
      }
      left.data += left.panelStride;
    }
  }
}

//===----------------------------------------------------------------------===//
// Epilogues and results
//===----------------------------------------------------------------------===//

PPRT_INLINE double hyperbolicTangent(double x) { return tanh(x); }

/// Branch-free, so that loops over it are vectorised: a rational minimax
/// approximation, within 4 units in the last place, +-1 beyond +-7.9.
PPRT_INLINE float hyperbolicTangent(float x) {
  constexpr float bound = 7.90531110763549805f;
  const float low = x < -bound ? -bound : x;
  const float c = low > bound ? bound : low;
  const float s = c * c;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return c * p / q;
}

template <typename T> PPRT_INLINE T geluTanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + hyperbolicTangent(inner));
}

template <typename T, typename Function>
PPRT_INLINE void map(uint64_t rows, uint64_t columns, T *out, uint64_t leading,
                     Function &&function) {
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c)
      out[r * leading + c] = function(out[r * leading + c]);
}

template <typename T, typename Function>
PPRT_INLINE void combine(const StridedInput &operand, uint64_t rows,
                         uint64_t columns, T *out, uint64_t leading,
                         Function &&function) {
  withFormat(operand.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    const auto *data =
        reinterpret_cast<const typename Format::Stored *>(operand.data);
    for (uint64_t r = 0; r < rows; ++r) {
      const auto *other = data + r * operand.rowStride;
      T *row = out + r * leading;
      if (operand.columnStride == 1)
        for (uint64_t c = 0; c < columns; ++c)
          row[c] = function(row[c], Format::template load<T>(other[c]));
      else
        for (uint64_t c = 0; c < columns; ++c)
          row[c] = function(row[c], Format::template load<T>(
                                        other[c * operand.columnStride]));
    }
  });
}

template <typename T>
void finish(ppx::EpilogueKind kind, const StridedInput &operand, uint64_t rows,
            uint64_t columns, T *out, uint64_t leading) {
  switch (kind) {
  case ppx::EpilogueKind_add:
    return combine(operand, rows, columns, out, leading,
                   [](T a, T b) PPRT_LAMBDA { return a + b; });
  case ppx::EpilogueKind_multiply:
    return combine(operand, rows, columns, out, leading,
                   [](T a, T b) PPRT_LAMBDA { return a * b; });
  case ppx::EpilogueKind_gelu_tanh:
    return map(rows, columns, out, leading,
               [](T x) PPRT_LAMBDA { return geluTanh(x); });
  case ppx::EpilogueKind_tanh:
    return map(rows, columns, out, leading,
               [](T x) PPRT_LAMBDA { return hyperbolicTangent(x); });
  case ppx::EpilogueKind_relu:
    return map(rows, columns, out, leading,
               [](T x) PPRT_LAMBDA { return x < T(0) ? T(0) : x; });
  }
}

template <typename T>
void store(const T *from, uint64_t leading, uint64_t rows, uint64_t columns,
           const StridedOutput &to, bool add) {
  withFormat(to.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    auto *data = reinterpret_cast<typename Format::Stored *>(to.data);
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t c = 0; c < columns; ++c) {
        auto &element = data[r * to.rowStride + c * to.columnStride];
        const T old = add ? Format::template load<T>(element) : T(0);
        element = Format::store(T(old + from[r * leading + c]));
      }
  });
}

} // namespace

#define PPRT_STRINGIFY2(name) #name
#define PPRT_STRINGIFY(name) PPRT_STRINGIFY2(name)
#define PPRT_TABLE(type)                                                       \
  const BlockKernels<type> cpu::PPRT_ISA::type##Kernels = {                    \
      PPRT_STRINGIFY(PPRT_ISA), kTileRows,    kTileColumns<type>, pack<type>,  \
      multiply<type>,           finish<type>, store<type>}
PPRT_TABLE(float);
PPRT_TABLE(double);

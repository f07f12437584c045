//===- MatrixBlocks.cpp - blocks of matrices, and epilogues ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Plain loops that the compiler vectorises, once per instruction set: functions
// that they call must be inlined.
//
//===----------------------------------------------------------------------===//
#include "MatrixBlocks.h"
#include "pprt/ElementFormats.h"

#include <algorithm>
#include <cmath>

using namespace pprt;
using namespace pprt::cpu;

#define PPRT_LAMBDA __attribute__((always_inline))
#define PPRT_INLINE static inline PPRT_LAMBDA
#if defined(__x86_64__)
#define PPRT_CLONES                                                            \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define PPRT_CLONES
#endif

//===----------------------------------------------------------------------===//
// Elements in memory
//===----------------------------------------------------------------------===//

template <typename Function>
PPRT_INLINE void withFloat(ppx::ElementType element, Function &&function) {
  switch (element) {
  case ppx::ElementType_f64:
    return function(PlainFormat<double>());
  case ppx::ElementType_bf16:
    return function(BFloat16Format());
  case ppx::ElementType_f16:
    return function(Float16Format());
  default:
    return function(PlainFormat<float>());
  }
}

/// Calls function(element of the block, element of the matrix) for all; both by
/// reference, the latter in its stored type. Unit strides have their own loop,
/// which is vectorised.
template <typename Format, typename T, typename Function>
PPRT_INLINE void forEach(const Block<T> &block, const StridedMatrix &matrix,
                         Function &&function) {
  auto *data = reinterpret_cast<typename Format::Stored *>(matrix.data);
  for (uint64_t r = 0; r < block.rows; ++r) {
    T *row = block.data + r * block.leading;
    auto *other = data + r * matrix.rowStride;
    if (matrix.columnStride == 1)
      for (uint64_t c = 0; c < block.columns; ++c)
        function(row[c], other[c]);
    else
      for (uint64_t c = 0; c < block.columns; ++c)
        function(row[c], other[c * matrix.columnStride]);
  }
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// As bits, whatever they mean.
PPRT_INLINE void loadAny(const StridedMatrix &from, const Block<uint16_t> &to) {
  forEach<PlainFormat<uint16_t>>(to, from,
                                 [](uint16_t &value, auto &stored)
                                     PPRT_LAMBDA { value = stored; });
}

template <typename T>
PPRT_INLINE void loadAny(const StridedMatrix &from, const Block<T> &to) {
  withFloat(from.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    forEach<Format>(to, from, [](T &value, auto &stored) PPRT_LAMBDA {
      value = T(Format::load(stored));
    });
  });
}

template <typename T>
PPRT_INLINE void storeAny(const Block<T> &from, const StridedMatrix &to,
                          bool add) {
  withFloat(to.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    if (add)
      forEach<Format>(from, to, [](T &value, auto &stored) PPRT_LAMBDA {
        stored = Format::store(T(Format::load(stored)) + value);
      });
    else
      forEach<Format>(from, to, [](T &value, auto &stored) PPRT_LAMBDA {
        stored = Format::store(value);
      });
  });
}

//===----------------------------------------------------------------------===//
// Patches
//===----------------------------------------------------------------------===//

namespace {

/// A place in some loops: the indices of plain loops, and the coordinates that
/// the others add up to.
struct PatchPlace {
  uint64_t index[kMostLoops] = {};
  int64_t address = 0;
  int64_t coordinates[kMostWindows] = {};

  PPRT_LAMBDA void move(const PatchLoop &loop, int64_t by) {
    if (loop.window < 0)
      address += by * int64_t(loop.stride);
    else
      coordinates[loop.window] += by * loop.step;
  }
  PPRT_LAMBDA void seek(const PatchLoop *loops, size_t count,
                        uint64_t position) {
    for (size_t i = count; i-- > 0; position /= loops[i].extent) {
      index[i] = position % loops[i].extent;
      move(loops[i], int64_t(index[i]));
    }
  }
  PPRT_LAMBDA void advance(const PatchLoop *loops, size_t count) {
    for (size_t i = count; i-- > 0;) {
      if (++index[i] < loops[i].extent)
        return move(loops[i], 1);
      index[i] = 0;
      move(loops[i], 1 - int64_t(loops[i].extent));
    }
  }
};

/// The innermost loops that are copied at once: one over plain elements, and
/// one along a window around it if its elements are contiguous.
struct PatchRun {
  size_t loops = 0;
  uint64_t extent = 1, stride = 1;
  int32_t window = -1; ///< of the run
  uint64_t step = 1;   ///< elements of the run for each step of the window

  PatchRun(const PatchSource &from, const PatchRange &range) {
    const PatchLoop &last = range.loops[range.numLoops - 1];
    if (last.window >= 0)
      return;
    loops = 1;
    extent = last.extent;
    stride = last.stride;
    if (range.numLoops == 1)
      return;
    const PatchLoop &next = range.loops[range.numLoops - 2];
    if (stride != 1 || next.window < 0 || next.step != 1 ||
        from.windows[next.window].divisor != 1 ||
        from.windows[next.window].stride != extent)
      return;
    loops = 2;
    window = next.window;
    step = extent;
    extent *= next.extent;
  }
};

} // namespace

template <typename Format, typename T>
PPRT_INLINE void loadPatchesOf(const PatchSource &from, const PatchRange &outer,
                               const PatchRange &inner, const Block<T> &to) {
  if (to.rows == 0 || to.columns == 0)
    return;
  auto *data = reinterpret_cast<const typename Format::Stored *>(from.data);
  const PatchRun run(from, inner);
  const size_t heads = inner.numLoops - run.loops;
  PatchPlace row, first;
  row.seek(outer.loops, outer.numLoops, outer.begin);
  first.seek(inner.loops, heads, inner.begin / run.extent);
  for (uint64_t r = 0; r < to.rows;
       ++r, row.advance(outer.loops, outer.numLoops)) {
    T *out = to.data + r * to.leading;
    PatchPlace head = first;
    uint64_t within = inner.begin % run.extent;
    for (uint64_t c = 0; c < to.columns;
         within = 0, head.advance(inner.loops, heads)) {
      const uint64_t length = std::min(run.extent - within, to.columns - c);
      T *piece = out + c;
      c += length;
      int64_t address = row.address + head.address;
      // Elements of the piece that exist.
      uint64_t begin = 0, end = length;
      for (size_t w = 0; w < from.numWindows; ++w) {
        const PatchWindow &window = from.windows[w];
        int64_t x = row.coordinates[w] + head.coordinates[w] + window.offset;
        if (int32_t(w) == run.window) {
          const int64_t least =
              std::max<int64_t>(0, -x) * int64_t(run.step) - int64_t(within);
          const int64_t most =
              (int64_t(window.size) - x) * int64_t(run.step) - int64_t(within);
          begin = uint64_t(std::clamp<int64_t>(least, 0, int64_t(length)));
          end = uint64_t(
              std::clamp<int64_t>(most, int64_t(begin), int64_t(length)));
        } else {
          if (x >= 0 && window.divisor != 1) {
            if (x % int64_t(window.divisor) != 0)
              x = -1;
            else
              x /= int64_t(window.divisor);
          }
          if (uint64_t(x) >= window.size)
            end = begin = length;
        }
        if (begin == end)
          break;
        address += x * int64_t(window.stride);
      }
      if (begin == end)
        begin = end = length;
      for (uint64_t i = 0; i < begin; ++i)
        piece[i] = T(0);
      for (uint64_t i = end; i < length; ++i)
        piece[i] = T(0);
      const int64_t source = address + int64_t(within * run.stride);
      if (run.stride == 1)
        for (uint64_t i = begin; i < end; ++i)
          piece[i] = T(Format::load(data[source + int64_t(i)]));
      else
        for (uint64_t i = begin; i < end; ++i)
          piece[i] = T(Format::load(data[source + int64_t(i * run.stride)]));
    }
  }
}

PPRT_INLINE void loadPatchesAny(const PatchSource &from,
                                const PatchRange &outer,
                                const PatchRange &inner,
                                const Block<uint16_t> &to) {
  loadPatchesOf<PlainFormat<uint16_t>>(from, outer, inner, to);
}

template <typename T>
PPRT_INLINE void loadPatchesAny(const PatchSource &from,
                                const PatchRange &outer,
                                const PatchRange &inner, const Block<T> &to) {
  withFloat(from.element, [&](auto format) PPRT_LAMBDA {
    loadPatchesOf<decltype(format)>(from, outer, inner, to);
  });
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

PPRT_INLINE double hyperbolicTangent(double x) { return std::tanh(x); }

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
PPRT_INLINE void map(const Block<T> &block, Function &&function) {
  for (uint64_t r = 0; r < block.rows; ++r)
    for (uint64_t c = 0; c < block.columns; ++c) {
      T &value = block.data[r * block.leading + c];
      value = function(value);
    }
}

template <typename T, typename Function>
PPRT_INLINE void combine(const Block<T> &block, const StridedMatrix &operand,
                         Function &&function) {
  withFloat(operand.element, [&](auto format) PPRT_LAMBDA {
    using Format = decltype(format);
    forEach<Format>(block, operand, [&](T &value, auto &stored) PPRT_LAMBDA {
      value = function(value, T(Format::load(stored)));
    });
  });
}

template <typename T>
PPRT_INLINE void finishAny(ppx::EpilogueKind kind, const StridedMatrix &operand,
                           const Block<T> &block) {
  switch (kind) {
  case ppx::EpilogueKind_add:
    return combine(block, operand, [](T a, T b) PPRT_LAMBDA { return a + b; });
  case ppx::EpilogueKind_multiply:
    return combine(block, operand, [](T a, T b) PPRT_LAMBDA { return a * b; });
  case ppx::EpilogueKind_gelu_tanh:
    return map(block, [](T x) PPRT_LAMBDA { return geluTanh(x); });
  case ppx::EpilogueKind_tanh:
    return map(block, [](T x) PPRT_LAMBDA { return hyperbolicTangent(x); });
  case ppx::EpilogueKind_relu:
    return map(block, [](T x) PPRT_LAMBDA { return x < T(0) ? T(0) : x; });
  case ppx::EpilogueKind_gelu_tanh_gradient:
  case ppx::EpilogueKind_sum_lhs:
  case ppx::EpilogueKind_sum_rhs:
    return; // verifyContraction() refuses these
  }
}

//===----------------------------------------------------------------------===//
// Entry points, once per instruction set
//===----------------------------------------------------------------------===//

#define PPRT_LOADS(type)                                                       \
  PPRT_CLONES void cpu::load(const StridedMatrix &from,                        \
                             const Block<type> &to) {                          \
    loadAny(from, to);                                                         \
  }                                                                            \
  PPRT_CLONES void cpu::loadPatches(                                           \
      const PatchSource &from, const PatchRange &outer,                        \
      const PatchRange &inner, const Block<type> &to) {                        \
    loadPatchesAny(from, outer, inner, to);                                    \
  }
#define PPRT_ENTRIES(type)                                                     \
  PPRT_LOADS(type)                                                             \
  PPRT_CLONES void cpu::store(const Block<type> &from,                         \
                              const StridedMatrix &to, bool add) {             \
    storeAny(from, to, add);                                                   \
  }                                                                            \
  PPRT_CLONES void cpu::finish(ppx::EpilogueKind kind,                         \
                               const StridedMatrix &operand,                   \
                               const Block<type> &block) {                     \
    finishAny(kind, operand, block);                                           \
  }
PPRT_LOADS(uint16_t)
PPRT_ENTRIES(float)
PPRT_ENTRIES(double)

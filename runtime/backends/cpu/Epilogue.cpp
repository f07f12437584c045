//===- Epilogue.cpp - what follows a contraction, element by element ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Epilogue.h"

#include <algorithm>
#include <cmath>

using namespace pprt;
using namespace pprt::cpu;

namespace {

double hyperbolicTangent(double x) { return std::tanh(x); }

/// Branch-free, so that loops over it are vectorised: a rational minimax
/// approximation, within 4 units in the last place, +-1 beyond +-7.9.
float hyperbolicTangent(float x) {
  const float c =
      std::min(std::max(x, -7.90531110763549805f), 7.90531110763549805f);
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

template <typename T> T geluTanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + hyperbolicTangent(inner));
}

template <typename T, typename Function>
void map(T *matrix, uint64_t leading, uint64_t rows, uint64_t columns,
         Function &&function) {
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c)
      matrix[r * leading + c] = function(matrix[r * leading + c]);
}

template <typename T, typename Function>
void combine(const StridedInput &operand, T *matrix, uint64_t leading,
             uint64_t rows, uint64_t columns, Function &&function) {
  withElement(operand.element, [&](auto format) {
    using Format = decltype(format);
    const auto *other =
        reinterpret_cast<const typename Format::Stored *>(operand.data);
    for (uint64_t r = 0; r < rows; ++r) {
      T *row = matrix + r * leading;
      const auto *otherRow = other + r * operand.rowStride;
      if (operand.columnStride == 1)
        for (uint64_t c = 0; c < columns; ++c)
          row[c] = function(row[c], Format::template load<T>(otherRow[c]));
      else
        for (uint64_t c = 0; c < columns; ++c)
          row[c] = function(row[c], Format::template load<T>(
                                        otherRow[c * operand.columnStride]));
    }
  });
}

} // namespace

template <typename T>
void cpu::applyEpilogue(ppx::EpilogueKind kind, const StridedInput &operand,
                        T *matrix, uint64_t leading, uint64_t rows,
                        uint64_t columns) {
  switch (kind) {
  case ppx::EpilogueKind_add:
    return combine(operand, matrix, leading, rows, columns,
                   [](T a, T b) { return a + b; });
  case ppx::EpilogueKind_multiply:
    return combine(operand, matrix, leading, rows, columns,
                   [](T a, T b) { return a * b; });
  case ppx::EpilogueKind_gelu_tanh:
    return map(matrix, leading, rows, columns, [](T x) { return geluTanh(x); });
  case ppx::EpilogueKind_tanh:
    return map(matrix, leading, rows, columns,
               [](T x) { return hyperbolicTangent(x); });
  case ppx::EpilogueKind_relu:
    return map(matrix, leading, rows, columns,
               [](T x) { return x < T(0) ? T(0) : x; });
  }
}

template void cpu::applyEpilogue(ppx::EpilogueKind, const StridedInput &,
                                 float *, uint64_t, uint64_t, uint64_t);
template void cpu::applyEpilogue(ppx::EpilogueKind, const StridedInput &,
                                 double *, uint64_t, uint64_t, uint64_t);

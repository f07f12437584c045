//===- Multiply.cpp - what an operation of cublasLt does ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Bytes between columns belong to others. Sums are in the type that is computed
// in.
//
//===----------------------------------------------------------------------===//
#include "Problem.h"
#include "pprt/NarrowFloats.h"

#include <algorithm>
#include <cmath>

using namespace emulated;
using namespace emulated::blas;

namespace {

double load(cudaDataType type, const std::byte *at) {
  if (type == CUDA_R_64F) {
    double value;
    std::memcpy(&value, at, 8);
    return value;
  }
  if (type == CUDA_R_32F) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return type == CUDA_R_16F ? pprt::fromFloat16(bits)
                            : pprt::fromBFloat16(bits);
}

void store(cudaDataType type, std::byte *at, double value) {
  if (type == CUDA_R_64F) {
    std::memcpy(at, &value, 8);
  } else if (type == CUDA_R_32F) {
    const auto narrow = float(value);
    std::memcpy(at, &narrow, 4);
  } else {
    const uint16_t bits = type == CUDA_R_16F ? pprt::toFloat16(float(value))
                                             : pprt::toBFloat16(float(value));
    std::memcpy(at, &bits, 2);
  }
}

/// The nearest number of 10 bits behind the leading one; the larger of two.
double toTf32(double value) {
  const auto narrow = float(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  if (std::isfinite(narrow))
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1);
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

template <typename T> class Multiplication {
public:
  Multiplication(const Task &task, Access &access)
      : task(task), p(task.problem), access(access) {}

  bool run() {
    if (task.workspaceBytes > 0 &&
        !access.spoil(task.workspace, task.workspaceBytes))
      return false;
    for (uint64_t item = 0; item < uint64_t(p.d.batch); ++item)
      if (!runItem(item))
        return false;
    return true;
  }

private:
  /// How many columns are accessed at once, beginning with this one; 0 if it
  /// was with an earlier one.
  static uint64_t columnsFrom(const Matrix &matrix, uint64_t column) {
    if (matrix.leading != matrix.rows)
      return 1;
    return column == 0 ? matrix.columns : 0;
  }

  /// Dense columns of a matrix, or of its transpose.
  bool gather(const Matrix &matrix, uint64_t address, bool transpose,
              std::vector<T> &values, bool isFactor = true) {
    const uint64_t size = matrix.elementBytes();
    values.resize(matrix.rows * matrix.columns);
    const std::byte *bytes = nullptr;
    const bool isRounded = p.isTf32 && isFactor;
    for (uint64_t column = 0; column < matrix.columns; ++column) {
      if (const uint64_t together = columnsFrom(matrix, column))
        bytes = access.read(address + column * matrix.leading * size,
                            together * matrix.rows * size);
      else
        bytes += matrix.rows * size;
      if (!bytes)
        return false;
      for (uint64_t row = 0; row < matrix.rows; ++row) {
        const double value = load(matrix.type, bytes + row * size);
        values[transpose ? row * matrix.columns + column
                         : column * matrix.rows + row] =
            T(isRounded ? toTf32(value) : value);
      }
    }
    return true;
  }

  /// Adds steps begin, begin + by, ... of a column.
  void addSteps(uint64_t column, uint64_t begin, uint64_t end, uint64_t by,
                std::vector<T> &sums) const {
    const uint64_t rows = p.d.rows;
    for (uint64_t step = begin; step < end; step += by) {
      const T factor = right[column * p.steps + step];
      const T *from = left.data() + step * rows;
      for (uint64_t row = 0; row < rows; ++row)
        sums[row] += from[row] * factor;
    }
  }

  void sumColumn(uint64_t column, std::vector<T> &sums) const {
    sums.assign(p.d.rows, T(0));
    if (task.order == Order::upwards)
      return addSteps(column, 0, p.steps, 1, sums);
    std::vector<T> part;
    const bool isEvenOdd = task.order == Order::vectors;
    const uint64_t parts = isEvenOdd ? 2 : 4;
    for (uint64_t index = 0; index < parts; ++index) {
      part.assign(p.d.rows, T(0));
      if (isEvenOdd)
        addSteps(column, index, p.steps, 2, part);
      else
        addSteps(column, p.steps * index / parts, p.steps * (index + 1) / parts,
                 1, part);
      for (uint64_t row = 0; row < p.d.rows; ++row) {
        std::byte rounded[8];
        if (task.order == Order::rounded) {
          store(p.d.type, rounded, double(part[row]));
          part[row] = T(load(p.d.type, rounded));
        }
        sums[row] += part[row];
      }
    }
  }

  bool runItem(uint64_t item) {
    // The left factor in columns of steps, the right one in columns of results.
    if (!gather(p.a, task.itemsA[item], p.transposeA, left) ||
        !gather(p.b, task.itemsB[item], p.transposeB, right) ||
        (task.beta != 0 &&
         !gather(p.c, task.itemsC[item], false, addends, false)))
      return false;
    const uint64_t size = p.d.elementBytes();
    std::vector<T> sums;
    std::byte *bytes = nullptr;
    for (uint64_t column = 0; column < p.d.columns; ++column) {
      sumColumn(column, sums);
      if (const uint64_t together = columnsFrom(p.d, column))
        bytes = access.write(task.itemsD[item] + column * p.d.leading * size,
                             together * p.d.rows * size);
      else
        bytes += p.d.rows * size;
      if (!bytes)
        return false;
      for (uint64_t row = 0; row < p.d.rows; ++row) {
        sums[row] *= T(task.alpha);
        if (task.beta != 0)
          sums[row] += T(task.beta) * addends[column * p.d.rows + row];
      }
      if (!finish(column, sums))
        return false;
      for (uint64_t row = 0; row < p.d.rows; ++row)
        store(p.d.type, bytes + row * size, double(sums[row]));
    }
    return storeVector();
  }

  /// Does to a column what the epilogue says.
  bool finish(uint64_t column, std::vector<T> &values) {
    const Epilogue &e = p.epilogue;
    const uint64_t size = p.d.elementBytes();
    const uint64_t aux = e.aux + column * e.auxLeading * size;
    if (e.addsBias()) {
      const std::byte *bias = access.read(e.vector, p.d.rows * size);
      if (!bias)
        return false;
      for (uint64_t row = 0; row < p.d.rows; ++row)
        values[row] += T(load(p.d.type, bias + row * size));
    }
    if (e.hasAux() && e.isGelu()) {
      std::byte *given = access.write(aux, p.d.rows * size);
      if (!given)
        return false;
      for (uint64_t row = 0; row < p.d.rows; ++row)
        store(p.d.type, given + row * size, double(values[row]));
    }
    if (e.isGeluGradient()) {
      const std::byte *given = access.read(aux, p.d.rows * size);
      if (!given)
        return false;
      for (uint64_t row = 0; row < p.d.rows; ++row)
        values[row] *= geluGradient(T(load(p.d.type, given + row * size)));
    }
    for (uint64_t row = 0; e.isGelu() && row < p.d.rows; ++row)
      values[row] = gelu(values[row]);
    return true;
  }

  /// Gradients of biases.
  bool storeVector() {
    const Epilogue &e = p.epilogue;
    const uint64_t size = p.d.elementBytes();
    if (!e.writesVector())
      return true;
    std::vector<T> vector(e.sumsLeft() ? p.d.rows : p.d.columns, T(0));
    for (uint64_t i = 0; i < vector.size(); ++i)
      for (uint64_t step = 0; step < p.steps; ++step)
        vector[i] += e.sumsLeft() ? left[step * p.d.rows + i]
                                  : right[i * p.steps + step];
    std::byte *bytes = access.write(e.vector, vector.size() * size);
    for (uint64_t i = 0; bytes && i < vector.size(); ++i)
      store(p.d.type, bytes + i * size, double(vector[i]));
    return bytes != nullptr;
  }

  // cublasLt's is the approximation by tanh, as its users find.
  static constexpr double kInner = 0.7978845608028654, kCubic = 0.044715;
  static T gelu(T x) {
    return T(0.5) * x *
           (1 + std::tanh(T(kInner) * (x + T(kCubic) * x * x * x)));
  }
  static T geluGradient(T x) {
    const T t = std::tanh(T(kInner) * (x + T(kCubic) * x * x * x));
    return T(0.5) * (1 + t) +
           T(0.5) * x * (1 - t * t) * T(kInner) * (1 + T(3 * kCubic) * x * x);
  }

  const Task &task;
  const Problem &p;
  Access &access;
  std::vector<T> left, right, addends;
};

/// The bytes that a matrix has, one range for each column.
std::vector<std::pair<uint64_t, uint64_t>>
rangesOf(const Matrix &matrix, const std::vector<uint64_t> &items) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  const uint64_t size = matrix.elementBytes();
  for (const uint64_t item : items)
    for (uint64_t column = 0; column < matrix.columns; ++column) {
      const uint64_t begin = item + column * matrix.leading * size;
      ranges.emplace_back(begin, begin + matrix.rows * size);
    }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

} // namespace

bool blas::multiply(const Task &task, Access &access) {
  return task.problem.isDouble ? Multiplication<double>(task, access).run()
                               : Multiplication<float>(task, access).run();
}

static std::vector<uint64_t> itemsBy(const Matrix &matrix, uint64_t address,
                                     uint64_t stride) {
  std::vector<uint64_t> items;
  for (uint64_t item = 0; item < uint64_t(matrix.batch); ++item)
    items.push_back(address + item * stride * matrix.elementBytes());
  return items;
}

bool blas::findItems(Task &task, Access *access) {
  const Problem &p = task.problem;
  for (const auto &[matrix, address, items] :
       {std::tuple(&p.a, task.a, &task.itemsA),
        {&p.b, task.b, &task.itemsB},
        {&p.c, task.c, &task.itemsC},
        {&p.d, task.d, &task.itemsD}}) {
    *items = itemsBy(*matrix, address, matrix->stride);
    if (!matrix->hasPointers)
      continue;
    const size_t bytes = items->size() * sizeof(uint64_t);
    const std::byte *array = access->read(address, bytes);
    if (!array)
      return false;
    std::memcpy(items->data(), array, bytes);
  }
  return true;
}

bool blas::isAligned(const Task &task) {
  for (size_t item = 0; item < task.itemsD.size(); ++item)
    if (!takes(task.problem, task.order,
               {task.itemsA[item], task.itemsB[item], task.itemsC[item],
                task.itemsD[item]})) {
      fault("cublasLtMatmul is given an address that is not aligned as its "
            "algorithm was chosen for");
      return false;
    }
  return true;
}

bool blas::isApart(const Task &task) {
  const Problem &p = task.problem;
  const auto written = rangesOf(p.d, task.itemsD);
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i].first < written[i - 1].second) {
      fault("cublasLtMatmul writes a byte of D for two elements");
      return false;
    }
  const auto meetsWritten = [&](const auto &range) {
    const auto next = std::partition_point(
        written.begin(), written.end(),
        [&](const auto &other) { return other.second <= range.first; });
    return next != written.end() && next->first < range.second;
  };
  const auto workspaceEnd = task.workspace + task.workspaceBytes;
  const auto check = [&](const char *name, const Matrix &matrix,
                         const std::vector<uint64_t> &items, bool mayBeD) {
    const auto ranges = rangesOf(matrix, items);
    const bool apart =
        std::none_of(ranges.begin(), ranges.end(), [&](const auto &range) {
          return (range.first < workspaceEnd &&
                  task.workspace < range.second) ||
                 (!mayBeD && meetsWritten(range));
        });
    if (!apart)
      fault(std::string("cublasLtMatmul is given ") + name +
            " in the bytes of D or of its workspace");
    return apart;
  };
  const Epilogue &e = p.epilogue;
  Matrix vector = p.d, aux = p.d;
  vector.rows = e.sumsRight() ? p.d.columns : p.d.rows;
  vector.columns = 1;
  vector.stride = 0;
  aux.leading = e.auxLeading;
  aux.stride = 0;
  return check("A", p.a, task.itemsA, false) &&
         check("B", p.b, task.itemsB, false) &&
         (task.beta == 0 ||
          check("C", p.c, task.itemsC, task.itemsC == task.itemsD)) &&
         check("D", p.d, task.itemsD, true) &&
         (!e.hasVector() ||
          check("a bias", vector, itemsBy(vector, e.vector, vector.stride),
                false)) &&
         (!e.hasAux() || check("an auxiliary matrix", aux,
                               itemsBy(aux, e.aux, aux.stride), false));
}

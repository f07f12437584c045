//===- Product.cpp - one matrix product of a step -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Product.h"
#include "backends/cpu/Contraction.h"

#include <dnnl.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

// From libgomp, whose threads the libraries use. Not <omp.h> and pragmas:
// clang's belong to another library.
extern "C" int omp_get_max_threads();
extern "C" int omp_get_thread_num();
extern "C" void omp_set_num_threads(int threads);
extern "C" void GOMP_parallel(void (*entry)(void *), void *data,
                              unsigned threads, unsigned flags);

using namespace pprt;
using dnnl::memory;

namespace {

constexpr uint64_t kPage = uint64_t(2) << 20, kLine = 64;

uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::shared_ptr<char> allocate(uint64_t bytes) {
  const uint64_t size = std::max(roundUp(bytes, kPage), kPage);
  void *memory = std::aligned_alloc(kPage, size);
  madvise(memory, size, MADV_HUGEPAGE);
  return {static_cast<char *>(memory), std::free};
}

/// Calls body(index) on every thread of an OpenMP team, in which libraries use
/// only the calling thread.
template <typename Body> void shareOut(unsigned threads, Body body) {
  GOMP_parallel(
      [](void *body) {
        omp_set_num_threads(1);
        (*static_cast<Body *>(body))(unsigned(omp_get_thread_num()));
      },
      &body, threads, 0);
}

const dnnl::engine &processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

} // namespace

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Product::Product(const ppx::ContractionT &c)
    : batch(c.batch), m(c.m), n(c.n), k(c.k), alpha(float(c.alpha)) {
  for (uint64_t extent : batch)
    items *= extent;
  lhs = place(*c.lhs, c.element, m, k);
  rhs = place(*c.rhs, c.element, k, n);
  out = place(*c.out, c.out_element, m, n);
}

Matrix Product::place(const ppx::MatrixViewT &view, ppx::ElementType element,
                      uint64_t rows, uint64_t columns) const {
  const uint64_t width = element == ppx::ElementType_bf16 ? 2 : 4;
  uint64_t last =
      (rows - 1) * view.row_stride + (columns - 1) * view.column_stride;
  for (size_t i = 0; i < batch.size(); ++i)
    last += (batch[i] - 1) * view.batch[i];
  return {view.row_stride, view.column_stride, width, (last + 1) * width,
          view.batch};
}

uint64_t Product::offset(const Matrix &matrix, uint64_t item, uint64_t row,
                         uint64_t column) const {
  uint64_t offset = row * matrix.row + column * matrix.column;
  for (size_t i = batch.size(); i-- > 0; item /= batch[i])
    offset += item % batch[i] * matrix.batch[i];
  return offset;
}

std::string Product::name() const {
  const auto matrix = [](const Matrix &factor, uint64_t rows,
                         uint64_t columns) {
    return factor.isTransposed()
               ? "(" + std::to_string(columns) + "x" + std::to_string(rows) +
                     ")^T"
               : std::to_string(rows) + "x" + std::to_string(columns);
  };
  return (items > 1 ? std::to_string(items) + " x " : "") + matrix(lhs, m, k) +
         " * " + matrix(rhs, k, n);
}

Copies::Copies(const Product &product, uint64_t bytes)
    : rhsBegin(roundUp(product.lhs.bytes, kLine)),
      outBegin(rhsBegin + roundUp(product.rhs.bytes, kLine)),
      stride(outBegin + roundUp(product.out.bytes, kLine)),
      count(std::max(bytes / stride, uint64_t(1))),
      memory(allocate(count * stride)) {
  const auto fill = [](char *data, const Matrix &matrix) {
    for (uint64_t i = 0; i < matrix.bytes / matrix.width; ++i) {
      const float value = float(i * 37 % 101) / 101 - 0.5f;
      // bf16 is the upper half of an f32.
      std::memcpy(data + i * matrix.width,
                  reinterpret_cast<const char *>(&value) + 4 - matrix.width,
                  matrix.width);
    }
  };
  const Operands first = (*this)[0];
  fill(first.lhs, product.lhs);
  fill(first.rhs, product.rhs);
  fill(first.out, product.out);
  for (size_t i = 1; i < count; ++i)
    std::memcpy(memory.get() + i * stride, memory.get(), stride);
}

Operands Copies::operator[](size_t index) const {
  char *begin = memory.get() + index * stride;
  return {begin, begin + rhsBegin, begin + outBegin};
}

Form ownForm(const ppx::ContractionT &contraction, cpu::Team &team) {
  std::shared_ptr<cpu::Contraction> ours =
      cpu::Contraction::create(contraction, team.size());
  std::shared_ptr<char> workspace =
      allocate(std::max(ours->workspaceBytes(), contraction.workspace_bytes));
  return {ppx::EnumNameMatrixLibrary(ours->library),
          [=, &team](const Operands &on) {
            void *arguments[] = {on.lhs, on.rhs, on.out, workspace.get()};
            ours->run(arguments, team);
          }};
}

//===----------------------------------------------------------------------===//
// Libraries with the interface of BLAS
//===----------------------------------------------------------------------===//

namespace {

/// On f32.
using Gemm = void (*)(const Product &product, uint64_t rows, uint64_t columns,
                      const float *lhs, const float *rhs, float *out);
float *floats(char *data) { return reinterpret_cast<float *>(data); }
using Cblas = void (*)(int order, int lhsOrder, int rhsOrder, int m, int n,
                       int k, float alpha, const float *lhs, int lhsLeading,
                       const float *rhs, int rhsLeading, float beta, float *out,
                       int outLeading);
using SetThreads = void (*)(int);

Cblas openBlas, mkl;

void dnnlGemm(const Product &p, uint64_t rows, uint64_t columns,
              const float *lhs, const float *rhs, float *out) {
  const auto order = [](const Matrix &matrix) {
    return matrix.isTransposed() ? 'T' : 'N';
  };
  dnnl_sgemm(order(p.lhs), order(p.rhs), dnnl_dim_t(rows), dnnl_dim_t(columns),
             dnnl_dim_t(p.k), p.alpha, lhs, dnnl_dim_t(p.lhs.leading()), rhs,
             dnnl_dim_t(p.rhs.leading()), 0, out, dnnl_dim_t(p.out.row));
}

template <Cblas *function>
void cblasGemm(const Product &p, uint64_t rows, uint64_t columns,
               const float *lhs, const float *rhs, float *out) {
  const auto order = [](const Matrix &matrix) {
    return matrix.isTransposed() ? 112 : 111;
  };
  (*function)(/*rows=*/101, order(p.lhs), order(p.rhs), int(rows), int(columns),
              int(p.k), p.alpha, lhs, int(p.lhs.leading()), rhs,
              int(p.rhs.leading()), 0, out, int(p.out.row));
}

/// Adds the ways to divide calls of `gemm`; and, for a single product, the
/// library's own.
void addGemm(std::vector<Form> &forms, const std::string &name,
             const Product &p, unsigned threads, Gemm gemm,
             const std::function<void(int)> &setThreads) {
  if (p.items > 1) {
    forms.push_back({name + ", batch shared out", [=, &p](const Operands &on) {
                       setThreads(1);
                       shareOut(threads, [&](unsigned index) {
                         for (uint64_t i = p.items * index / threads;
                              i < p.items * (index + 1) / threads; ++i)
                           gemm(p, p.m, p.n,
                                floats(on.lhs) + p.offset(p.lhs, i, 0, 0),
                                floats(on.rhs) + p.offset(p.rhs, i, 0, 0),
                                floats(on.out) + p.offset(p.out, i, 0, 0));
                       });
                     }});
    return;
  }
  forms.push_back({name, [=, &p](const Operands &on) {
                     setThreads(int(threads));
                     gemm(p, p.m, p.n, floats(on.lhs), floats(on.rhs),
                          floats(on.out));
                   }});
  forms.push_back({name + ", rows shared out", [=, &p](const Operands &on) {
                     setThreads(1);
                     shareOut(threads, [&](unsigned index) {
                       const uint64_t begin = p.m * index / threads,
                                      end = p.m * (index + 1) / threads;
                       gemm(p, end - begin, p.n,
                            floats(on.lhs) + p.offset(p.lhs, 0, begin, 0),
                            floats(on.rhs),
                            floats(on.out) + p.offset(p.out, 0, begin, 0));
                     });
                   }});
  forms.push_back({name + ", columns shared out", [=, &p](const Operands &on) {
                     setThreads(1);
                     shareOut(threads, [&](unsigned index) {
                       const uint64_t begin = p.n * index / threads,
                                      end = p.n * (index + 1) / threads;
                       gemm(p, p.m, end - begin, floats(on.lhs),
                            floats(on.rhs) + p.offset(p.rhs, 0, 0, begin),
                            floats(on.out) + p.offset(p.out, 0, 0, begin));
                     });
                   }});
}

/// Returns null if there is no such library.
void *load(const std::string &path, bool tells) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && tells)
    std::fprintf(stderr, "without %s: %s\n", path.c_str(), dlerror());
  return library;
}

template <typename Function> Function symbol(void *library, const char *name) {
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

//===----------------------------------------------------------------------===//
// oneDNN's matmul
//===----------------------------------------------------------------------===//

/// The part of a product that begins at row `row`, or at `first` of the
/// outermost batch dimension.
class Matmul {
public:
  Matmul(const Product &p, uint64_t first, uint64_t count, uint64_t row,
         uint64_t rows)
      : lhsBegin(begin(p, p.lhs, first, row)), rhsBegin(begin(p, p.rhs, first)),
        outBegin(begin(p, p.out, first, row)) {
    const auto describe = [&](const Matrix &matrix, uint64_t height,
                              uint64_t width) {
      memory::dims shape(p.batch.begin(), p.batch.end()),
          strides(matrix.batch.begin(), matrix.batch.end());
      if (!shape.empty())
        shape[0] = memory::dim(count);
      shape.insert(shape.end(), {memory::dim(height), memory::dim(width)});
      strides.insert(strides.end(),
                     {memory::dim(matrix.row), memory::dim(matrix.column)});
      return memory::desc(shape,
                          matrix.width == 2 ? memory::data_type::bf16
                                            : memory::data_type::f32,
                          strides);
    };
    dnnl::primitive_attr attributes;
    if (p.alpha != 1)
      attributes.set_output_scales(0, {p.alpha});
    const memory::desc lhs = describe(p.lhs, rows, p.k),
                       rhs = describe(p.rhs, p.k, p.n),
                       out = describe(p.out, rows, p.n);
    matmul = dnnl::matmul({{lhs, rhs, out}, attributes, processor()});
    const auto nowhere = [](const memory::desc &layout) {
      return memory(layout, processor(), DNNL_MEMORY_NONE);
    };
    arguments = {{DNNL_ARG_SRC, nowhere(lhs)},
                 {DNNL_ARG_WEIGHTS, nowhere(rhs)},
                 {DNNL_ARG_DST, nowhere(out)}};
  }

  void run(const Operands &on) {
    arguments.at(DNNL_ARG_SRC).set_data_handle(on.lhs + lhsBegin);
    arguments.at(DNNL_ARG_WEIGHTS).set_data_handle(on.rhs + rhsBegin);
    arguments.at(DNNL_ARG_DST).set_data_handle(on.out + outBegin);
    dnnl::stream stream(processor());
    matmul.execute(stream, arguments);
    stream.wait();
  }

private:
  static uint64_t begin(const Product &p, const Matrix &matrix, uint64_t first,
                        uint64_t row = 0) {
    return matrix.width *
           (row * matrix.row + (p.batch.empty() ? 0 : first * matrix.batch[0]));
  }

  const uint64_t lhsBegin, rhsBegin, outBegin;
  dnnl::matmul matmul;
  std::unordered_map<int, memory> arguments;
};

void addMatmul(std::vector<Form> &forms, const Product &p, unsigned threads) {
  const uint64_t outermost = p.batch.empty() ? 1 : p.batch[0];
  const auto whole = std::make_shared<Matmul>(p, 0, outermost, 0, p.m);
  forms.push_back(
      {"oneDNN matmul", [=](const Operands &on) { whole->run(on); }});
  const bool sharesBatch = p.items > 1;
  std::vector<std::shared_ptr<Matmul>> parts;
  const int before = omp_get_max_threads();
  omp_set_num_threads(1); // a primitive keeps the number it is made with
  for (unsigned i = 0; i < threads; ++i) {
    const auto share = [&](uint64_t size) {
      return std::pair(size * i / threads,
                       size * (i + 1) / threads - size * i / threads);
    };
    const auto [first, count] =
        sharesBatch ? share(outermost) : std::pair(uint64_t(0), outermost);
    const auto [row, rows] =
        sharesBatch ? std::pair(uint64_t(0), p.m) : share(p.m);
    if (count > 0 && rows > 0)
      parts.push_back(std::make_shared<Matmul>(p, first, count, row, rows));
  }
  omp_set_num_threads(before);
  forms.push_back({std::string("oneDNN matmul, ") +
                       (sharesBatch ? "batch" : "rows") + " shared out",
                   [=](const Operands &on) {
                     shareOut(unsigned(parts.size()),
                              [&](unsigned index) { parts[index]->run(on); });
                   }});
}

} // namespace

std::vector<Form> libraryForms(const Product &product, unsigned threads,
                               const std::string &mklPath, bool tells) {
  static void *const openBlasLibrary = load("libopenblas.so.0", tells);
  static void *const mklLibrary =
      mklPath.empty() ? nullptr : load(mklPath, tells);
  openBlas = symbol<Cblas>(openBlasLibrary, "cblas_sgemm");
  mkl = symbol<Cblas>(mklLibrary, "cblas_sgemm");
  std::vector<Form> forms;
  addMatmul(forms, product, threads);
  if (product.isLow())
    return forms;
  addGemm(forms, "oneDNN sgemm", product, threads, dnnlGemm, [](int) {});
  if (openBlas)
    addGemm(forms, "OpenBLAS", product, threads, cblasGemm<&openBlas>,
            symbol<SetThreads>(openBlasLibrary, "openblas_set_num_threads"));
  if (mkl)
    addGemm(forms, "MKL", product, threads, cblasGemm<&mkl>,
            symbol<SetThreads>(mklLibrary, "MKL_Set_Num_Threads"));
  return forms;
}

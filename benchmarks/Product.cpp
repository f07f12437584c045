//===- Product.cpp - one matrix product of a step -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Product.h"
#include "backends/cpu/Contraction.h"
#include "backends/cpu/OneThread.h"

#include <dnnl.hpp>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace pprt;
using cpu::OneThread;
using cpu::Team;
using dnnl::memory;

namespace {

constexpr size_t kPage = size_t(2) << 20;

std::shared_ptr<void> allocate(uint64_t bytes) {
  return {std::aligned_alloc(kPage, (bytes + kPage) / kPage * kPage),
          std::free};
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
  lhs = place(*c.lhs, m, k);
  rhs = place(*c.rhs, k, n);
  out = place(*c.out, m, n);
}

Matrix Product::place(const ppx::MatrixViewT &view, uint64_t rows,
                      uint64_t columns) {
  uint64_t last =
      (rows - 1) * view.row_stride + (columns - 1) * view.column_stride;
  for (size_t i = 0; i < batch.size(); ++i)
    last += (batch[i] - 1) * view.batch[i];
  const uint64_t bytes = (view.offset + last + 1) * sizeof(float);
  memory.emplace_back(static_cast<float *>(std::aligned_alloc(
                          kPage, (bytes + kPage) / kPage * kPage)),
                      std::free);
  float *data = memory.back().get();
  for (uint64_t i = 0; i <= view.offset + last; ++i)
    data[i] = float(i * 37 % 101) / 101 - 0.5f;
  return {data + view.offset, view.row_stride, view.column_stride, view.batch};
}

float *Product::at(const Matrix &matrix, uint64_t item, uint64_t row,
                   uint64_t column) const {
  uint64_t offset = row * matrix.row + column * matrix.column;
  for (size_t i = batch.size(); i-- > 0; item /= batch[i])
    offset += item % batch[i] * matrix.batch[i];
  return matrix.data + offset;
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

Form ownForm(const Product &product, const ppx::ContractionT &contraction,
             Team &team) {
  std::shared_ptr<cpu::Contraction> ours =
      cpu::Contraction::create(contraction, team.size());
  std::shared_ptr<void> workspace = allocate(ours->workspaceBytes());
  return {ppx::EnumNameMatrixLibrary(ours->library), [=, &product, &team] {
            void *arguments[] = {product.lhs.data, product.rhs.data,
                                 product.out.data, workspace.get()};
            ours->run(arguments, team);
          }};
}

//===----------------------------------------------------------------------===//
// Libraries with the interface of BLAS
//===----------------------------------------------------------------------===//

namespace {

using Gemm = void (*)(const Product &product, uint64_t rows, uint64_t columns,
                      const float *lhs, const float *rhs, float *out);
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

/// The ways to share out calls of `gemm` over the team; and, for a single
/// product, the library's own, between `before` and `after`.
void addGemm(std::vector<Form> &forms, const std::string &name,
             const Product &p, Team &team, Gemm gemm,
             const std::function<void(int)> &setThreads) {
  const int threads = int(team.size());
  if (p.items > 1) {
    forms.push_back({name + ", batch shared out", [=, &p, &team] {
                       setThreads(1);
                       team.run([&](unsigned index) {
                         const OneThread one;
                         for (uint64_t i = p.items * index / team.size();
                              i < p.items * (index + 1) / team.size(); ++i)
                           gemm(p, p.m, p.n, p.at(p.lhs, i, 0, 0),
                                p.at(p.rhs, i, 0, 0), p.at(p.out, i, 0, 0));
                       });
                     }});
    return;
  }
  forms.push_back({name, [=, &p] {
                     setThreads(threads);
                     gemm(p, p.m, p.n, p.lhs.data, p.rhs.data, p.out.data);
                   }});
  forms.push_back({name + ", rows shared out", [=, &p, &team] {
                     setThreads(1);
                     team.run([&](unsigned index) {
                       const OneThread one;
                       const uint64_t begin = p.m * index / team.size(),
                                      end = p.m * (index + 1) / team.size();
                       gemm(p, end - begin, p.n, p.at(p.lhs, 0, begin, 0),
                            p.rhs.data, p.at(p.out, 0, begin, 0));
                     });
                   }});
  forms.push_back({name + ", columns shared out", [=, &p, &team] {
                     setThreads(1);
                     team.run([&](unsigned index) {
                       const OneThread one;
                       const uint64_t begin = p.n * index / team.size(),
                                      end = p.n * (index + 1) / team.size();
                       gemm(p, p.m, end - begin, p.lhs.data,
                            p.at(p.rhs, 0, 0, begin), p.at(p.out, 0, 0, begin));
                     });
                   }});
}

/// Null, and a line, if there is none.
void *load(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    std::fprintf(stderr, "without %s: %s\n", path.c_str(), dlerror());
  return library;
}

template <typename Function> Function symbol(void *library, const char *name) {
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

//===----------------------------------------------------------------------===//
// oneDNN's matmul
//===----------------------------------------------------------------------===//

struct Primitive {
  dnnl::matmul matmul;
  std::unordered_map<int, memory> arguments;

  void run() const {
    dnnl::stream stream(processor());
    matmul.execute(stream, arguments);
    stream.wait();
  }
};

/// Of the part of a product that begins at row `row`, or at `first` of the
/// outermost batch dimension.
std::shared_ptr<Primitive> createMatmul(const Product &p, uint64_t first,
                                        uint64_t count, uint64_t row,
                                        uint64_t rows) {
  const auto describe = [&](const Matrix &matrix, uint64_t height,
                            uint64_t width) {
    memory::dims shape(p.batch.begin(), p.batch.end()),
        strides(matrix.batch.begin(), matrix.batch.end());
    if (!shape.empty())
      shape[0] = memory::dim(count);
    shape.insert(shape.end(), {memory::dim(height), memory::dim(width)});
    strides.insert(strides.end(),
                   {memory::dim(matrix.row), memory::dim(matrix.column)});
    return memory::desc(shape, memory::data_type::f32, strides);
  };
  const auto from = [&](const Matrix &matrix, uint64_t begin) {
    return matrix.data + begin * matrix.row +
           (p.batch.empty() ? 0 : first * matrix.batch[0]);
  };
  dnnl::primitive_attr attributes;
  if (p.alpha != 1)
    attributes.set_output_scales(0, {p.alpha});
  const memory::desc lhs = describe(p.lhs, rows, p.k),
                     rhs = describe(p.rhs, p.k, p.n),
                     out = describe(p.out, rows, p.n);
  const dnnl::matmul::primitive_desc description({lhs, rhs, out}, attributes,
                                                 processor());
  return std::make_shared<Primitive>(
      Primitive{dnnl::matmul(description),
                {{DNNL_ARG_SRC, {lhs, processor(), from(p.lhs, row)}},
                 {DNNL_ARG_WEIGHTS, {rhs, processor(), from(p.rhs, 0)}},
                 {DNNL_ARG_DST, {out, processor(), from(p.out, row)}}}});
}

void addMatmul(std::vector<Form> &forms, const Product &p, Team &team) {
  const uint64_t outermost = p.batch.empty() ? 1 : p.batch[0];
  const auto whole = createMatmul(p, 0, outermost, 0, p.m);
  forms.push_back({"oneDNN matmul", [=] { whole->run(); }});
  const bool sharesBatch = p.items > 1;
  std::vector<std::shared_ptr<Primitive>> parts;
  const OneThread one;
  for (unsigned i = 0; i < team.size(); ++i) {
    const auto share = [&](uint64_t size) {
      return std::pair(size * i / team.size(),
                       size * (i + 1) / team.size() - size * i / team.size());
    };
    const auto [first, count] =
        sharesBatch ? share(outermost) : std::pair(uint64_t(0), outermost);
    const auto [row, rows] =
        sharesBatch ? std::pair(uint64_t(0), p.m) : share(p.m);
    if (count == 0 || rows == 0)
      return;
    parts.push_back(createMatmul(p, first, count, row, rows));
  }
  forms.push_back({std::string("oneDNN matmul, ") +
                       (sharesBatch ? "batch" : "rows") + " shared out",
                   [=, &team] {
                     team.run([&](unsigned index) {
                       const OneThread one;
                       parts[index]->run();
                     });
                   }});
}

} // namespace

std::vector<Form> libraryForms(const Product &product, Team &team,
                               const std::string &mklPath) {
  static void *const openBlasLibrary = load("libopenblas.so.0");
  static void *const mklLibrary = mklPath.empty() ? nullptr : load(mklPath);
  openBlas = symbol<Cblas>(openBlasLibrary, "cblas_sgemm");
  mkl = symbol<Cblas>(mklLibrary, "cblas_sgemm");
  std::vector<Form> forms;
  addMatmul(forms, product, team);
  addGemm(forms, "oneDNN sgemm", product, team, dnnlGemm, [](int) {});
  if (openBlas)
    addGemm(forms, "OpenBLAS", product, team, cblasGemm<&openBlas>,
            symbol<SetThreads>(openBlasLibrary, "openblas_set_num_threads"));
  if (mkl)
    addGemm(forms, "MKL", product, team, cblasGemm<&mkl>,
            symbol<SetThreads>(mklLibrary, "MKL_Set_Num_Threads"));
  return forms;
}

//===- Products.h - contractions by cublasLt --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction. Out: an object that enqueues its cublasLt calls on a
// stream. Descriptors are made and the algorithm is chosen once, so every
// launch adds in the same order. f32 is multiplied as f32, or as TF32 if the
// artifact allows that; floats of 16 bits are added up in f32, in the
// workspace, too.
//
// If the library has no algorithm for a product with its epilogues, the product
// is computed without them, provided that the artifact has them as a kernel.
//
// Remainders of extents that are not multiples of 16 bytes are products of
// their own (Remainders.h).
//
// A batch without one stride is one call on arrays of pointers if the library
// has an algorithm for that, else a call for each part that has a stride.
//
// cublasLt is opened with the first contraction: other programs do not need it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_PRODUCTS_H
#define PPRT_BACKENDS_CUDA_PRODUCTS_H

#include "../../targets/cuda/Matrices.h"
#include "Gpu.h"

#include <functional>
#include <mutex>

namespace pprt::cuda {

/// cublasLt on one GPU.
class BlasHandle {
public:
  static Expected<std::shared_ptr<const BlasHandle>>
  open(std::shared_ptr<const Gpu> gpu);
  ~BlasHandle();

  /// Returns success or the error of `call`: exit code 4 for memory, else 15.
  Status check(cublasStatus_t result, const char *call) const;

  Blas blas;
  cublasLtHandle_t handle = nullptr;

private:
  std::shared_ptr<const Gpu> gpu;
};

/// A descriptor, and the call that destroys it.
template <typename Opaque>
using Descriptor = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque *)>;

/// One part of a product: a call of cublasLt for each of its items.
class ProductPart {
public:
  ProductPart(std::shared_ptr<const BlasHandle> library,
              const ppx::ContractionT &contraction, MatrixProducts products);
  /// Chooses the algorithm. Fails (device) without one; `isRefused` says
  /// whether the library has none.
  Status prepare();
  bool isRefused = false;

  uint64_t tableBytes() const { return products.tableBytes(); }
  std::vector<CUdeviceptr>
  makeTable(const std::vector<CUdeviceptr> &arguments) const;
  Status run(CUstream stream, const std::vector<CUdeviceptr> &arguments,
             CUdeviceptr table, bool *isRefused) const;

private:
  using Layout = Descriptor<cublasLtMatrixLayoutOpaque_t>;

  Status describe();
  Status describeMatrices();
  Status describeEpilogue() const;
  /// Sets the addresses of the vector and the matrix beside the product.
  Status pointEpilogue(
      const std::function<const void *(const MatrixProducts::Place &)> &address)
      const;
  template <typename T>
  Status set(cublasLtMatmulDescAttributes_t attribute, T value) const;
  Status describe(Layout &layout, ppx::ElementType element,
                  const Matrix &matrix) const;
  /// Chooses pointers if the product allows and the library supports them.
  Status choose();
  Status chooseAlgorithm();
  std::string spell() const;
  uint32_t alignment(uint64_t MatrixProducts::Call::*place,
                     ppx::ElementType element) const;

  std::shared_ptr<const BlasHandle> library;
  MatrixProducts products;
  ppx::ElementType element, outElement;
  bool isTf32;
  uint32_t outParameter, workspace;
  uint64_t workspaceBytes;
  bool usesPointers; ///< instead of strides
  /// Factors in the type of the sums; the others are not used.
  float alpha32, beta32;
  double alpha64, beta64;

  Descriptor<cublasLtMatmulDescOpaque_t> operation;
  Layout left, right, addend, out; ///< out is the addend if there is none
  mutable std::mutex pointers;     ///< the operation's, set by each launch
  cublasLtMatmulAlgo_t algorithm = {};
};

class Product {
public:
  /// Fails (badArtifact) if Target::verify does, or (device) without an
  /// algorithm. `mayFuse`: with the epilogues, if the library takes them.
  static Expected<std::unique_ptr<const Product>>
  create(const std::shared_ptr<const BlasHandle> &library,
         const ppx::ContractionT &contraction, bool mayFuse = true);

  /// Whether the contraction's epilogues remain to be computed, and the
  /// library's error for them.
  bool isUnfused() const { return hasNoEpilogues; }
  const std::string &refusal() const { return whyUnfused; }

  /// Size of its table, 0 if it needs none, and the table's content for
  /// launches with these arguments.
  uint64_t tableBytes() const;
  std::vector<CUdeviceptr>
  makeTable(const std::vector<CUdeviceptr> &arguments) const;
  /// `arguments` are the kernel's parameters in order; `table` is the table's
  /// address in the device's memory. Sets `isRefused` if the library refuses a
  /// product that it has named an algorithm for.
  Status run(CUstream stream, const std::vector<CUdeviceptr> &arguments,
             CUdeviceptr table, bool *isRefused = nullptr) const;

private:
  Status prepare(const std::shared_ptr<const BlasHandle> &library,
                 const ppx::ContractionT &contraction,
                 const MatrixProducts &products, bool &isRefused);

  std::vector<std::unique_ptr<ProductPart>> parts;
  bool hasNoEpilogues = false;
  std::string whyUnfused;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_PRODUCTS_H

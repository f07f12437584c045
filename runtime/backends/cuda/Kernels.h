//===- Kernels.h - what a GPU launches --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel's entry takes the address of each parameter, that of the launch's
// scalars, and that of its gate, or null. All are in the device's memory.
// cublasLt computes contractions, and has no gates: the host reads them. A
// function behind the product computes epilogues that cublasLt has refused.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_KERNELS_H
#define PPRT_BACKENDS_CUDA_KERNELS_H

#include "Products.h"

namespace pprt::cuda {

struct GpuKernel final : Kernel {
  CUfunction function = nullptr;
  unsigned blocks = 0, threads = 0;
  /// Instead of a function, for a contraction; or in front of one, which takes
  /// these parameters.
  std::unique_ptr<const Product> product;
  std::vector<uint32_t> unfused;
};

/// Memory of the device, freed with this object.
class Scratch {
public:
  explicit Scratch(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  Status allocate(uint64_t bytes);
  /// Allocates and writes the table of a product, if it needs one.
  Status fill(const Product &product,
              const std::vector<CUdeviceptr> &arguments);
  CUdeviceptr place = 0;

private:
  const std::shared_ptr<const Gpu> gpu;
};

class GpuLaunch : public Launch {
public:
  virtual Status start(const Gpu &gpu, CUstream stream) const = 0;
};

class KernelLaunch final : public GpuLaunch {
public:
  KernelLaunch(std::shared_ptr<const Gpu> gpu, const Binding &binding);

  Status start(const Gpu &gpu, CUstream stream) const override;

private:
  const GpuKernel &kernel;
  const std::byte *const gate;
  Scratch table;   ///< of a product, if it needs one
  Status prepared; ///< failure to make it
  std::vector<CUdeviceptr> values;
  std::vector<void *> parameters; ///< as the driver takes them
};

/// The kernels of an artifact.
class Code {
public:
  explicit Code(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}
  ~Code();

  Status load(const ppx::ArtifactT &artifact);
  Expected<std::unique_ptr<const Kernel>> prepare(const ppx::KernelT &kernel);
  const std::vector<UnfusedProduct> &unfusedProducts() const { return unfused; }

private:
  using Made = Expected<std::unique_ptr<GpuKernel>>;
  Made prepare(const ppx::KernelT &kernel,
               const ppx::ContractionT &contraction);
  Made prepare(const ppx::ContractionT &contraction, bool mayFuse);
  Made prepare(const ppx::CompiledKernelT &body);
  /// Runs a product once, in memory of its own. What a library loads and sets
  /// up when it first runs something must not happen while a step is recorded
  /// or another device waits for this one. Sets `isRefused` as Product::run()
  /// does.
  Status warmUp(const Product &product, const ppx::KernelT &kernel,
                bool &isRefused) const;

  const std::shared_ptr<const Gpu> gpu;
  CUmodule code = nullptr;
  std::shared_ptr<const BlasHandle> blas; ///< from the first contraction on
  std::vector<UnfusedProduct> unfused;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_KERNELS_H

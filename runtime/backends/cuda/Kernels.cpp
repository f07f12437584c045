//===- Kernels.cpp - what a GPU launches ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "pprt/Processor.h"
#include "pprt/Program.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

using namespace pprt;
using namespace pprt::cuda;

Scratch::~Scratch() {
  if (place && gpu->makeCurrent().ok())
    gpu->driver.cuMemFree(place);
}

Status Scratch::allocate(uint64_t bytes) {
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  const Expected<CUdeviceptr> given = gpu->allocate(bytes);
  if (given)
    place = *given;
  return given.status();
}

Status Scratch::fill(const Product &product,
                     const std::vector<CUdeviceptr> &arguments) {
  if (product.tableBytes() == 0)
    return {};
  Status status = allocate(product.tableBytes());
  const std::vector<CUdeviceptr> table = product.makeTable(arguments);
  return status.ok()
             ? gpu->write(reinterpret_cast<std::byte *>(uintptr_t(place)),
                          table.data(), product.tableBytes())
             : status;
}

KernelLaunch::KernelLaunch(std::shared_ptr<const Gpu> gpu,
                           const Binding &binding)
    : kernel(static_cast<const GpuKernel &>(*binding.kernel)),
      gate(binding.gate), table(std::move(gpu)) {
  for (const std::byte *argument : binding.arguments)
    values.push_back(pointer(argument));
  if (kernel.product)
    prepared = table.fill(*kernel.product, values);
  std::vector<uint32_t> given = kernel.unfused;
  if (!kernel.product) {
    given.resize(values.size());
    std::iota(given.begin(), given.end(), 0);
  }
  for (const std::byte *last : {binding.scalars, binding.gate}) {
    given.push_back(uint32_t(values.size()));
    values.push_back(pointer(last));
  }
  for (const uint32_t value : given)
    parameters.push_back(&values[value]);
}

Status KernelLaunch::start(const Gpu &gpu, CUstream stream) const {
  if (!prepared.ok())
    return prepared;
  if (kernel.product && gate) {
    int32_t isSkipped = 0;
    PP_TRY(gpu, cuStreamSynchronize, stream);
    if (Status status = gpu.read(&isSkipped, gate, sizeof(isSkipped));
        !status.ok() || isSkipped != 0)
      return status;
  }
  if (kernel.product)
    if (Status status = kernel.product->run(stream, values, table.place);
        !status.ok())
      return status;
  if (kernel.function)
    PP_TRY(gpu, cuLaunchKernel, kernel.function, kernel.blocks, 1, 1,
           kernel.threads, 1, 1, 0, stream,
           const_cast<void **>(parameters.data()), nullptr);
  return {};
}

Status Code::load(const ppx::ArtifactT &artifact) {
  if (artifact.processor.empty() ||
      !runsOn(artifact.processor, gpu->seen.processor()))
    return Status(ExitCode::device,
                  "expects kernels for " + gpu->seen.processor() + " of '" +
                      gpu->seen.name + "' or an older GPU, got those for '" +
                      artifact.processor + "'; compile for sm_80");
  if (artifact.object.empty())
    return {};
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  // The driver reads up to a zero byte.
  const std::string text(artifact.object.begin(), artifact.object.end());
  if (Status status = gpu->driver.checkPtx(text); !status.ok())
    return status;
  // The message of the driver's compiler says more than the error's name.
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  const CUresult result = gpu->driver.cuModuleLoadDataEx(
      &code, text.c_str(), std::size(options), options, values);
  Status status = gpu->check(result, "cuModuleLoadDataEx");
  log[sizeof(log) - 1] = 0;
  std::replace(std::begin(log), std::end(log), '\n', ' ');
  if (*log && !status.ok())
    return Status(status.code(), status.message() + ": " + log);
  return status;
}

Code::~Code() {
  if (code && gpu->makeCurrent().ok())
    gpu->driver.cuModuleUnload(code);
}

Code::Made Code::prepare(const ppx::ContractionT &contraction, bool mayFuse) {
  if (!blas) {
    auto opened = BlasHandle::open(gpu);
    if (!opened)
      return opened.status();
    blas = std::move(*opened);
  }
  Expected<std::unique_ptr<const Product>> product =
      Product::create(blas, contraction, mayFuse);
  if (!product)
    return product.status();
  Made made = (*product)->isUnfused() ? prepare(*contraction.unfused)
                                      : Made(std::make_unique<GpuKernel>());
  if (!made)
    return made;
  if ((*product)->isUnfused())
    (*made)->unfused = unfusedParameters(contraction).of;
  (*made)->product = std::move(*product);
  return made;
}

/// Computes epilogues separately if the library refuses them when it is asked,
/// or at the trial run.
Code::Made Code::prepare(const ppx::KernelT &kernel,
                         const ppx::ContractionT &contraction) {
  Made made = prepare(contraction, /*mayFuse=*/true);
  if (!made)
    return made;
  bool isRefused = false;
  Status status = warmUp(*(*made)->product, kernel, isRefused);
  std::string refusal = (*made)->product->refusal();
  if (isRefused && contraction.unfused && !(*made)->product->isUnfused()) {
    refusal = status.message();
    made = prepare(contraction, /*mayFuse=*/false);
    if (!made)
      return made;
    status = warmUp(*(*made)->product, kernel, isRefused);
  }
  if (!status.ok())
    return status;
  if ((*made)->product->isUnfused())
    unfused.push_back({kernel.name, std::move(refusal)});
  return made;
}

Code::Made Code::prepare(const ppx::CompiledKernelT &body) {
  constexpr uint64_t kBlocks = std::numeric_limits<int32_t>::max();
  if (body.grid == 0 || body.grid > kBlocks || body.block == 0 ||
      body.block > 1024)
    return Status(ExitCode::badArtifact,
                  "expects 1 to 2147483647 blocks of 1 to 1024 threads, got " +
                      std::to_string(body.grid) + " of " +
                      std::to_string(body.block));
  auto result = std::make_unique<GpuKernel>();
  result->blocks = unsigned(body.grid);
  result->threads = body.block;
  const CUresult found =
      code ? gpu->driver.cuModuleGetFunction(&result->function, code,
                                             body.symbol.c_str())
           : CUDA_ERROR_NOT_FOUND;
  if (found == CUDA_ERROR_NOT_FOUND)
    return Status(ExitCode::badArtifact,
                  "no symbol '" + body.symbol + "' in the module");
  if (Status status = gpu->check(found, "cuModuleGetFunction"); !status.ok())
    return status;
  return result;
}

Status Code::warmUp(const Product &product, const ppx::KernelT &kernel,
                    bool &isRefused) const {
  constexpr uint64_t kAlignment = 256; // of a workspace, the largest
  uint64_t bytes = 0;
  std::vector<CUdeviceptr> places;
  for (const auto &parameter : kernel.parameters) {
    constexpr uint64_t kMost = uint64_t(1) << 56; // so that sums do not wrap
    if (parameter->bytes > kMost - bytes)
      return Status(ExitCode::badArtifact,
                    "expects parameters of at most " + std::to_string(kMost) +
                        " bytes in all, got one of " +
                        std::to_string(parameter->bytes));
    places.push_back(bytes);
    bytes += (parameter->bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (bytes == 0)
    return {};
  Scratch scratch(gpu), table(gpu);
  const Status given = scratch.allocate(bytes);
  if (given.code() == ExitCode::outOfMemory)
    return Status(ExitCode::outOfMemory,
                  "trial run needs " + std::to_string(bytes) +
                      " bytes of memory: " + given.message() +
                      "; end other processes that use the GPU, or use a "
                      "smaller model or batch");
  if (!given.ok())
    return given;
  for (CUdeviceptr &place : places)
    place += scratch.place;
  if (Status status = table.fill(product, places); !status.ok())
    return status;
  // All but the workspace, which is the last one and needs no values.
  const bool hasWorkspace = kernel.body.AsContraction()->workspace_bytes > 0;
  const uint64_t valueBytes =
      hasWorkspace ? places.back() - scratch.place : bytes;
  PP_TRY(*gpu, cuMemsetD32Async, scratch.place, 0, valueBytes / 4,
         gpu->ownStream());
  const Status run =
      product.run(gpu->ownStream(), places, table.place, &isRefused);
  const Status ended = gpu->finish();
  return run.ok() ? ended : run;
}

Expected<std::unique_ptr<const Kernel>>
Code::prepare(const ppx::KernelT &kernel) {
  Status status = gpu->makeCurrent();
  if (status.ok()) {
    Made made =
        kernel.body.AsContraction()
            ? prepare(kernel, *kernel.body.AsContraction())
        : kernel.body.AsCompiledKernel()
            ? prepare(*kernel.body.AsCompiledKernel())
            : Made(Status(ExitCode::badArtifact,
                          "expects a compiled kernel or a contraction, got " +
                              std::to_string(kernel.body.type)));
    status = made.status();
    if (made)
      return std::unique_ptr<const Kernel>(std::move(*made));
  }
  return Status(status.code(),
                "kernel '" + kernel.name + "': " + status.message());
}

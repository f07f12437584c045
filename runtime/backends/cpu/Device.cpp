//===- Device.cpp - processors as a device --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "../../targets/Targets.h"
#include "../Backends.h"
#include "Arena.h"
#include "Contraction.h"
#include "KernelObject.h"
#include "MatrixProduct.h"
#include "OpenBlas.h"
#include "pprt/ControlGroup.h"
#include "pprt/Lack.h"
#include "pprt/Processor.h"
#include "pprt/World.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unistd.h>

using namespace pprt;
using namespace pprt::cpu;

/// Bytes from which a kernel's rows are divided among the team.
static constexpr double kParallelBytes = 1 << 16;

namespace {

/// A kernel of the artifact, ready to call: exactly one of the two is set.
struct CpuKernel final : Kernel {
  CompiledFunction function = nullptr;
  int64_t rows = 0;
  /// Threads of the team that share the rows: all, if one alone would take
  /// longer than a fork and the workspace has scratch for each.
  unsigned threads = 1;
  /// Each thread's bytes of the last parameter, and that parameter's index.
  uint64_t scratchBytes = 0;
  size_t workspace = 0;
  std::unique_ptr<Contraction> contraction;
};

struct CpuLaunch final : Launch {
  explicit CpuLaunch(const Binding &binding);

  const CpuKernel &kernel;
  const int64_t *const scalars;
  const int32_t *const gate;
  std::vector<void *> arguments;
  /// The same for each thread but the first, if each has its own scratch.
  std::vector<std::vector<void *>> otherArguments;
};

class CpuStream final : public Stream {
public:
  CpuStream(const DeviceOptions &options, AllocationCounter &heap)
      : team(options.threadsPerRank,
             options.spin ? inprocess::Event::kSpins : 0, &heap) {}

  Status launch(const Launch &launch) override;
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status flag(const std::vector<Values> &values, std::byte *flag) override;
  Status write(std::byte *to, const void *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Team team;
};

class CpuDevice final : public PolledDevice {
public:
  explicit CpuDevice(const DeviceOptions &options) : options(options) {}

  std::string name() const override { return "cpu"; }
  Expected<MemoryPool> pool() const override;
  Status load(const ppx::ArtifactT &artifact) override;
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) override;
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override;
  Expected<std::unique_ptr<Memory>> allocateArena(uint64_t bytes) override;
  Expected<std::unique_ptr<Stream>> stream(Memory &arena,
                                           AllocationCounter &heap) override;
  std::unique_ptr<const Launch> bind(Binding binding) override {
    return std::make_unique<CpuLaunch>(binding);
  }
  Expected<std::unique_ptr<PolledTransport>>
  transport(World &world, uint32_t ranks) override {
    return world.transport(ranks);
  }

private:
  Status prepare(const ppx::ContractionT &body, CpuKernel &kernel) const;
  Status prepare(const ppx::CompiledKernelT &body, const ppx::KernelT &its,
                 CpuKernel &kernel) const;

  DeviceOptions options;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status CpuDevice::load(const ppx::ArtifactT &artifact) {
  if (options.resolver || artifact.object.empty())
    return {};
  if (!hasProcessorLevel(artifact.processor))
    return Status(ExitCode::device,
                  "kernels expect a processor of level " + artifact.processor +
                      ", got " +
                      (processorLevel().empty() ? "another architecture"
                                                : processorLevel()) +
                      "; compile the module again on this machine");
  Expected<KernelResolver> object = loadKernelObject(artifact.object);
  if (object)
    options.resolver = std::move(*object);
  return object.status();
}

Status CpuDevice::prepare(const ppx::ContractionT &body,
                          CpuKernel &kernel) const {
  if (Status status = verifyContraction(body); !status.ok())
    return status;
  if (body.element != ppx::ElementType_f64)
    if (Status status = generateGemm(); !status.ok())
      return status;
  kernel.contraction =
      Contraction::create(body, options.threadsPerRank, body.workspace_bytes);
  if (kernel.contraction)
    return {};
  if (const Expected<OpenBlas> &library = openBlas(); !library)
    return library.status();
  const std::unique_ptr<Contraction> wanted = Contraction::create(body, 1);
  if (!wanted)
    return findLack("a product", 64 << 20,
                    Status(ExitCode::device, "no library here computes it"));
  return Status(ExitCode::badArtifact,
                "expects a workspace of " +
                    std::to_string(wanted->workspaceBytes()) + " bytes, got " +
                    std::to_string(body.workspace_bytes));
}

Status CpuDevice::prepare(const ppx::CompiledKernelT &body,
                          const ppx::KernelT &its, CpuKernel &kernel) const {
  void *symbol = options.resolver ? options.resolver(body.symbol) : nullptr;
  if (!symbol)
    return Status(ExitCode::badArtifact,
                  "no symbol '" + body.symbol + "' in the kernel object");
  kernel.function = reinterpret_cast<CompiledFunction>(symbol);
  kernel.rows = int64_t(body.rows);
  if (its.bytes >= kParallelBytes)
    kernel.threads = options.threadsPerRank;
  if (body.scratch_bytes == 0)
    return {};
  kernel.scratchBytes = body.scratch_bytes;
  kernel.workspace = its.parameters.size() - 1;
  kernel.threads = unsigned(std::min<uint64_t>(
      kernel.threads, its.parameters.back()->bytes / body.scratch_bytes));
  return {};
}

Expected<std::unique_ptr<const Kernel>>
CpuDevice::prepare(const ppx::KernelT &kernel) {
  auto result = std::make_unique<CpuKernel>();
  const ppx::ContractionT *contraction = kernel.body.AsContraction();
  if (Status status = contraction ? prepare(*contraction, *result)
                                  : prepare(*kernel.body.AsCompiledKernel(),
                                            kernel, *result);
      !status.ok())
    return Status(status.code(),
                  "kernel '" + kernel.name + "': " + status.message());
  return std::unique_ptr<const Kernel>(std::move(result));
}

CpuLaunch::CpuLaunch(const Binding &binding)
    : kernel(static_cast<const CpuKernel &>(*binding.kernel)),
      scalars(reinterpret_cast<const int64_t *>(binding.scalars)),
      gate(reinterpret_cast<const int32_t *>(binding.gate)),
      arguments(binding.arguments.begin(), binding.arguments.end()) {
  // The threads that run rows at the same time share the workspace.
  for (unsigned thread = 1; kernel.scratchBytes > 0 && thread < kernel.threads;
       ++thread) {
    otherArguments.push_back(arguments);
    void *&own = otherArguments.back()[kernel.workspace];
    own = static_cast<std::byte *>(own) + thread * kernel.scratchBytes;
  }
}

//===----------------------------------------------------------------------===//
// Stream commands
//===----------------------------------------------------------------------===//

Status CpuStream::launch(const Launch &launch) {
  const auto &task = static_cast<const CpuLaunch &>(launch);
  if (task.gate && *task.gate != 0)
    return {};
  const CpuKernel &kernel = task.kernel;
  void *const *arguments = task.arguments.data();
  const unsigned threads = std::min(kernel.threads, team.size());
  if (kernel.contraction)
    kernel.contraction->run(arguments, team);
  else if (threads == 1)
    kernel.function(arguments, task.scalars, 0, kernel.rows);
  else
    team.run([&](unsigned thread) {
      const int64_t begin = kernel.rows * thread / threads;
      const int64_t end = kernel.rows * (thread + 1) / threads;
      if (thread >= threads || begin == end)
        return;
      const bool hasOwn = thread > 0 && kernel.scratchBytes > 0;
      kernel.function(hasOwn ? task.otherArguments[thread - 1].data()
                             : arguments,
                      task.scalars, begin, end);
    });
  return {};
}

template <typename T> static bool finite(const void *data, uint64_t bytes) {
  const T *values = static_cast<const T *>(data);
  // A sum of x - x: zero for finite elements, NaN for the others.
  T sum = 0;
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    sum += values[i] - values[i];
  return sum == 0;
}

/// The same for words whose exponent is not all ones in finite elements.
static bool finite(const Values &values, uint16_t exponent) {
  const auto *words = reinterpret_cast<const uint16_t *>(values.address);
  bool finite = true;
  for (uint64_t i = 0; i < values.bytes / sizeof(uint16_t); ++i)
    finite &= (words[i] & exponent) != exponent;
  return finite;
}

static bool allFinite(const Values &values) {
  switch (values.element) {
  case ppx::ElementType_f32:
    return finite<float>(values.address, values.bytes);
  case ppx::ElementType_f64:
    return finite<double>(values.address, values.bytes);
  case ppx::ElementType_bf16:
    return finite(values, 0x7f80);
  case ppx::ElementType_f16:
    return finite(values, 0x7c00);
  default:
    return true;
  }
}

Status CpuStream::flag(const std::vector<Values> &values, std::byte *flag) {
  bool finite = true;
  for (const Values &its : values)
    finite &= allFinite(its);
  *reinterpret_cast<int32_t *>(flag) = finite ? 0 : 1;
  return {};
}

Expected<std::unique_ptr<Stream>> CpuDevice::stream(Memory &arena,
                                                    AllocationCounter &heap) {
  auto stream = std::make_unique<CpuStream>(options, heap);
  if (stream->team.size() < options.threadsPerRank)
    return refusedThread();
  static_cast<Arena &>(arena).poison(stream->team);
  return std::unique_ptr<Stream>(std::move(stream));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Pools of the machine and of each group around the process, as others may be
/// in only some of them. The system grants arenas that together exceed the
/// machine's memory, and kills the process when they are filled.
Expected<MemoryPool> CpuDevice::pool() const {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  MemoryPool machine = {machineId(), "the memory of this machine",
                        pages > 0 && size > 0
                            ? uint64_t(pages) * uint64_t(size)
                            : std::numeric_limits<uint64_t>::max()};
  std::vector<MemoryPool> all;
  for (const GroupLimits::Memory &its : groupLimits().memory)
    if (its.bytes < machine.capacity)
      all.push_back({machine.id + its.group,
                     "what the control group '" + its.group +
                         "' of this process may have of this machine's memory",
                     its.bytes});
  all.push_back(std::move(machine));
  MemoryPool least = std::move(all.front());
  least.around.assign(std::make_move_iterator(all.begin() + 1),
                      std::make_move_iterator(all.end()));
  return least;
}

Expected<std::unique_ptr<Memory>> CpuDevice::allocate(uint64_t bytes) {
  auto arena = std::make_unique<Arena>();
  if (!arena->allocate(bytes))
    return Status(ExitCode::outOfMemory,
                  "the system refuses " + std::to_string(bytes) + " bytes");
  return std::unique_ptr<Memory>(std::move(arena));
}

/// Also reserves buffers for the products that the rank's team may compute.
Expected<std::unique_ptr<Memory>> CpuDevice::allocateArena(uint64_t bytes) {
  Expected<std::unique_ptr<Memory>> arena = allocate(bytes);
  if (!arena)
    return arena;
  Expected<std::shared_ptr<const void>> buffers =
      reserveBuffers(options.threadsPerRank);
  if (!buffers)
    return buffers.status();
  static_cast<Arena &>(**arena).keep(std::move(*buffers));
  return arena;
}

std::unique_ptr<PolledDevice> cpu::makeDevice(const DeviceOptions &options) {
  return std::make_unique<CpuDevice>(options);
}

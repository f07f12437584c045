//===- CallsModule.cpp - code, and its launches ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Code comes as the text of PTX; for machine code there is no machine. What a
// launch does with memory is known when it has run.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <cstring>

using namespace emulated;

/// The greatest version of PTX that a driver takes, as 10 * major + minor.
static uint64_t getPtxVersion(uint64_t driver) {
  if (driver >= 13000)
    return 90 + (driver % 1000) / 10;
  return std::min<uint64_t>(80 + (driver % 1000) / 10, 88); // 12.0 has 8.0
}

static uint64_t readPtxVersion(const std::string &text) {
  const size_t at = text.find(".version");
  int major = 0, minor = 0;
  return at != std::string::npos &&
                 std::sscanf(text.c_str() + at, ".version %d.%d", &major,
                             &minor) == 2
             ? uint64_t(10 * major + minor)
             : 0;
}

/// The number behind these words, or 0.
static uint64_t readNumber(const std::string &text, const std::string &words) {
  const size_t at = text.find(words);
  return at == std::string::npos
             ? 0
             : std::strtoull(&text[at + words.size()], nullptr, 10);
}

CUresult cuModuleLoadDataEx(CUmodule *result, const void *image,
                            unsigned options, CUjit_option *names,
                            void **values) {
  PP_BEGIN(Call::context)
  if (const CUresult refused = refuseUnsafe())
    return refused;
  const std::string text = static_cast<const char *>(image);
  const uint64_t version = readPtxVersion(text);
  if (version > getPtxVersion(machine->settings.version))
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  std::string error;
  const uint64_t capability = readNumber(text, ".target sm_");
  if (capability > machine->settings.capability)
    error = "SM version " + std::to_string(capability) +
            " is higher than the device's";
  auto code =
      version && error.empty() ? ptx::Module::parse(text, error) : nullptr;
  if (!code) {
    char *log = nullptr;
    size_t logBytes = 0;
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == CU_JIT_ERROR_LOG_BUFFER)
        log = static_cast<char *>(values[i]);
      if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        logBytes = reinterpret_cast<size_t>(values[i]);
    }
    if (log && logBytes)
      log[error.copy(log, logBytes - 1)] = 0;
    return CUDA_ERROR_INVALID_PTX;
  }
  machine->waitForDevices();
  auto module = std::make_unique<Module>();
  module->code = std::move(code);
  module->device = currentDevice()->ordinal;
  *result = reinterpret_cast<CUmodule>(module.get());
  machine->modules[*result] = std::move(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule handle) {
  PP_BEGIN(Call::context)
  if (const CUresult refused = refuseUnsafe())
    return refused;
  const auto found = machine->modules.find(handle);
  for (auto at = machine->functions.begin(); at != machine->functions.end();)
    at = at->second->module == found->second.get()
             ? machine->functions.erase(at)
             : std::next(at);
  machine->modules.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *result, CUmodule handle,
                             const char *name) {
  PP_BEGIN(Call::context)
  const auto found = machine->modules.find(handle);
  const ptx::Entry *entry = found->second->code->find(name);
  if (!entry)
    return CUDA_ERROR_NOT_FOUND;
  auto function = std::make_unique<Function>();
  function->module = found->second.get();
  function->entry = entry;
  *result = reinterpret_cast<CUfunction>(function.get());
  machine->functions[*result] = std::move(function);
  return CUDA_SUCCESS;
}

namespace {

/// What a kernel on a device reaches: the device's memory, and pinned memory.
class Reach final : public ptx::Memory {
public:
  explicit Reach(int device) : device(device) {}

  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    Block *block = blockOf(address, size);
    if (block && (block->device < 0 || block->device == device))
      return block->bytes + (address - block->address);
    const std::string what = machine->memory.describe(address);
    error = std::to_string(size) + " bytes at " +
            (what.empty() ? "an address where nothing is" : what);
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    Block *block = blockOf(address, 1);
    // Of aligned accesses none goes on behind the bytes that are touched.
    return block ? block->touch(address - block->address, 1) : nullptr;
  }

private:
  /// Most often the one of the access before: none comes or goes meanwhile.
  Block *blockOf(uint64_t address, uint64_t size) {
    if (!last || !last->holds(address, size))
      last = machine->memory.find(address, size);
    return last;
  }

  int device;
  Block *last = nullptr;
};

} // namespace

static CUresult run(ptx::Launch &launch, CUmodule module,
                    const Operation &operation) {
  const auto found = machine->modules.find(module);
  if (found == machine->modules.end()) {
    fault(operation.by->what + " runs, and its module is unloaded");
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  Reach reach(operation.device);
  ptx::Accesses accesses;
  std::string error;
  launch.seed = machine->draw(uint64_t(1) << 63);
  launch.errors = machine->settings.errors; // a GPU's are the same in any order
  if (!found->second->code->run(launch, reach, error, &accesses)) {
    fault(operation.by->what + ": " + error);
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  for (const ptx::Accesses::Range &range : accesses.read)
    machine->touch(operation, range.begin, range.end, false);
  for (const ptx::Accesses::Range &range : accesses.written)
    machine->touch(operation, range.begin, range.end, true);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes,
                        CUstream streamHandle, void **parameters,
                        void **extra) {
  PP_BEGIN(Call::context)
  const auto found = machine->functions.find(handle);
  if (found == machine->functions.end())
    return CUDA_ERROR_INVALID_HANDLE;
  const Function *function = found->second.get();
  Stream &stream = streamOf(streamHandle);
  if (extra || sharedBytes != 0 || gridY != 1 || gridZ != 1 || blockY != 1 ||
      blockZ != 1)
    notModelled("cuLaunchKernel with extra parameters, shared memory, or more "
                "than one dimension");
  const ptx::Entry &entry = *function->entry;
  if (stream.device != function->module->device)
    return CUDA_ERROR_INVALID_HANDLE;
  if (blockX == 0 || blockX > 1024 || gridX == 0 || gridX > 0x7fffffff ||
      (entry.block != 0 && entry.block != blockX))
    return CUDA_ERROR_INVALID_VALUE;
  ptx::Launch launch;
  launch.entry = entry.name;
  launch.grid.x = gridX;
  launch.block.x = blockX;
  // Values are taken now; memory behind them is not.
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const auto [offset, bytes] = entry.parameters[i];
    launch.parameters.resize(offset + bytes);
    std::memcpy(launch.parameters.data() + offset, parameters[i], bytes);
  }
  Work work;
  work.what = "the kernel '" + entry.name + "'";
  work.run = [launch, module = reinterpret_cast<CUmodule>(function->module)](
                 Operation &operation, uint32_t) mutable {
    return run(launch, module, operation);
  };
  return machine->submit(stream, std::move(work));
}

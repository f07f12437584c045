//===- Guests.cpp - operations of other libraries -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A guest's operation runs in one piece, with the machine's lock held; of what
// meets others, each part does.
//
//===----------------------------------------------------------------------===//
#include "Guest.h"
#include "Machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace emulated;

namespace {

class DeviceAccess final : public Access {
public:
  explicit DeviceAccess(const Operation &operation) : operation(operation) {}

  const std::byte *read(uint64_t address, uint64_t size) override {
    const Block *block = find(address, size, "reads");
    if (!block)
      return nullptr;
    const std::byte *written = block->written + (address - block->address);
    const auto *open = std::find(written, written + size, std::byte(0));
    if (open != written + size) {
      fault(operation.by->what + " reads " +
            machine->memory.describe(address + uint64_t(open - written)) +
            ", which was never written");
      return nullptr;
    }
    machine->touch(operation, address, address + size, false);
    return block->bytes + (address - block->address);
  }
  std::byte *write(uint64_t address, uint64_t size) override {
    Block *block = find(address, size, "writes");
    if (!block)
      return nullptr;
    machine->touch(operation, address, address + size, true);
    std::memset(block->touch(address - block->address, size), 1, size);
    return block->bytes + (address - block->address);
  }
  bool spoil(uint64_t address, uint64_t size) override {
    Block *block = find(address, size, "writes");
    if (!block)
      return false;
    machine->touch(operation, address, address + size, true);
    block->spoil(address - block->address, size);
    return true;
  }

private:
  Block *find(uint64_t address, uint64_t size, const char *verb) {
    Block *block = machine->memory.find(address, size);
    if (block && block->device == operation.device)
      return block;
    const std::string what = machine->memory.describe(address);
    fault(operation.by->what + ' ' + verb + ' ' + std::to_string(size) +
          " bytes at " + (what.empty() ? "an address where nothing is" : what));
    return nullptr;
  }

  const Operation &operation;
};

} // namespace

static Begin begin(const char *name, bool needsContext) {
  Begin result;
  {
    const Call call(name, Call::nothing);
    result.failure = call.result;
    result.late = std::exchange(machine->lateFailure, CUDA_SUCCESS);
    result.algorithm = machine->settings.algorithm;
    result.refused = machine->settings.refused;
    result.machine = machine->number;
    if (const Device *device = currentDevice())
      result.device = device->ordinal;
    if (!needsContext || call.result != CUDA_SUCCESS)
      return result;
    if (const Device *device = currentDevice();
        machine->isInitialised && device && device->retained > 0) {
      machine->drift();
      result.state = device->failure;
    } else {
      result.state = CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  return result;
}

std::unique_ptr<Access> emulated::makeAccess(const Operation &operation) {
  return std::make_unique<DeviceAccess>(operation);
}

static Stream &streamOf(void *handle) {
  return emulated::streamOf(static_cast<CUstream>(handle));
}

static int submit(void *handle, Guest guest) {
  std::lock_guard guard(lock);
  machine->lateFailure = CUresult(guest.failure);
  Work work;
  work.what = guest.what;
  work.attend = std::move(guest.attend);
  work.lane = guest.lane;
  if (guest.run)
    work.run = [run = std::move(guest.run)](Operation &operation, uint32_t) {
      DeviceAccess access(operation);
      return run(access) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    };
  return machine->submit(::streamOf(handle), std::move(work));
}

static void hold(const char *kind, int change) {
  std::lock_guard guard(lock);
  if (machine)
    machine->held[kind] += change;
}

static uint64_t drawOfSeed(uint64_t below) {
  std::lock_guard guard(lock);
  return machine->settings.seed < 2 ? 0 : machine->draw(below);
}

static int deviceOf(void *handle) {
  std::lock_guard guard(lock);
  return ::streamOf(handle).device;
}

static bool isRecording(void *handle) {
  std::lock_guard guard(lock);
  return bool(::streamOf(handle).capture);
}

/// With the machine's lock.
template <typename Function> static auto locked(Function f) {
  std::lock_guard guard(lock);
  return f(*machine);
}

static int allocate(uint64_t *address, uint64_t size) {
  CUdeviceptr place = 0;
  const CUresult result = cuMemAlloc(&place, size);
  *address = place;
  return result;
}

static int release(uint64_t address) { return cuMemFree(address); }

extern "C" const Host ppEmulatorHost = {
    begin,
    submit,
    hold,
    [](const char *what) { fault(what); },
    [](const char *what) { notModelled(what); },
    &lock,
    drawOfSeed,
    [] { return locked([](Machine &its) { return its.settings.seed; }); },
    [] { return locked([](Machine &its) { return its.settings.errors; }); },
    deviceOf,
    isRecording,
    [](const void *lane) { locked([&](Machine &its) { its.abort(lane); }); },
    [](const void *lane) {
      return locked([&](Machine &its) { return its.isCaptured(lane); });
    },
    [](int device) {
      return locked([&](Machine &its) { return its.besides(device); });
    },
    [](const void *lane) {
      return locked([&](Machine &its) { return its.isBusy(lane); });
    },
    [](const char *what) {
      return locked([&](Machine &its) { return its.askInVain(what); });
    },
    [] { locked([](Machine &its) { its.progress(); }); },
    allocate,
    release,
    [] {
      return locked(
          [](Machine &its) { return its.settings.processes.c_str(); });
    }};

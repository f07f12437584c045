//===- Calls.cpp - begin, errors, devices, contexts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled against CUDA's header, so that each call has the driver's type. Only
// calls that the engine makes are here, and one that its tests make.
//
//===----------------------------------------------------------------------===//
#include "Emulator.h"
#include "Machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace emulated;

std::unique_ptr<Machine> emulated::machine;
std::recursive_mutex emulated::lock;
static void (*faultTaker)(const char *);
static thread_local int contextOrdinal = -1;

void emulated::fault(const std::string &what) {
  if (faultTaker)
    return faultTaker(what.c_str());
  std::fprintf(stderr, "emulated libcuda: fault: %s\n", what.c_str());
  std::abort();
}

void emulated::notModelled(const std::string &what) {
  std::fprintf(stderr, "emulated libcuda: not modelled: %s\n", what.c_str());
  std::abort();
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

static uint64_t machines = 0;

Machine::Machine(Settings its)
    : settings(std::move(its)), number(++machines), random(settings.seed) {
  for (const int device :
       findVisible(settings.devices, std::getenv("CUDA_VISIBLE_DEVICES"))) {
    Device &its = devices.emplace_back();
    its.ordinal = int(devices.size()) - 1;
    its.number = device;
  }
}

static void reset(const char *settings) {
  std::lock_guard guard(lock);
  machine.reset();
  machine = std::make_unique<Machine>(
      settings ? parseSettings(settings, "settings of a test")
               : readSettings());
  contextOrdinal = -1;
}

static const char *leaks() {
  static std::string text;
  text.clear();
  auto say = [&](uint64_t number, const std::string &what) {
    if (number)
      text += (text.empty() ? "" : ", ") + std::to_string(number) + ' ' + what;
  };
  std::lock_guard guard(lock);
  if (!machine)
    return "";
  uint64_t retained = 0;
  for (const Device &device : machine->devices)
    retained += device.retained;
  say(machine->memory.count(true), "device memory");
  say(machine->memory.count(false), "pinned memory");
  say(machine->streams.size(), "stream");
  say(machine->events.size(), "event");
  say(machine->modules.size(), "module");
  say(machine->graphs.size(), "graph");
  say(machine->executions.size(), "executable graph");
  say(retained, "context");
  for (const auto &[kind, number] : machine->held)
    say(uint64_t(number), kind);
  return text.c_str();
}

static uint64_t count(const char *call) {
  std::lock_guard guard(lock);
  return machine ? machine->calls[call] : 0;
}

extern "C" const Control ppEmulator = {
    reset, [](void (*taker)(const char *)) { faultTaker = taker; }, leaks,
    count};

//===----------------------------------------------------------------------===//
// What every call begins with
//===----------------------------------------------------------------------===//

Device *emulated::currentDevice() {
  return contextOrdinal < 0 || size_t(contextOrdinal) >= machine->devices.size()
             ? nullptr
             : &machine->devices[contextOrdinal];
}

void emulated::setCurrentDevice(Device *device) {
  contextOrdinal = device ? device->ordinal : -1;
}

namespace {
/// Tells the machine that a thread called last when the thread ends.
struct Leaver {
  ~Leaver() {
    std::lock_guard guard(lock);
    if (machine && machine->number == called)
      machine->leave();
  }
  uint64_t called = 0;
};
} // namespace

Call::Call(const char *name, Needs needs) : guard(lock) {
  thread_local Leaver leaver;
  if (!machine)
    machine = std::make_unique<Machine>(readSettings());
  leaver.called = machine->number;
  const uint64_t number = ++machine->calls[name];
  machine->lateFailure = CUDA_SUCCESS;
  const auto [first, last] = machine->settings.failures.equal_range(name);
  for (auto at = first; at != last; ++at)
    if (at->second.number == number) {
      if (at->second.isLate)
        machine->lateFailure = at->second.result;
      else
        result = at->second.result;
    }
  if (result != CUDA_SUCCESS || needs == nothing)
    return;
  if (!machine->isInitialised) {
    result = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (needs == initialised)
    return;
  const Device *device = currentDevice();
  if (!device || device->retained == 0) {
    result = CUDA_ERROR_INVALID_CONTEXT;
    return;
  }
  machine->drift();
  result = device->failure;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

// Those that this library returns, or that tests have it return.
#define PP_ERROR(name) {CUDA_ERROR_##name, "CUDA_ERROR_" #name}
static const std::map<CUresult, const char *> kErrors = {
    PP_ERROR(INVALID_VALUE),
    PP_ERROR(OUT_OF_MEMORY),
    PP_ERROR(NOT_INITIALIZED),
    PP_ERROR(NO_DEVICE),
    PP_ERROR(INVALID_CONTEXT),
    PP_ERROR(INVALID_PTX),
    PP_ERROR(UNSUPPORTED_PTX_VERSION),
    PP_ERROR(INVALID_HANDLE),
    PP_ERROR(ILLEGAL_STATE),
    PP_ERROR(NOT_FOUND),
    PP_ERROR(NOT_READY),
    PP_ERROR(ILLEGAL_ADDRESS),
    PP_ERROR(LAUNCH_FAILED),
    PP_ERROR(CAPTURED_EVENT),
    PP_ERROR(STREAM_CAPTURE_UNSUPPORTED),
    PP_ERROR(STREAM_CAPTURE_INVALIDATED),
    PP_ERROR(STREAM_CAPTURE_UNJOINED),
    PP_ERROR(STREAM_CAPTURE_UNMATCHED),
    PP_ERROR(STREAM_CAPTURE_ISOLATION),
    PP_ERROR(STREAM_CAPTURE_MERGE),
    PP_ERROR(STREAM_CAPTURE_WRONG_THREAD),
    PP_ERROR(UNKNOWN)};

static const char *nameOf(CUresult error) {
  const auto found = kErrors.find(error);
  return found == kErrors.end() ? nullptr : found->second;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = nameOf(error);
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// "illegal address" of CUDA_ERROR_ILLEGAL_ADDRESS.
CUresult cuGetErrorString(CUresult error, const char **text) {
  static std::map<CUresult, std::string> texts;
  std::lock_guard guard(lock);
  const char *name = nameOf(error);
  std::string &its = texts[error];
  its = name ? name + std::strlen("CUDA_ERROR_") : "";
  for (char &c : its)
    c = c == '_' ? ' ' : char(std::tolower(c));
  *text = name ? its.c_str() : nullptr;
  return name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

//===----------------------------------------------------------------------===//
// Devices and their contexts
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned flags) {
  PP_BEGIN(Call::nothing)
  if (machine->devices.empty())
    return CUDA_ERROR_NO_DEVICE;
  machine->isInitialised = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  PP_BEGIN(Call::nothing)
  *version = int(machine->settings.version);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *number) {
  PP_BEGIN(Call::initialised)
  *number = int(machine->devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  PP_BEGIN(Call::initialised)
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  PP_BEGIN(Call::initialised)
  std::snprintf(name, size_t(length), "%s",
                uint64_t(machine->devices[device].number) ==
                        machine->settings.other
                    ? "another emulated GPU of pp"
                    : "emulated GPU of pp");
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  PP_BEGIN(Call::initialised)
  *bytes = machine->settings.memory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  PP_BEGIN(Call::initialised)
  *uuid = {};
  uuid->bytes[0] = char(machine->devices[device].number);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  PP_BEGIN(Call::initialised)
  switch (attribute) { // of an H100
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = int(machine->settings.capability / 10);
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = int(machine->settings.capability % 10);
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    break;
  default:
    notModelled("the device attribute " + std::to_string(attribute));
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  PP_BEGIN(Call::initialised)
  ++machine->devices[device].retained;
  *context = reinterpret_cast<CUcontext>(&machine->devices[device]);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  PP_BEGIN(Call::initialised)
  // The failure of a device ends with its context.
  if (--machine->devices[device].retained == 0)
    machine->devices[device].failure = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  PP_BEGIN(Call::initialised)
  for (Device &device : machine->devices)
    if (context == reinterpret_cast<CUcontext>(&device) &&
        device.retained > 0) {
      setCurrentDevice(&device);
      return CUDA_SUCCESS;
    }
  if (context)
    return CUDA_ERROR_INVALID_CONTEXT;
  setCurrentDevice(nullptr);
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  PP_BEGIN(Call::context)
  if (const CUresult refused = refuseWhileAnyCaptured())
    return refused;
  machine->finishAll(currentDevice()->ordinal);
  return currentDevice()->failure;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  PP_BEGIN(Call::context)
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

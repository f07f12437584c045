//===- Backends.cpp - the kinds of devices that there are -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows all of them: a new one is a row of the table.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "cuda/CommPlan.h"
#include "cuda/Plugin.h"
#include "null/Null.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"
#include "pprt/World.h"

using namespace pprt;

namespace {

struct Backend {
  /// As deviceNames(), --device and reports have it.
  const char *name;
  Expected<Devices> (*make)(const cpu::DeviceOptions &options, World &world,
                            uint32_t worldSize);
  Expected<std::string> (*processor)(); ///< deviceProcessor()
  /// deviceModel(); null: they meet as the world's processes do.
  TransportModel (*model)();
  Expected<uint32_t> (*count)(); ///< countDevices(); null: one
};

} // namespace

static Devices one(std::unique_ptr<Device> device) {
  Devices devices;
  devices.push_back(std::move(device));
  return devices;
}

static constexpr Backend backends[] = {
    {"cpu",
     [](const cpu::DeviceOptions &options, World &, uint32_t) {
       return Expected<Devices>(one(cpu::makeDevice(options)));
     },
     [] { return Expected<std::string>(processorLevel()); }, nullptr, nullptr},
    {"cuda",
     [](const cpu::DeviceOptions &, World &world, uint32_t worldSize) {
       return cuda::openDevices(world, worldSize);
     },
     cuda::processor, cuda::ncclModel, cuda::countDevices},
    {"null",
     [](const cpu::DeviceOptions &, World &, uint32_t) {
       return Expected<Devices>(one(null::makeDevice()));
     },
     [] { return Expected<std::string>(processorLevel()); }, nullptr, nullptr},
};

std::vector<std::string> pprt::deviceNames() {
  std::vector<std::string> names;
  for (const Backend &backend : backends)
    names.push_back(backend.name);
  return names;
}

static Expected<const Backend *> findBackend(const std::string &name) {
  std::string known;
  for (const Backend &backend : backends) {
    if (name == backend.name)
      return &backend;
    known += (known.empty() ? "" : " or ") + std::string(backend.name);
  }
  return Status(ExitCode::usage,
                "expects the device " + known + ", got '" + name + "'");
}

Status pprt::checkDeviceName(const std::string &name) {
  return findBackend(name).status();
}

Expected<Devices> pprt::makeDevices(const std::string &name,
                                    const cpu::DeviceOptions &options,
                                    World &world, uint32_t worldSize) {
  Expected<const Backend *> backend = findBackend(name);
  return backend ? (*backend)->make(options, world, worldSize)
                 : backend.status();
}

Expected<std::unique_ptr<Device>>
pprt::makeDevice(const std::string &name, const cpu::DeviceOptions &options) {
  Expected<Devices> made = makeDevices(name, options, *thisProcess(), 1);
  if (!made)
    return made.status();
  return std::move(made->front());
}

Expected<std::string> pprt::deviceProcessor(const std::string &name) {
  Expected<const Backend *> backend = findBackend(name);
  return backend ? (*backend)->processor() : backend.status();
}

Expected<uint32_t> pprt::countDevices(const std::string &name) {
  Expected<const Backend *> backend = findBackend(name);
  if (!backend)
    return backend.status();
  return (*backend)->count ? (*backend)->count() : Expected(uint32_t(1));
}

TransportModel pprt::deviceModel(const std::string &name,
                                 TransportModel ofWorld) {
  Expected<const Backend *> backend = findBackend(name);
  return backend && (*backend)->model ? (*backend)->model()
                                      : std::move(ofWorld);
}

//===- Backends.cpp - the known kinds of devices --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The only code that knows all of the runtime's backends: a new one is an entry
// of the list.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "../targets/Targets.h"
#include "cuda/CommPlan.h"
#include "cuda/Plugin.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"
#include "pprt/World.h"

#include <algorithm>
#include <list>

using namespace pprt;

static Expected<std::string> hostProcessor() { return processorLevel(); }

/// A list, because its elements keep their addresses.
static std::list<Backend> &allBackends() {
  static std::list<Backend> all = [] {
    Backend cpu;
    cpu.name = "cpu";
    cpu.open = [](const DeviceOptions &options, World &, uint32_t) {
      return Expected(makeDevices(cpu::makeDevice(options)));
    };
    cpu.processor = hostProcessor;
    Backend cuda;
    cuda.name = "cuda";
    cuda.code = Code::ptx;
    cuda.hasStreams = true;
    cuda.open = [](const DeviceOptions &, World &world, uint32_t worldSize) {
      auto opened = cuda::openDevices(world, worldSize);
      return opened ? Expected(makeDevices(std::move(*opened)))
                    : opened.status();
    };
    cuda.processor = cuda::processor;
    cuda.count = cuda::countDevices;
    cuda.model = cuda::ncclModel;
    cuda.launchBytes = cuda::launchBytes;
    Backend null;
    null.name = "null";
    null.open = [](const DeviceOptions &, World &, uint32_t) {
      return Expected(makeDevices(null::makeDevice()));
    };
    null.processor = hostProcessor;
    return std::list<Backend>{cpu, cuda, null};
  }();
  return all;
}

Status pprt::addBackend(Backend backend) {
  if (findBackend(backend.name))
    return Status(ExitCode::usage, "expects a name that no backend has, got '" +
                                       backend.name + "'");
  allBackends().push_back(std::move(backend));
  return {};
}

const Backend *pprt::findBackend(const std::string &name) {
  for (const Backend &backend : allBackends())
    if (backend.name == name)
      return &backend;
  return nullptr;
}

const Backend &pprt::backendFor(Code code) {
  return *std::find_if(
      allBackends().begin(), allBackends().end(),
      [&](const Backend &backend) { return backend.code == code; });
}

std::vector<std::string> pprt::deviceNames() {
  std::vector<std::string> names;
  for (const Backend &backend : allBackends())
    names.push_back(backend.name);
  return names;
}

Status pprt::checkDeviceName(const std::string &name) {
  if (findBackend(name))
    return {};
  std::string known;
  for (const std::string &its : deviceNames())
    known += (known.empty() ? "" : " or ") + its;
  return Status(ExitCode::usage,
                "expects the device " + known + ", got '" + name + "'");
}

Expected<std::string> pprt::deviceProcessor(const std::string &name) {
  const Backend *backend = findBackend(name);
  return backend ? backend->processor() : checkDeviceName(name);
}

Expected<uint32_t> pprt::countDevices(const std::string &name) {
  const Backend *backend = findBackend(name);
  if (!backend)
    return checkDeviceName(name);
  return backend->count ? backend->count() : Expected(uint32_t(1));
}

TransportModel pprt::deviceModel(const std::string &name,
                                 TransportModel ofWorld) {
  const Backend *backend = findBackend(name);
  return backend && backend->model ? backend->model() : std::move(ofWorld);
}

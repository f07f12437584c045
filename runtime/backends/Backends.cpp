//===- Backends.cpp - the kinds of devices that there are -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows all of them: a new one is a row of the table.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "cuda/Plugin.h"
#include "null/Null.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"

using namespace pprt;

namespace {
using Made = Expected<std::unique_ptr<Device>>;

struct Backend {
  /// As deviceNames(), --device and reports have it.
  const char *name;
  Expected<std::unique_ptr<Device>> (*make)(const cpu::DeviceOptions &options);
  Expected<std::string> (*processor)(); ///< deviceProcessor()
};
} // namespace

static constexpr Backend backends[] = {
    {"cpu",
     [](const cpu::DeviceOptions &options) -> Made {
       return cpu::makeDevice(options);
     },
     [] { return Expected<std::string>(processorLevel()); }},
    {"cuda",
     [](const cpu::DeviceOptions &) -> Made {
       Expected<cuda::OpenedDevice> opened = cuda::openDevice();
       if (!opened)
         return opened.status();
       return std::move(opened->device);
     },
     [] {
       Expected<cuda::OpenedDevice> opened = cuda::openDevice();
       return opened ? Expected<std::string>(opened->processor)
                     : opened.status();
     }},
    {"null",
     [](const cpu::DeviceOptions &) -> Made { return null::makeDevice(); },
     [] { return Expected<std::string>(processorLevel()); }},
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

Expected<std::unique_ptr<Device>>
pprt::makeDevice(const std::string &name, const cpu::DeviceOptions &options) {
  Expected<const Backend *> backend = findBackend(name);
  return backend ? (*backend)->make(options) : backend.status();
}

Expected<std::string> pprt::deviceProcessor(const std::string &name) {
  Expected<const Backend *> backend = findBackend(name);
  return backend ? (*backend)->processor() : backend.status();
}

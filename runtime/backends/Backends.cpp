//===- Backends.cpp - the kinds of devices that there are -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows all of them: a new one is a row of the table.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "null/Null.h"
#include "pprt/Session.h"

using namespace pprt;

namespace {
struct Backend {
  /// As deviceNames(), --device and reports have it.
  const char *name;
  std::unique_ptr<Device> (*make)(const cpu::DeviceOptions &options);
};
} // namespace

static constexpr Backend backends[] = {
    {"cpu", cpu::makeDevice},
    {"null", [](const cpu::DeviceOptions &) { return null::makeDevice(); }},
};

std::vector<std::string> pprt::deviceNames() {
  std::vector<std::string> names;
  for (const Backend &backend : backends)
    names.push_back(backend.name);
  return names;
}

Expected<std::unique_ptr<Device>>
pprt::makeDevice(const std::string &name, const cpu::DeviceOptions &options) {
  std::string known;
  for (const Backend &backend : backends) {
    if (name == backend.name)
      return backend.make(options);
    known += (known.empty() ? "" : " or ") + std::string(backend.name);
  }
  return Status(ExitCode::usage,
                "expects the device " + known + ", got '" + name + "'");
}

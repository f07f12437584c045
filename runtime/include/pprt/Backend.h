//===- Backend.h - a kind of device that programs can run on ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the facts about a kind of device, whether or not one is present, and how
// to open the devices of a process. Out: a name for SessionOptions::device. The
// runtime brings "cpu", "cuda" and "null" (runtime/backends); a program adds
// others before it makes a session.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKEND_H
#define PPRT_BACKEND_H

#include "pprt/StreamDevice.h"
#include "pprt/Target.h"

#pragma GCC visibility push(default)
namespace pprt {

/// The devices of a process, of either kind, and how their ranks meet: what the
/// engine runs.
class Devices;

/// Makes one device for all ranks of the process.
std::shared_ptr<Devices> makeDevices(std::unique_ptr<PolledDevice> device);
/// Makes one device for all ranks of the process, or one for each.
std::shared_ptr<Devices>
makeDevices(std::vector<std::unique_ptr<enqueued::StreamDevice>> devices);

/// Options that a session passes to its devices.
struct DeviceOptions {
  /// Finds compiled kernels; if empty, they come from the artifact's object.
  KernelResolver resolver;
  unsigned threadsPerRank = 1;
  bool spin = false; ///< if no two threads share a core
};

struct Backend {
  /// Name in --device and in reports.
  std::string name;
  /// Form of compiled kernels that it runs.
  Code code = Code::sharedObject;
  /// Whether its streams run asynchronously to the host: then steps can be
  /// recorded, and the host cannot address its memory.
  bool hasStreams = false;

  /// Collective, like the world's calls; fails in all processes alike.
  std::function<Expected<std::shared_ptr<Devices>>(
      const DeviceOptions &options, World &world, uint32_t worldSize)>
      open;
  /// Returns the processor level that compiled kernels may need
  /// (pprt/Processor.h), or fails with what this machine lacks.
  std::function<Expected<std::string>()> processor;
  /// Number of devices that a process could use. Empty: one.
  std::function<Expected<uint32_t>()> count = {};
  /// Model of the transport between ranks with a device each. Empty: they meet
  /// as the world's processes do.
  std::function<TransportModel()> model = {};
  /// Bytes of its memory that a launch of the contraction keeps. Empty: none.
  std::function<uint64_t(const ppx::ContractionT &)> launchBytes = {};
};

/// Returns null if no backend has that name.
const Backend *findBackend(const std::string &name);
/// Returns the first backend that runs such code.
const Backend &backendFor(Code code);
/// Registers a backend before the first session; refuses a name that is already
/// taken.
Status addBackend(Backend backend);

/// Fails (usage) with deviceNames() if `name` is not one of them.
Status checkDeviceName(const std::string &name);
/// Number of devices that this process could use; the host counts as one.
Expected<uint32_t> countDevices(const std::string &name);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_BACKEND_H

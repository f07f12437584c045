//===- Backend.h - a kind of device that programs can run on ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what is known of a kind of device, whether or not there is one here, and
// how to open those of a process. Out: a name for SessionOptions::device. The
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

/// The devices of a process and how their ranks meet, of either kind: what the
/// engine runs.
class Devices;

/// One for all ranks of the process.
std::shared_ptr<Devices> makeDevices(std::unique_ptr<PolledDevice> device);
/// One for all ranks of the process, or one for each.
std::shared_ptr<Devices>
makeDevices(std::vector<std::unique_ptr<enqueued::StreamDevice>> devices);

/// What a session tells its devices.
struct DeviceOptions {
  /// Finds compiled kernels; if empty they come from the artifact's object.
  KernelResolver resolver;
  unsigned threadsPerRank = 1;
  bool spin = false; ///< when no two threads share a core
};

struct Backend {
  /// As --device and reports have it.
  std::string name;
  /// What it runs of compiled kernels.
  Code code = Code::sharedObject;
  /// Whether its streams run behind the host: then steps can be recorded, and
  /// its memory is none of the host's.
  bool hasStreams = false;

  /// Collective, as the world's calls; fails in all processes alike.
  std::function<Expected<std::shared_ptr<Devices>>(
      const DeviceOptions &options, World &world, uint32_t worldSize)>
      open;
  /// What compiled kernels may need of it (pprt/Processor.h), or what is
  /// missing here for there to be one.
  std::function<Expected<std::string>()> processor;
  /// So many a process could use. Empty: one.
  std::function<Expected<uint32_t>()> count = {};
  /// What ranks need to meet, each on a device of its own. Empty: they meet as
  /// the world's processes do.
  std::function<TransportModel()> model = {};
  /// Bytes of its memory that a launch of the contraction keeps. Empty: none.
  std::function<uint64_t(const ppx::ContractionT &)> launchBytes = {};
};

/// Null if there is none of that name.
const Backend *findBackend(const std::string &name);
/// The first that runs such code.
const Backend &backendFor(Code code);
/// Makes another one known, before the first session; refuses a name that one
/// has.
Status addBackend(Backend backend);

/// Fails (usage) with deviceNames() if it is none of them.
Status checkDeviceName(const std::string &name);
/// So many this process could use; those of the host's own count as one.
Expected<uint32_t> countDevices(const std::string &name);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_BACKEND_H

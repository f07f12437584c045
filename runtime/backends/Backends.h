//===- Backends.h - the kinds of devices that there are ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the name that an option or a caller gives. Out: the devices of a process,
// before they have loaded anything.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_BACKENDS_H
#define PPRT_BACKENDS_BACKENDS_H

#include "cpu/Device.h"

namespace pprt {

class World;

using Devices = std::vector<std::unique_ptr<Device>>;

/// Fails (usage) with deviceNames() if it is none of them.
Status checkDeviceName(const std::string &name);

/// So many this process could use; those of the host's own count as one.
Expected<uint32_t> countDevices(const std::string &name);

/// For the ranks of this process: one for all of them, or one for each.
/// Collective, as the world's calls; fails in all processes alike. `name` is
/// one of deviceNames().
Expected<Devices> makeDevices(const std::string &name,
                              const cpu::DeviceOptions &options, World &world,
                              uint32_t worldSize);
/// One for all ranks of this process alone.
Expected<std::unique_ptr<Device>> makeDevice(const std::string &name,
                                             const cpu::DeviceOptions &options);

} // namespace pprt

#endif // PPRT_BACKENDS_BACKENDS_H

//===- Backends.h - the kinds of devices that there are ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the name that an option or a caller gives. Out: the device, before it has
// loaded anything.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_BACKENDS_H
#define PPRT_BACKENDS_BACKENDS_H

#include "cpu/Device.h"

namespace pprt {

/// One of deviceNames(). Fails (usage) with the names if it is none.
Expected<std::unique_ptr<Device>> makeDevice(const std::string &name,
                                             const cpu::DeviceOptions &options);

} // namespace pprt

#endif // PPRT_BACKENDS_BACKENDS_H

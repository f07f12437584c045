//===- Null.h - a device that computes nothing ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All that an engine asks of a device, with nothing behind it: the skeleton to
// start a backend from. Memory has addresses and no pages, so that whoever
// touches it is caught. Launches, copies and flags are counted; comm ops move
// their names and not their data, and are checked: all members come, each in
// its order. What is left of a step's time is the engine's own.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_NULL_NULL_H
#define PPRT_BACKENDS_NULL_NULL_H

#include "../../engine/Device.h"

namespace pprt::null {

/// Counts launches, copies, flags, and of its transport the comm ops of each
/// member and the bytes that it would have sent, as Communication.h has them.
std::unique_ptr<Device> makeDevice();

} // namespace pprt::null

#endif // PPRT_BACKENDS_NULL_NULL_H

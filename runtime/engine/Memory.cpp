//===- Memory.cpp - values of a device's memory on the host ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Device.h"

using namespace pprt;

Status
Memory::visit(uint64_t offset, uint64_t bytes,
              const std::function<void(const std::byte *)> &visit) const {
  if (!keepsValues())
    return {};
  if (const std::byte *place = host()) {
    visit(place + offset);
    return {};
  }
  std::vector<std::byte> copy(bytes);
  const Status status = read(copy.data(), offset, bytes);
  if (status.ok())
    visit(copy.data());
  return status;
}

Status Memory::fill(uint64_t offset, uint64_t bytes,
                    const std::function<void(std::byte *)> &fill) {
  if (!keepsValues())
    return {};
  if (std::byte *place = host()) {
    fill(place + offset);
    return {};
  }
  std::vector<std::byte> copy(bytes);
  fill(copy.data());
  return write(offset, copy.data(), bytes);
}

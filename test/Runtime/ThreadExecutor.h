//===- ThreadExecutor.h - a polled executor of one process ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A smaller substitute for a session: all ranks of an artifact on this
// machine's processors, communicating as threads.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_THREADEXECUTOR_H
#define PP_TEST_RUNTIME_THREADEXECUTOR_H

#include "backends/Backends.h"
#include "engine/polled/PolledExecutor.h"
#include "pprt/World.h"

namespace pprt::test {

inline Expected<std::unique_ptr<polled::PolledExecutor>>
makeThreadExecutor(std::shared_ptr<const ppx::ArtifactT> artifact,
                   const DeviceOptions &deviceOptions,
                   std::shared_ptr<HostData> host, Limits limits = {}) {
  const Mesh mesh = *Mesh::create(artifact->axes);
  std::shared_ptr<PolledDevice> device = cpu::makeDevice(deviceOptions);
  std::shared_ptr<PolledTransport> transport =
      std::move(*device->transport(*thisProcess(), mesh.worldSize()));
  auto executor = polled::PolledExecutor::create(
      std::move(artifact), mesh, std::move(device), transport,
      {{0, mesh.worldSize()}, std::move(limits)}, std::move(host));
  const Status connected = executor ? transport->connect() : Status();
  return connected.ok() ? std::move(executor) : connected;
}

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_THREADEXECUTOR_H

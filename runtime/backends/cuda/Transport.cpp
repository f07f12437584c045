//===- Transport.cpp - communication between GPUs -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Transport.h"
#include "Streams.h"
#include "pprt/World.h"

#include <chrono>
#include <thread>

using namespace pprt;
using namespace pprt::cuda;

/// Time after a failure of NCCL in which a notice of the cause may come.
static constexpr std::chrono::seconds kNotice(1);

Expected<std::unique_ptr<enqueued::StreamTransport>>
GpuTransport::create(World &world, uint32_t worldSize, const GpusByRank &gpus,
                     const Nccl &nccl) {
  std::unique_ptr<PolledTransport> notices;
  if (world.processCount() > 1) {
    Expected<std::unique_ptr<PolledTransport>> made =
        world.transport(worldSize);
    if (!made)
      return made.status();
    notices = std::move(*made);
  }
  Expected<std::unique_ptr<Communicators>> made =
      Communicators::create(world, worldSize, gpus, nccl);
  if (!made)
    return made.status();
  if (notices)
    (*made)->listen = [its = notices.get()] { return its->poll(); };
  return std::unique_ptr<enqueued::StreamTransport>(
      new GpuTransport(world, std::move(*made), std::move(notices)));
}

Status GpuTransport::connect() {
  if (Status status = collectives.connect(world); !status.ok())
    return status;
  return notices ? notices->connect() : Status();
}

/// NCCL's error about a process that is gone is not the cause: the process that
/// failed first reports it.
Status GpuTransport::findCause(const Status &status) {
  const auto end = std::chrono::steady_clock::now() + kNotice;
  while (notices && std::chrono::steady_clock::now() < end) {
    if (const Status told = notices->poll(); !told.ok())
      return told;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

Status GpuTransport::enqueue(Ticket ticket, enqueued::Stream &stream) {
  const Status status = collectives.enqueue(ticket, handleOf(stream));
  return status.ok() ? status : findCause(status);
}

Status GpuTransport::poll() {
  if (const Status told = notices ? notices->poll() : Status(); !told.ok()) {
    collectives.fail(told);
    return told;
  }
  const Status status = collectives.poll();
  return status.ok() ? status : findCause(status);
}

void GpuTransport::abort(const Status &status) {
  if (notices)
    notices->abort(status);
  collectives.fail(status);
}

//===- Transport.h - communication between GPUs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives, for an executor: enqueues them on streams, and reports failures
// to other processes. NCCL notices late or never that a process is gone, so the
// world's own transport, which carries nothing else, reports it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_TRANSPORT_H
#define PPRT_BACKENDS_CUDA_TRANSPORT_H

#include "Collectives.h"
#include "pprt/StreamDevice.h"

namespace pprt::cuda {

class GpuTransport final : public enqueued::StreamTransport {
public:
  /// Collective; fails in all processes alike. The world outlives connect().
  static Expected<std::unique_ptr<enqueued::StreamTransport>>
  create(World &world, uint32_t worldSize, const GpusByRank &gpus,
         const Nccl &nccl);

  TransportModel model() const override { return ncclModel(); }
  void limit(double seconds, std::function<bool()> isInterrupted) override {
    collectives.limit(seconds, std::move(isInterrupted));
  }
  Expected<Ticket> prepare(Participant participant) override {
    return collectives.prepare(std::move(participant));
  }
  Status connect() override;
  void begin(uint32_t rank) override { collectives.begin(rank); }
  Status enqueue(Ticket ticket, enqueued::Stream &stream) override;
  void leave(uint32_t rank) override { collectives.abort(rank); }
  Status poll() override;
  void abort(const Status &status) override;
  void watch(std::weak_ptr<Watched> watched) override {
    if (notices)
      notices->watch(std::move(watched));
  }
  bool suspect(const Suspicion &suspicion) override {
    return notices && notices->suspect(suspicion);
  }

private:
  GpuTransport(World &world, std::shared_ptr<Communicators> communicators,
               std::unique_ptr<PolledTransport> notices)
      : world(world), notices(std::move(notices)),
        collectives(std::move(communicators)) {}
  Status findCause(const Status &status);

  World &world;
  /// Null: one process. The communicators ask it as long as they live.
  const std::unique_ptr<PolledTransport> notices;
  Collectives collectives;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_TRANSPORT_H

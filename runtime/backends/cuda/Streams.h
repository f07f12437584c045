//===- Streams.h - streams, events and graphs of a GPU ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The driver offers what an enqueued executor needs: streams and events are the
// driver's, host memory is pinned, and graphs are the driver's graphs.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_STREAMS_H
#define PPRT_BACKENDS_CUDA_STREAMS_H

#include "Builtins.h"
#include "Moves.h"
#include "pprt/StreamDevice.h"

namespace pprt::cuda {

/// Returns the driver's handle of a stream that GpuStreams made.
CUstream handleOf(const enqueued::Stream &stream);

/// The part of a device that handles streams.
class GpuStreams : public enqueued::StreamDevice {
public:
  explicit GpuStreams(std::shared_ptr<const Gpu> gpu)
      : gpu(std::move(gpu)), mover(this->gpu) {}

  Status makeCurrent() override { return gpu->makeCurrent(); }
  Expected<std::unique_ptr<enqueued::Stream>>
  makeStream(bool isUrgent) override;
  Expected<std::unique_ptr<enqueued::Event>> makeEvent(bool isTimed) override;
  Expected<std::unique_ptr<Memory>> hostMemory(uint64_t bytes) override;
  Expected<bool> query(const enqueued::Event &event) override;
  void drain() override { gpu->driver.cuCtxSynchronize(); }
  Expected<int64_t> elapsed(const enqueued::Event &from,
                            const enqueued::Event &to) override;
  Expected<std::unique_ptr<const Launch>>
  bindMove(const enqueued::BoundMove &move) override {
    return mover.bind(move);
  }
  /// The host reads the gate of a product.
  bool isCapturable(const ppx::KernelT &kernel, bool isGated) const override {
    return !isGated || !kernel.body.AsContraction();
  }
  Status beginCapture(enqueued::Stream &stream) override;
  Expected<std::unique_ptr<const enqueued::Graph>>
  endCapture(enqueued::Stream &stream) override;

protected:
  const std::shared_ptr<const Gpu> gpu;

private:
  Mover mover;
  std::shared_ptr<const Builtins> builtins; ///< from the first stream on
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_STREAMS_H

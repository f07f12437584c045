//===- Streams.cpp - streams, events and graphs of a GPU ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Streams.h"
#include "Kernels.h"

#include <cmath>

using namespace pprt;
using namespace pprt::cuda;

namespace {

struct GpuEvent final : enqueued::Event {
  GpuEvent(std::shared_ptr<const Gpu> gpu, CUevent event)
      : gpu(std::move(gpu)), event(event) {}
  ~GpuEvent() override {
    if (gpu->makeCurrent().ok())
      gpu->driver.cuEventDestroy(event);
  }
  const std::shared_ptr<const Gpu> gpu;
  const CUevent event;
};

struct GpuGraph final : enqueued::Graph {
  GpuGraph(std::shared_ptr<const Gpu> gpu, CUgraphExec graph)
      : gpu(std::move(gpu)), graph(graph) {}
  ~GpuGraph() override {
    if (gpu->makeCurrent().ok())
      gpu->driver.cuGraphExecDestroy(graph);
  }
  const std::shared_ptr<const Gpu> gpu;
  const CUgraphExec graph;
};

/// Host memory that the device reads and writes directly.
class PinnedMemory final : public Memory {
public:
  PinnedMemory(std::shared_ptr<const Gpu> gpu, void *place, uint64_t bytes)
      : gpu(std::move(gpu)), place(static_cast<std::byte *>(place)),
        bytes(bytes) {}
  ~PinnedMemory() override {
    if (gpu->makeCurrent().ok())
      gpu->driver.cuMemFreeHost(place);
  }
  std::byte *address() const override { return place; }
  uint64_t size() const override { return bytes; }
  std::byte *host() const override { return place; }
  uint64_t writtenBytes() const override { return 0; }

private:
  const std::shared_ptr<const Gpu> gpu;
  std::byte *const place;
  const uint64_t bytes;
};

class GpuStream final : public enqueued::Stream {
public:
  GpuStream(std::shared_ptr<const Gpu> gpu,
            std::shared_ptr<const Builtins> builtins, CUstream stream)
      : gpu(std::move(gpu)), builtins(std::move(builtins)), stream(stream) {}
  ~GpuStream() override {
    if (gpu->makeCurrent().ok())
      gpu->driver.cuStreamDestroy(stream);
  }

  Status launch(const Launch &launch) override {
    return static_cast<const GpuLaunch &>(launch).start(*gpu, stream);
  }
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override;
  Status flag(const std::vector<Values> &values, std::byte *flag) override;
  Status write(std::byte *to, const void *from, uint64_t bytes) override;
  Status read(void *to, const std::byte *from, uint64_t bytes) override;
  Status record(enqueued::Event &event) override;
  Status wait(const enqueued::Event &event) override;
  Status launchGraph(const enqueued::Graph &graph) override;
  CUstream handle() const { return stream; }

private:
  const std::shared_ptr<const Gpu> gpu;
  const std::shared_ptr<const Builtins> builtins;
  const CUstream stream;
};

} // namespace

static CUevent eventOf(const enqueued::Event &event) {
  return static_cast<const GpuEvent &>(event).event;
}
CUstream cuda::handleOf(const enqueued::Stream &stream) {
  return static_cast<const GpuStream &>(stream).handle();
}

//===----------------------------------------------------------------------===//
// Stream commands
//===----------------------------------------------------------------------===//

// The driver refuses to copy 0 bytes.

Status GpuStream::copy(std::byte *to, const std::byte *from, uint64_t bytes) {
  if (bytes > 0)
    PP_TRY(*gpu, cuMemcpyDtoDAsync, pointer(to), pointer(from), bytes, stream);
  return {};
}

Status GpuStream::write(std::byte *to, const void *from, uint64_t bytes) {
  if (bytes > 0)
    PP_TRY(*gpu, cuMemcpyHtoDAsync, pointer(to), from, bytes, stream);
  return {};
}

Status GpuStream::read(void *to, const std::byte *from, uint64_t bytes) {
  if (bytes > 0)
    PP_TRY(*gpu, cuMemcpyDtoHAsync, to, pointer(from), bytes, stream);
  return {};
}

Status GpuStream::flag(const std::vector<Values> &values, std::byte *flag) {
  PP_TRY(*gpu, cuMemsetD32Async, pointer(flag), 0, 1, stream);
  for (const Values &its : values)
    if (Status status = builtins->flag(stream, its, flag); !status.ok())
      return status;
  return {};
}

Status GpuStream::record(enqueued::Event &event) {
  PP_TRY(*gpu, cuEventRecord, eventOf(event), stream);
  return {};
}

Status GpuStream::wait(const enqueued::Event &event) {
  PP_TRY(*gpu, cuStreamWaitEvent, stream, eventOf(event), 0);
  return {};
}

Status GpuStream::launchGraph(const enqueued::Graph &graph) {
  PP_TRY(*gpu, cuGraphLaunch, static_cast<const GpuGraph &>(graph).graph,
         stream);
  return {};
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<enqueued::Stream>>
GpuStreams::makeStream(bool isUrgent) {
  if (!builtins) {
    Expected<std::unique_ptr<const Builtins>> loaded = Builtins::load(gpu);
    if (!loaded)
      return loaded.status();
    builtins = std::move(*loaded);
  }
  int least = 0, greatest = 0; // smaller numbers go first
  PP_TRY(*gpu, cuCtxGetStreamPriorityRange, &least, &greatest);
  CUstream stream = nullptr;
  PP_TRY(*gpu, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING,
         isUrgent ? greatest : least);
  return std::unique_ptr<enqueued::Stream>(
      new GpuStream(gpu, builtins, stream));
}

Expected<std::unique_ptr<enqueued::Event>> GpuStreams::makeEvent(bool isTimed) {
  CUevent event = nullptr;
  PP_TRY(*gpu, cuEventCreate, &event,
         isTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  return std::unique_ptr<enqueued::Event>(new GpuEvent(gpu, event));
}

Expected<std::unique_ptr<Memory>> GpuStreams::hostMemory(uint64_t bytes) {
  // The driver refuses to allocate 0 bytes.
  void *place = nullptr;
  PP_TRY(*gpu, cuMemHostAlloc, &place, std::max<uint64_t>(bytes, 1), 0);
  return std::unique_ptr<Memory>(new PinnedMemory(gpu, place, bytes));
}

Expected<bool> GpuStreams::query(const enqueued::Event &event) {
  const CUresult result = gpu->driver.cuEventQuery(eventOf(event));
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  if (Status status = gpu->check(result, "cuEventQuery"); !status.ok())
    return status;
  return true;
}

Expected<int64_t> GpuStreams::elapsed(const enqueued::Event &from,
                                      const enqueued::Event &to) {
  float milliseconds = 0;
  PP_TRY(*gpu, cuEventElapsedTime, &milliseconds, eventOf(from), eventOf(to));
  return std::llround(double(milliseconds) * 1e6);
}

Status GpuStreams::beginCapture(enqueued::Stream &stream) {
  PP_TRY(*gpu, cuStreamBeginCapture, handleOf(stream),
         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  return {};
}

Expected<std::unique_ptr<const enqueued::Graph>>
GpuStreams::endCapture(enqueued::Stream &stream) {
  CUgraph graph = nullptr;
  PP_TRY(*gpu, cuStreamEndCapture, handleOf(stream), &graph);
  CUgraphExec execution = nullptr;
  const Status made =
      gpu->check(gpu->driver.cuGraphInstantiateWithFlags(&execution, graph, 0),
                 "cuGraphInstantiateWithFlags");
  const Status freed =
      gpu->check(gpu->driver.cuGraphDestroy(graph), "cuGraphDestroy");
  if (!made.ok())
    return made;
  auto result = std::make_unique<GpuGraph>(gpu, execution);
  if (!freed.ok())
    return freed;
  return std::unique_ptr<const enqueued::Graph>(std::move(result));
}

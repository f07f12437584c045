//===- CallsStream.cpp - streams, events, graphs --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A handle is the address of what it stands for, and looked up before it is
// used: one that was destroyed is refused.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>

using namespace emulated;

template <typename Handle, typename Live>
static auto &find(Handle handle, Live &live, const char *what) {
  const auto found = live.find(handle);
  if (found == live.end())
    notModelled(std::string(what) + " that is not there");
  return *found->second;
}

Stream &emulated::streamOf(CUstream handle) {
  return find(handle, machine->streams, "a stream");
}

Event &emulated::eventOf(CUevent handle) {
  return find(handle, machine->events, "an event");
}

static CUresult failureOf(const Stream &stream) {
  return machine->devices[stream.device].failure;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags,
                                    int priority) {
  PP_BEGIN(Call::context)
  // A blocking stream and the legacy stream wait for each other; nobody uses
  // it.
  auto stream = machine->makeStream(currentDevice()->ordinal);
  *handle = reinterpret_cast<CUstream>(stream.get());
  machine->streams[*handle] = std::move(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (stream.capture)
    fault("the host destroys a stream that is in a capture");
  const std::shared_ptr<Stream> keep = machine->streams[handle];
  machine->streams.erase(handle);
  machine->retire(keep);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (const CUresult refused = refuseWhileCaptured(stream))
    return refused;
  machine->finish(stream.last);
  return failureOf(stream);
}

CUresult cuStreamQuery(CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (const CUresult refused = refuseWhileCaptured(stream))
    return refused;
  machine->answer(stream.patience, stream.last);
  if (stream.last && !stream.last->hasEnded)
    return CUDA_ERROR_NOT_READY;
  if (stream.last)
    machine->learn(*stream.last);
  return failureOf(stream);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle,
                           unsigned flags) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  Event &event = eventOf(eventHandle);
  if (flags != 0)
    notModelled("cuStreamWaitEvent with flags");
  if (stream.capture || event.capture)
    return waitCaptured(stream, event);
  if (event.record)
    machine->wait(stream, event.record);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  PP_BEGIN(Call::context)
  auto event = std::make_unique<Event>();
  event->isTimed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *handle = reinterpret_cast<CUevent>(event.get());
  machine->events[*handle] = std::move(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  PP_BEGIN(Call::context)
  Event &event = eventOf(handle);
  Stream &stream = streamOf(streamHandle);
  if (stream.capture)
    return recordCaptured(stream, event);
  Work work;
  work.what = "cuEventRecord";
  machine->submit(stream, std::move(work));
  event.record = stream.last;
  event.capture = nullptr;
  return CUDA_SUCCESS;
}

/// An event of a capture has no time at which it comes.
static CUresult refuseCaptured(Event &event) {
  if (!event.capture)
    return refuseUnsafe();
  event.capture->isInvalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult cuEventQuery(CUevent handle) {
  PP_BEGIN(Call::context)
  Event &event = eventOf(handle);
  if (const CUresult refused = refuseCaptured(event))
    return refused;
  if (!event.record)
    return CUDA_SUCCESS;
  machine->answer(event.patience, event.record);
  if (!event.record->hasEnded)
    return CUDA_ERROR_NOT_READY;
  machine->learn(*event.record);
  return machine->devices[event.record->device].failure;
}

#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float *milliseconds, CUevent begin,
                                       CUevent end) {
  PP_BEGIN(Call::context)
  const Event &first = eventOf(begin), &last = eventOf(end);
  for (const Event *event : {&first, &last})
    if (!event->isTimed || !event->record || !event->record->hasEnded)
      return CUDA_ERROR_INVALID_HANDLE;
  // A piece takes a microsecond.
  *milliseconds =
      (float(last.record->endedAt) - float(first.record->endedAt)) / 1000;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle) {
  PP_BEGIN(Call::context)
  return machine->events.erase(handle) ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_HANDLE;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  PP_BEGIN(Call::context)
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    notModelled("a capture that other threads notice");
  return beginCapture(streamOf(handle));
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *result) {
  Call call(__func__, Call::context);
  Stream &stream = streamOf(handle);
  *result = nullptr;
  std::unique_ptr<Graph> graph;
  // One that fails ends the capture, too.
  if (call.result) {
    if (stream.capture)
      (void)endCapture(stream, graph);
    return call.result;
  }
  if (const CUresult refused = endCapture(stream, graph))
    return refused;
  *result = reinterpret_cast<CUgraph>(graph.get());
  machine->graphs[*result] = std::move(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph handle,
                                     unsigned long long flags) {
  PP_BEGIN(Call::context)
  if (flags != 0)
    notModelled("cuGraphInstantiateWithFlags with flags");
  machine->waitForDevices();
  auto execution = std::make_unique<Execution>();
  execution->graph = find(handle, machine->graphs, "a graph");
  for (const Node &node : execution->graph.nodes)
    while (execution->components.size() <= node.stream)
      execution->components.push_back(machine->makeComponent());
  *result = reinterpret_cast<CUgraphExec>(execution.get());
  machine->executions[*result] = std::move(execution);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(streamHandle);
  if (stream.capture)
    notModelled("cuGraphLaunch in a capture");
  return machine->launch(find(handle, machine->executions, "a graph"), stream);
}

// These free although they fail: what they tell is of other calls.

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  const Call call(__func__, Call::context);
  return machine->executions.erase(handle) ? call.result
                                           : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroy(CUgraph handle) {
  const Call call(__func__, Call::context);
  return machine->graphs.erase(handle) ? call.result : CUDA_ERROR_INVALID_VALUE;
}

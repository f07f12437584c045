//===- Capture.cpp - work that is noted instead of done -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Results are those that cuda.h tells of CUDA_ERROR_STREAM_CAPTURE_*.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <utility>

using namespace emulated;

static CUresult invalidate(Capture &capture, CUresult result) {
  capture.isInvalid = true;
  return result;
}

CUresult emulated::beginCapture(Stream &stream) {
  if (stream.capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->thread = std::this_thread::get_id();
  capture->graph.device = stream.device;
  capture->members = {&stream};
  stream.capture = capture;
  stream.ends.clear();
  machine->captures.insert(capture);
  return CUDA_SUCCESS;
}

/// Whether every node comes before the next one of `stream`.
static bool isJoined(const Capture &capture, const Stream &stream) {
  std::vector<bool> isBefore(capture.graph.nodes.size());
  for (const uint32_t end : stream.ends)
    isBefore[end] = true;
  for (size_t i = isBefore.size(); i-- > 0;)
    if (isBefore[i])
      for (const uint32_t other : capture.graph.nodes[i].after)
        isBefore[other] = true;
  return std::all_of(isBefore.begin(), isBefore.end(),
                     [](bool value) { return value; });
}

CUresult emulated::endCapture(Stream &stream, std::unique_ptr<Graph> &graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream)
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->thread != std::this_thread::get_id())
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = isJoined(*capture, stream);
  for (Stream *member : capture->members) {
    member->capture = nullptr;
    member->ends.clear();
  }
  machine->captures.erase(capture);
  if (capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = std::make_unique<Graph>(std::move(capture->graph));
  return CUDA_SUCCESS;
}

CUresult emulated::addNode(Stream &stream, Work work) {
  Capture &capture = *stream.capture;
  if (capture.isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const auto member =
      std::find(capture.members.begin(), capture.members.end(), &stream);
  work.failure = std::exchange(machine->lateFailure, CUDA_SUCCESS);
  capture.graph.nodes.push_back({std::move(work),
                                 uint32_t(member - capture.members.begin()),
                                 stream.ends});
  stream.ends = {uint32_t(capture.graph.nodes.size() - 1)};
  return CUDA_SUCCESS;
}

CUresult emulated::recordCaptured(Stream &stream, Event &event) {
  if (stream.capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.capture = stream.capture;
  event.ends = stream.ends;
  return CUDA_SUCCESS;
}

CUresult emulated::waitCaptured(Stream &stream, Event &event) {
  // An event of no capture orders a node with what is outside of the graph.
  if (!event.capture)
    return invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  // One of a capture that has ended stands for nothing that can be waited for.
  if (machine->captures.count(event.capture) == 0) {
    if (stream.capture)
      invalidate(*stream.capture, CUDA_SUCCESS);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (event.capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.ends.clear();
    auto &members = event.capture->members;
    if (std::find(members.begin(), members.end(), &stream) == members.end())
      members.push_back(&stream);
  } else if (stream.capture != event.capture) {
    invalidate(*event.capture, CUDA_SUCCESS);
    return invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  for (const uint32_t end : event.ends)
    if (std::find(stream.ends.begin(), stream.ends.end(), end) ==
        stream.ends.end())
      stream.ends.push_back(end);
  return CUDA_SUCCESS;
}

CUresult emulated::refuseWhileCaptured(Stream &stream) {
  if (stream.capture)
    return invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return refuseUnsafe();
}

CUresult emulated::refuseUnsafe() {
  CUresult result = CUDA_SUCCESS;
  for (const auto &capture : machine->captures)
    if (capture->thread == std::this_thread::get_id())
      result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return result;
}

CUresult emulated::refuseWhileAnyCaptured() {
  CUresult result = CUDA_SUCCESS;
  for (const auto &capture : machine->captures)
    result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return result;
}

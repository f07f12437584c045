//===- Capture.h - work that is noted instead of done -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A stream in a capture gives its work to it as nodes. A wait for an event that
// was recorded in the capture brings another stream in; a wait of the stream in
// which it began brings it back. What may not be done meanwhile invalidates the
// capture, which then says so at its end.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_CAPTURE_H
#define PP_TEST_GPU_CUDA_CAPTURE_H

#include "Machine.h"

namespace emulated {

struct Capture {
  Stream *origin = nullptr;
  std::thread::id thread; ///< that began it
  bool isInvalid = false;
  Graph graph;
  std::vector<Stream *> members; ///< a node's `stream` is an index of these
};

CUresult beginCapture(Stream &stream);
CUresult endCapture(Stream &stream, std::unique_ptr<Graph> &graph);
/// Adds a node behind what the stream has given to its capture.
CUresult addNode(Stream &stream, Work work);
/// A record or a wait in which a capture takes part.
CUresult recordCaptured(Stream &stream, Event &event);
CUresult waitCaptured(Stream &stream, Event &event);
/// A call that waits for the stream, or asks whether it has ended.
CUresult refuseWhileCaptured(Stream &stream);
/// A call that a thread may not make while it captures.
CUresult refuseUnsafe();
/// Whatever waits for a whole device.
CUresult refuseWhileAnyCaptured();

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_CAPTURE_H

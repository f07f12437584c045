//===- Streams.h - a device whose streams run behind the host ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What such a device adds to Device.h. Its streams return at once, and do in
// order what each was given; between two streams there is no order but that of
// events. What a stream does with memory of the host is done when an event has
// come that was recorded after it.
//
// A stream may also be recorded: what it is given meanwhile, it and streams
// that wait for its events, is not done but kept, and played later, as often as
// wanted, by one call.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_STREAMS_H
#define PPRT_ENGINE_ENQUEUED_STREAMS_H

#include "../Device.h"
#include "pprt/CommOps.h"

namespace pprt::enqueued {

/// A place in a stream; the device's own.
class Event {
public:
  virtual ~Event() = default;
};

/// What was recorded; the device's own.
class Graph {
public:
  virtual ~Graph() = default;
};

/// Of what it is given, write() and read() want the host's side in
/// hostMemory().
class Stream : public pprt::Stream {
public:
  virtual Status read(void *to, const std::byte *from, uint64_t bytes) = 0;
  /// The event comes when all is done that the stream was given so far.
  virtual Status record(Event &event) = 0;
  /// What the stream is given from now on waits for the event as it was
  /// recorded last, by whatever stream.
  virtual Status wait(const Event &event) = 0;
  virtual Status launchGraph(const Graph &graph) = 0;
};

/// A move of a comm op (pprt/CommOps.h) with the memory of its parts.
struct BoundMove {
  Region region;
  ppx::ElementType element;
  ppx::Reduction reduction;
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> targets;
};

class Streams {
public:
  virtual ~Streams() = default;

  /// Before the first of the other calls on a thread, of streams too.
  virtual Status makeCurrent() = 0;
  /// `isUrgent`: where both could begin, what it was given goes before that of
  /// others, which others elsewhere may wait for.
  virtual Expected<std::unique_ptr<Stream>> makeStream(bool isUrgent) = 0;
  /// `isTimed`: that elapsed() is asked of it.
  virtual Expected<std::unique_ptr<Event>> makeEvent(bool isTimed) = 0;
  /// That the device reads and writes at once.
  virtual Expected<std::unique_ptr<Memory>> hostMemory(uint64_t bytes) = 0;

  /// Whether it has come since it was recorded last. Fails if anything did that
  /// the device was given.
  virtual Expected<bool> query(const Event &event) = 0;
  /// Returns when nothing is at work any more, whatever became of it.
  virtual void drain() = 0;
  /// Nanoseconds between two that have come.
  virtual Expected<int64_t> elapsed(const Event &from, const Event &to) = 0;

  /// Makes a launch of a move between parts that are all on this device.
  virtual Expected<std::unique_ptr<const Launch>>
  bind(const BoundMove &move) = 0;
  /// Whether a stream that is recorded takes launches of it.
  virtual bool isCapturable(const ppx::KernelT &kernel, bool isGated) const = 0;
  virtual Status beginCapture(Stream &stream) = 0;
  /// All that waited for the stream has been waited for by it again.
  virtual Expected<std::unique_ptr<const Graph>> endCapture(Stream &stream) = 0;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_STREAMS_H

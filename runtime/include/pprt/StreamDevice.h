//===- StreamDevice.h - a device whose streams run behind the host -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// What such a device adds to pprt/Device.h. Its streams return at once, and do
// in order what each was given; between two streams there is no order but that
// of events. What a stream does with memory of the host is done when an event
// has come that was recorded after it.
//
// A stream may also be recorded: what it is given meanwhile, it and streams
// that wait for its events, is not done but kept, and played later, as often as
// wanted, by one call.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_STREAMDEVICE_H
#define PPRT_STREAMDEVICE_H

#include "pprt/Device.h"

#pragma GCC visibility push(default)
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

/// How ranks on several such devices meet: each gives its part of a comm op to
/// one of its streams, where it comes behind what the stream was given before.
/// That all ranks give theirs in an order that ends is the executor's affair
/// (pprt/IssueOrder.h).
///
/// The order of calls: limit(), prepare() for every member that this process
/// has, connect(), then in each section begin() and enqueue(), of one rank from
/// one thread; poll() and abort() from any. abort() ends no stream: leave()
/// does.
class StreamTransport : public Transport {
public:
  /// How long the host may wait inside of enqueue() for members elsewhere, as
  /// where these are found only then: `seconds`, 0 for ever; less if
  /// `isInterrupted`, which may be empty.
  virtual void limit(double seconds, std::function<bool()> isInterrupted) = 0;
  /// What the rank enqueues from now on waits for nothing that it was given
  /// before: all of that has ended, or its streams wait for it. So it is at the
  /// begin of a section, of a graph, and behind one.
  virtual void begin(uint32_t rank) = 0;
  /// The rank's part of the comm op.
  virtual Status enqueue(Ticket ticket, Stream &stream) = 0;
  /// After abort(), of each rank once, from one thread each: ends what its
  /// streams wait for. None of its graphs is there any more.
  virtual void leave(uint32_t rank) = 0;
};

/// Its streams run behind the host.
class StreamDevice : public Device {
public:
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
  bindMove(const BoundMove &move) = 0;
  /// Whether a stream that is recorded takes launches of it.
  virtual bool isCapturable(const ppx::KernelT &kernel, bool isGated) const = 0;
  virtual Status beginCapture(Stream &stream) = 0;
  /// All that waited for the stream has been waited for by it again.
  virtual Expected<std::unique_ptr<const Graph>> endCapture(Stream &stream) = 0;

  /// How ranks on such devices meet, in a world; null if all of them are on
  /// this one. Collective, as the world's calls.
  virtual Expected<std::unique_ptr<StreamTransport>>
  transport(World &world, uint32_t ranks) = 0;
};

} // namespace pprt::enqueued
#pragma GCC visibility pop

#endif // PPRT_STREAMDEVICE_H

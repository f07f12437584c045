//===- StreamDevice.h - a device with asynchronous streams ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Additions of such a device to pprt/Device.h. Calls of its streams return at
// once; a stream executes its commands in order, and only events order commands
// of different streams. A stream's accesses to host memory are done when an
// event recorded after them has come.
//
// A stream may also be recorded: commands given meanwhile to it and to streams
// that wait for its events are kept instead of executed, and one call plays
// them later, any number of times.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_STREAMDEVICE_H
#define PPRT_STREAMDEVICE_H

#include "pprt/Device.h"

#pragma GCC visibility push(default)
namespace pprt::enqueued {

/// A position in a stream; the device's own.
class Event {
public:
  virtual ~Event() = default;
};

/// A recording; the device's own.
class Graph {
public:
  virtual ~Graph() = default;
};

/// The host side of write() and read() must be in hostMemory().
class Stream : public pprt::Stream {
public:
  virtual Status read(void *to, const std::byte *from, uint64_t bytes) = 0;
  /// Records an event that comes when all commands so far are done.
  virtual Status record(Event &event) = 0;
  /// Makes all later commands of the stream wait for the last recording of the
  /// event, by any stream.
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

/// The transport between ranks on several such devices: each rank enqueues its
/// part of a comm op on one of its streams, behind the stream's earlier
/// commands. The executor ensures that all ranks enqueue in an order that ends
/// (pprt/IssueOrder.h).
///
/// The order of calls: limit(), prepare() for every member that this process
/// has, connect(), then in each section begin() and enqueue(), for one rank
/// from one thread; poll() and abort() from any. abort() ends no stream:
/// leave() does.
class StreamTransport : public Transport {
public:
  /// Limits how long the host may wait in enqueue() for members elsewhere, for
  /// transports that connect only then: `seconds`, 0 for ever; less if
  /// `isInterrupted`, which may be empty.
  virtual void limit(double seconds, std::function<bool()> isInterrupted) = 0;
  /// Commands that the rank enqueues from now on wait for no earlier command:
  /// all of those have ended, or its streams wait for them. Called at the begin
  /// of a section and of a graph, and behind a graph.
  virtual void begin(uint32_t rank) = 0;
  /// Enqueues the rank's part of the comm op.
  virtual Status enqueue(Ticket ticket, Stream &stream) = 0;
  /// Called after abort(), once per rank, from one thread each: ends what its
  /// streams wait for. All of its graphs are destroyed by then.
  virtual void leave(uint32_t rank) = 0;
};

/// A device whose streams run asynchronously to the host.
class StreamDevice : public Device {
public:
  /// Must precede all other calls on a thread, including those of streams.
  virtual Status makeCurrent() = 0;
  /// `isUrgent`: its commands go before those of other streams when both could
  /// begin, because ranks elsewhere may wait for them.
  virtual Expected<std::unique_ptr<Stream>> makeStream(bool isUrgent) = 0;
  /// `isTimed`: whether elapsed() will be called on it.
  virtual Expected<std::unique_ptr<Event>> makeEvent(bool isTimed) = 0;
  /// Allocates host memory that the device reads and writes directly.
  virtual Expected<std::unique_ptr<Memory>> hostMemory(uint64_t bytes) = 0;

  /// Whether the event has come since its last recording. Fails if any command
  /// of the device failed.
  virtual Expected<bool> query(const Event &event) = 0;
  /// Returns when the device is idle, even after failures.
  virtual void drain() = 0;
  /// Returns the nanoseconds between two events that have come.
  virtual Expected<int64_t> elapsed(const Event &from, const Event &to) = 0;

  /// Makes a launch of a move whose parts are all on this device.
  virtual Expected<std::unique_ptr<const Launch>>
  bindMove(const BoundMove &move) = 0;
  /// Whether launches of the kernel can be recorded.
  virtual bool isCapturable(const ppx::KernelT &kernel, bool isGated) const = 0;
  virtual Status beginCapture(Stream &stream) = 0;
  /// Assumes that the stream waits for all streams that waited for it.
  virtual Expected<std::unique_ptr<const Graph>> endCapture(Stream &stream) = 0;

  /// Makes the transport between ranks on such devices, in a world; null if
  /// this device has all of them. Collective, like the world's calls.
  virtual Expected<std::unique_ptr<StreamTransport>>
  transport(World &world, uint32_t ranks) = 0;
};

} // namespace pprt::enqueued
#pragma GCC visibility pop

#endif // PPRT_STREAMDEVICE_H

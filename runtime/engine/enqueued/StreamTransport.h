//===- StreamTransport.h - comm ops that streams carry out ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// How ranks on several devices meet: each gives its part of a comm op to one of
// its streams, where it comes behind what the stream was given before. That all
// ranks give theirs in an order that ends is the executor's affair
// (pprt/IssueOrder.h).
//
// The order of calls: limit(), prepare() for every member that this process
// has, connect(), then in each section begin() and enqueue(), of one rank from
// one thread; poll() and abort() from any. abort() ends no stream: leave()
// does.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_STREAMTRANSPORT_H
#define PPRT_ENGINE_ENQUEUED_STREAMTRANSPORT_H

#include "../Transport.h"
#include "Streams.h"

#include <functional>

namespace pprt::enqueued {

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

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_STREAMTRANSPORT_H

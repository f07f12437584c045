//===- WaitingStream.h - a stream that has done what it returns from -*- C++ -//
//
// SPDX-License-Identifier: Apache-2.0
//
// For tests of devices of either kind: what runs behind the host is waited for,
// call by call.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_WAITINGSTREAM_H
#define PP_TEST_RUNTIME_WAITINGSTREAM_H

#include "engine/enqueued/Streams.h"

namespace pprt::test {

class WaitingStream final : public Stream {
public:
  static Expected<std::unique_ptr<Stream>> make(Device &device, Memory &arena,
                                                AllocationCounter &heap) {
    auto made = device.stream(arena, heap);
    enqueued::Streams *streams = device.streams();
    if (!made || !streams)
      return made;
    auto event = streams->makeEvent(/*isTimed=*/false);
    if (!event)
      return event.status();
    return std::unique_ptr<Stream>(
        new WaitingStream(*streams, std::move(*made), std::move(*event)));
  }

  Status launch(const Launch &launch) override {
    return finish(stream->launch(launch));
  }
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override {
    return finish(stream->copy(to, from, bytes));
  }
  Status flag(const std::vector<Values> &values, std::byte *flag) override {
    return finish(stream->flag(values, flag));
  }
  Status write(std::byte *to, const void *from, uint64_t bytes) override {
    return finish(stream->write(to, from, bytes));
  }

private:
  WaitingStream(enqueued::Streams &streams, std::unique_ptr<Stream> stream,
                std::unique_ptr<enqueued::Event> event)
      : streams(streams), stream(std::move(stream)), event(std::move(event)) {}

  Status finish(Status status) {
    if (status.ok())
      status = static_cast<enqueued::Stream &>(*stream).record(*event);
    while (status.ok()) {
      Expected<bool> isComplete = streams.query(*event);
      if (!isComplete || *isComplete)
        return isComplete.status();
    }
    return status;
  }

  enqueued::Streams &streams;
  const std::unique_ptr<Stream> stream;
  const std::unique_ptr<enqueued::Event> event;
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_WAITINGSTREAM_H

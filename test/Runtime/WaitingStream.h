//===- WaitingStream.h - a stream that has done what it returns from -*- C++ -//
//
// SPDX-License-Identifier: Apache-2.0
//
// For tests of devices of either kind: waits for asynchronous streams after
// every call.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_WAITINGSTREAM_H
#define PP_TEST_RUNTIME_WAITINGSTREAM_H

#include "pprt/StreamDevice.h"

namespace pprt::test {

class WaitingStream final : public Stream {
public:
  static Expected<std::unique_ptr<Stream>> make(Device &device, Memory &arena,
                                                AllocationCounter &heap) {
    if (auto *polled = dynamic_cast<PolledDevice *>(&device))
      return polled->stream(arena, heap);
    auto &its = dynamic_cast<enqueued::StreamDevice &>(device);
    auto made = its.makeStream(/*isUrgent=*/false);
    auto event = its.makeEvent(/*isTimed=*/false);
    if (!made || !event)
      return made ? event.status() : made.status();
    return std::unique_ptr<Stream>(
        new WaitingStream(its, std::move(*made), std::move(*event)));
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
  WaitingStream(enqueued::StreamDevice &device,
                std::unique_ptr<enqueued::Stream> stream,
                std::unique_ptr<enqueued::Event> event)
      : device(device), stream(std::move(stream)), event(std::move(event)) {}

  Status finish(Status status) {
    if (status.ok())
      status = stream->record(*event);
    while (status.ok()) {
      Expected<bool> isComplete = device.query(*event);
      if (!isComplete || *isComplete)
        return isComplete.status();
    }
    return status;
  }

  enqueued::StreamDevice &device;
  const std::unique_ptr<enqueued::Stream> stream;
  const std::unique_ptr<enqueued::Event> event;
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_WAITINGSTREAM_H

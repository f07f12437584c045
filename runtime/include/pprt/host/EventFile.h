//===- EventFile.h - steps for TensorBoard ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file of TensorFlow's events, written without TensorFlow: records with
// checksums (TFRecord), each an Event of tensorflow/core/util/event.proto. A
// step becomes one event with a scalar for each number of the step.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_EVENTFILE_H
#define PPRT_HOST_EVENTFILE_H

#include "pprt/host/StepSink.h"

#include <memory>

#pragma GCC visibility push(default)
namespace pprt::host {

class EventFile final : public StepSink {
public:
  /// Creates a file of a new name in `folder`, and the folder. Its first step
  /// replaces that step and all later ones of older files there, so that a run
  /// that goes on has one curve. Fails (io) if that is impossible.
  static Expected<std::unique_ptr<EventFile>> create(const std::string &folder);
  ~EventFile() override;

  Status add(const StepReport &step) override;
  Status finish() override { return {}; }
  std::string file() const override { return path; }

private:
  EventFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  Status write(const std::string &event);

  std::string path;
  int descriptor;
  bool isEmpty = true; ///< without steps
};

/// CRC-32C (Castagnoli), as iSCSI has it.
uint32_t crc32c(const std::string &bytes);

/// A record: length, data, and a masked checksum of each.
std::string frameRecord(const std::string &data);

/// The Event of a step; `wallTime` in seconds since 1970.
std::string printEvent(const StepReport &step, double wallTime);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_EVENTFILE_H

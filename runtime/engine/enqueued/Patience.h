//===- Patience.h - how long a process waits for its devices ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what each of a process's devices waits for, reported repeatedly by its
// thread. Out: whether it should go on waiting. A device that waits for another
// one, here or in another process, waits as long as that computes: a wait ends
// (hang, interrupted) when nothing has moved or computed anywhere for long.
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_PATIENCE_H
#define PPRT_ENGINE_ENQUEUED_PATIENCE_H

#include "../Limits.h"
#include "pprt/StreamDevice.h"

#include <mutex>

namespace pprt::enqueued {

class Patience final : public Watched {
public:
  struct Wait {
    int64_t step = 0;
    double idle = 0; ///< seconds in which nothing has moved or computed
    /// A graph shows no progress before its end: that is no hang.
    bool isCaptured = false;
    std::string text; ///< uncompleted commands, for the report
  };

  /// `transport`: the transport to other devices; may be null.
  Patience(size_t devices, Limits limits,
           const std::shared_ptr<StreamTransport> &transport)
      : limits(std::move(limits)), transport(transport), places(devices) {}

  // Called by a device's thread, for one wait at a time.
  void begin(size_t device);
  void end(size_t device);
  /// Returns ok if the wait may go on, else the reason to end it.
  Status goOn(size_t device, Wait wait);

  Standstill standstill(uint64_t section) override;
  void end(ExitCode why, double seconds,
           const std::vector<std::vector<std::byte>> &all) override;

private:
  struct Place {
    uint64_t section = 0; ///< number of its waits
    bool waits = false;
    Wait wait; ///< the last one reported
  };

  const Limits limits;
  /// Weak: the last owner of this object may be the transport's own thread.
  const std::weak_ptr<StreamTransport> transport;
  std::mutex mutex;
  std::vector<Place> places; ///< by device
  Status failure;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_PATIENCE_H

//===- StepServer.h - the last step for Prometheus --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Answers GET /metrics over HTTP with the numbers of the last step, in the text
// format of Prometheus. One thread answers one reader after another, each
// within two seconds and from a request of bounded length, so that no reader
// can hold up others for long, or the run at all.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_STEPSERVER_H
#define PPRT_HOST_STEPSERVER_H

#include "pprt/host/StepSink.h"

#include <memory>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace pprt::host {

struct Endpoint {
  std::string host = "127.0.0.1"; ///< a name or an address
  uint16_t port = 0;              ///< 0: any that is free
};

/// Reads `[HOST:]PORT`; an IPv6 address is in brackets.
std::optional<Endpoint> parseEndpoint(std::string_view text);

/// What a run is about to do.
struct RunGoal {
  std::string itemName = "items"; ///< "tokens" or "samples"
  uint64_t steps = 0;
};

/// The text of /metrics; `step` is null before the first one.
std::string printForPrometheus(const StepReport *step, const RunGoal &goal);

class StepServer final : public StepSink {
public:
  /// Answers from now on. Fails (usage) if the host is not known or the port
  /// not free.
  static Expected<std::unique_ptr<StepServer>> listen(const Endpoint &endpoint);
  /// Does not wait for readers.
  ~StepServer() override;

  /// `http://127.0.0.1:9100/metrics`
  std::string address() const;
  void setGoal(const RunGoal &goal);

  Status add(const StepReport &step) override;
  Status finish() override { return {}; }
  std::string file() const override { return ""; }

private:
  struct [[gnu::visibility("hidden")]] State;
  explicit StepServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_STEPSERVER_H

//===- Sinks.h - all that shows a run while it lasts ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the steps of a run, in process 0. Out: --metrics, --tensorboard, --plot
// and --listen. One that fails is told at once, unless --quiet, and left out
// from then on; the run goes on, and fails at its end.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SINKS_H
#define PP_RUN_SINKS_H

#include "Options.h"
#include "pprt/Session.h"
#include "pprt/host/StepServer.h"
#include "pprt/host/StepSink.h"

#include <memory>
#include <vector>

namespace pp::run {

class Sinks {
public:
  /// The server of --listen, which answers already while the program is
  /// compiled. Fails (usage) if it cannot.
  pprt::Status listen(const Options &options);
  /// Creates the files, and gives them the steps of an earlier run from its
  /// `lines` of --metrics.
  pprt::Status open(const Options &options,
                    const pprt::ppx::ArtifactT &artifact,
                    const std::string &lines);
  bool empty() const { return its.empty(); }

  void add(const pprt::host::StepReport &step);
  /// After the last step. Returns all failures.
  pprt::Status finish();
  /// The files that are whole.
  std::vector<std::string> files() const;

private:
  using Call = pprt::Status (*)(pprt::host::StepSink &,
                                const pprt::host::StepReport *);
  /// Leaves out those that fail, and returns why.
  pprt::Status call(Call call, const pprt::host::StepReport *step);

  std::vector<std::unique_ptr<pprt::host::StepSink>> its;
  pprt::host::StepServer *server = nullptr; ///< one of them
  pprt::Status failure;
  bool isQuiet = false;
};

/// Whether a session's steps are measured in "tokens", as those of a language
/// model, or in "samples".
const char *itemName(const pprt::ppx::ArtifactT &artifact);

} // namespace pp::run

#endif // PP_RUN_SINKS_H

//===- Verify.h - the partitioned program against the model -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs three things side by side on the same values and batches: the program,
// which returns losses and updated parameters; a twin that also returns every
// gradient; and a judge, the unpartitioned model.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_VERIFY_H
#define PP_RUN_VERIFY_H

#include "Compile.h"
#include "Options.h"
#include "pprt/World.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Checkpoint.h"
#include "pprt/host/Compare.h"
#include "pprt/host/Report.h"
#include "pprt/host/SafeTensors.h"

#include <map>
#include <ostream>
#include <string>

namespace pp::run {

/// The start of every session of a run.
struct Start {
  const Options &options;
  const pprt::host::Batches &batches;
  /// Null: the parameters' initializers.
  const pprt::host::SafeTensors *parameters = nullptr;
  /// Where the run goes on; null: it begins.
  pprt::host::Checkpoint *checkpoint = nullptr;
  /// The processes that share it; null: this one alone.
  std::shared_ptr<pprt::World> world = nullptr;
  /// Whether the other processes repeat the calls of process 0 to its sessions.
  bool leads = false;
  /// The judge of another device runs on processors.
  bool judges = false;
  /// Whose parameters and states the run begins with, as an alternative to a
  /// file and a checkpoint; null: none.
  const pprt::Session *from = nullptr;
};

/// A new session of `program`, without values.
pprt::Expected<std::unique_ptr<pprt::Session>>
createSession(const Compiled &program, const Start &start);

/// A new session of `program` with its initial values, after its setup.
pprt::Expected<std::unique_ptr<pprt::Session>>
startSession(const Compiled &program, const Start &start);

/// Sets the parameters and states with which the run begins. Collective.
pprt::Status setInitial(pprt::Session &session, const Start &start);

/// The number of steps done before.
uint64_t stepsBefore(const Start &start);

/// The two sides of a comparison.
struct Compared {
  /// The source of the program; null for an artifact.
  SourceModule *module;
  /// The reference of the module, if it is still a model; null: itself.
  SourceModule *reference;
  const Compiled &program;
};

/// Compares the first steps and prints a table to `out` unless told to be
/// quiet. A difference is no failure here; the report has it.
pprt::Expected<pprt::host::VerifyReport>
verify(const Compared &compared, const Start &start, std::ostream &out);

/// Whether two programs compute the same step, however partitioned: equal
/// names, roles, element types and shapes of arguments, equal metrics. Fails
/// (usage) with the first difference.
pprt::Status matchReference(const pprt::ppx::ArtifactT &program,
                            const pprt::ppx::ArtifactT &reference);

/// Whether the parameters of a model, by name, have the types of the program's.
/// Comes before the plan, which may be for these types only.
pprt::Status matchParameters(const pprt::ppx::ArtifactT &program,
                             const std::map<std::string, std::string> &types);

/// The gradients of a step of Adam, computed from its first average: after the
/// step it is beta1 times `before` plus (1 - beta1) times the gradient.
pprt::host::Values gradientsOf(const pprt::host::Values &states,
                               const pprt::host::Values &before, double beta1);

/// `values` without the tensors that `other` lacks.
pprt::host::Values keepCommon(pprt::host::Values values,
                              const pprt::host::Values &other);

} // namespace pp::run

#endif // PP_RUN_VERIFY_H

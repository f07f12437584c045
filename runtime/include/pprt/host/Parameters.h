//===- Parameters.h - values into and out of a session ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reconciles files of parameters with sessions: names, types and the shapes
// that other frameworks' files have. Files hold whole tensors of the model, its
// parameters and states, whatever the partition. They hold nothing of the
// optimizer, so a run cannot resume where another one ended.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_PARAMETERS_H
#define PPRT_HOST_PARAMETERS_H

#include "pprt/Session.h"
#include "pprt/host/SafeTensors.h"

#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Sets every parameter, and every state of the model that `file` has, to the
/// value under that name. Ignores tensors of other names.
Status loadParameters(const SafeTensors &file, Session &session);

/// Fails (badParameters) if saveParameters() to `path` could not name every
/// parameter. Needs no session, so it can be called beforehand.
Status checkSavable(const std::string &path, const ppx::ArtifactT &artifact);

/// Writes every parameter and state of the model, whole, in the shape of other
/// frameworks. Process 0 calls it while the others call giveParameters().
Status saveParameters(const std::string &path, const Session &session);
Status giveParameters(const Session &session);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_PARAMETERS_H

//===- Parameters.h - values into and out of a session ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What files of parameters and sessions know of each other: names, types and
// the shapes that other frameworks' files have. Files hold whole tensors of the
// model, its parameters and states, whatever the partition; nothing of the
// optimizer, so that no run goes on where another one ended.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_PARAMETERS_H
#define PPRT_HOST_PARAMETERS_H

#include "pprt/Session.h"
#include "pprt/host/SafeTensors.h"

#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Gives every parameter, and every state of the model that `file` has, the
/// value that it has under that name. Tensors of other names are left alone.
Status loadParameters(const SafeTensors &file, Session &session);

/// Fails (badParameters) if saveParameters() to `path` could not name every
/// parameter: without a session, so that it is known beforehand.
Status checkSavable(const std::string &path, const ppx::ArtifactT &artifact);

/// Writes every parameter and state of the model, whole and in the shape that
/// other frameworks know. Of several processes the first does, while the others give what they have.
Status saveParameters(const std::string &path, const Session &session);
Status giveParameters(const Session &session);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_PARAMETERS_H

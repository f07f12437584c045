//===- Parameters.h - values into and out of a session ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What files of parameters and sessions know of each other: names, types and
// the shapes that checkpoints have. Files hold whole tensors, whatever the
// partition.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_PARAMETERS_H
#define PP_RUN_PARAMETERS_H

#include "SafeTensors.h"
#include "pprt/Session.h"

#include <string>

namespace pp::run {

/// Gives every parameter the value that `file` has under its name. Tensors of
/// other names are left alone.
pprt::Status loadParameters(const SafeTensors &file, pprt::Session &session);

/// Fails (badParameters) if saveParameters() to `path` could not name every
/// parameter: without a session, so that it is known beforehand.
pprt::Status checkSavable(const std::string &path,
                          const pprt::ppx::ArtifactT &artifact);

/// Writes every parameter, whole and in the shape that checkpoints know.
pprt::Status saveParameters(const std::string &path,
                            const pprt::Session &session);

} // namespace pp::run

#endif // PP_RUN_PARAMETERS_H

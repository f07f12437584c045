//===- Parameters.cpp - values into and out of a session ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Parameters.h"

#include <vector>

using namespace pp::run;
using namespace pprt;

static std::vector<uint32_t> parametersOf(const ppx::ArtifactT &artifact) {
  std::vector<uint32_t> parameters;
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i)
    if (artifact.arguments[i]->role == ppx::Role_param)
      parameters.push_back(i);
  return parameters;
}

/// What checkpoints know: a parameter's type may split their dimensions.
static const std::vector<uint64_t> &
storedShape(const ppx::ArgumentT &argument) {
  return argument.stored_shape.empty() ? argument.shape : argument.stored_shape;
}

Status pp::run::loadParameters(const SafeTensors &file, Session &session) {
  std::vector<std::byte> values;
  for (uint32_t i : parametersOf(session.artifact())) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    values.resize(session.argumentBytes(i));
    if (Status status = file.read(argument.name, argument.element,
                                  storedShape(argument), values.data());
        !status.ok())
      return status;
    if (Status status = session.setArgument(i, values.data(), values.size());
        !status.ok())
      return status;
  }
  return {};
}

Status pp::run::checkSavable(const std::string &path,
                             const ppx::ArtifactT &artifact) {
  for (uint32_t i : parametersOf(artifact))
    if (Status status = checkTensorName(path, artifact.arguments[i]->name);
        !status.ok())
      return status;
  return {};
}

Status pp::run::saveParameters(const std::string &path,
                               const Session &session) {
  const std::vector<uint32_t> parameters = parametersOf(session.artifact());
  std::vector<TensorToStore> tensors;
  for (uint32_t i : parameters) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    tensors.push_back({argument.name, argument.element, storedShape(argument)});
  }
  return writeSafeTensors(path, tensors, [&](size_t index, void *out) {
    const uint32_t argument = parameters[index];
    return session.getArgument(argument, out, session.argumentBytes(argument));
  });
}

//===- Parameters.cpp - values into and out of a session ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Parameters.h"
#include "Boxes.h"

#include "pprt/Program.h"

#include <algorithm>
#include <vector>

using namespace pprt;
using namespace pprt::host;

/// The model's parameters and states.
static std::vector<uint32_t> parametersOf(const ppx::ArtifactT &artifact) {
  std::vector<uint32_t> parameters;
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i)
    if (artifact.arguments[i]->is_models)
      parameters.push_back(i);
  return parameters;
}

/// to[i] = from[j], where dimension d of `to`, of this shape, is dimension
/// order[d] of `from`.
static void transpose(const std::vector<uint64_t> &shape,
                      const std::vector<uint32_t> &order, uint64_t width,
                      const std::byte *from, std::byte *to) {
  std::vector<uint64_t> sizes(shape.size()), strides(shape.size()),
      index(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    sizes[order[d]] = shape[d];
  uint64_t count = 1;
  for (size_t d = shape.size(); d-- > 0; count *= sizes[d])
    for (size_t e = 0; e < shape.size(); ++e)
      if (order[e] == d)
        strides[e] = count;
  for (uint64_t i = 0, at = 0; i < count; ++i) {
    std::copy_n(from + at * width, width, to + i * width);
    for (size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d])
        break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Returns the order that maps a file's dimensions to the model's.
static std::vector<uint32_t> inverse(const std::vector<uint32_t> &order) {
  std::vector<uint32_t> result(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    result[order[i]] = i;
  return result;
}

/// Returns the shape in other frameworks' files: a parameter's type may split
/// its dimensions.
static const std::vector<uint64_t> &
storedShape(const ppx::ArgumentT &argument) {
  return argument.stored_shape.empty() ? argument.shape : argument.stored_shape;
}

/// Returns `sizes` in the order of a file's dimensions.
static std::vector<uint64_t> inOrder(const std::vector<uint64_t> &sizes,
                                     const std::vector<uint32_t> &order) {
  std::vector<uint64_t> result;
  for (uint32_t dimension : order)
    result.push_back(sizes[dimension]);
  return result;
}

/// Reads elements of a parameter that the file stores in another order.
static Status readInOrder(const SafeTensors &file,
                          const ppx::ArgumentT &argument,
                          const std::vector<ElementRun> &runs) {
  if (runs.empty())
    return {};
  const std::vector<uint32_t> &order = argument.stored_order;
  const uint64_t width = elementSize(argument.element);
  const Box box = boxOf(argument.shape, runs);
  std::vector<std::byte> stored(box.elements() * width), values(stored.size());
  if (Status status = file.read(
          argument.name, argument.element, storedShape(argument),
          runsOf(inOrder(argument.shape, order),
                 {inOrder(box.first, order), inOrder(box.size, order)}, width,
                 stored.data()));
      !status.ok())
    return status;
  transpose(box.size, inverse(order), width, stored.data(), values.data());
  const std::byte *from = values.data();
  for (const ElementRun &run : runs) {
    std::copy_n(from, run.count * width, run.values);
    from += run.count * width;
  }
  return {};
}

/// Each process reads the elements that its ranks hold.
static Status loadParameter(const SafeTensors &file, uint32_t index,
                            Session &session) {
  const ppx::ArgumentT &argument = *session.artifact().arguments[index];
  return session.readArgument(index, [&](const std::vector<ElementRun> &runs) {
    return argument.stored_order.empty()
               ? file.read(argument.name, argument.element,
                           storedShape(argument), runs)
               : readInOrder(file, argument, runs);
  });
}

Status pprt::host::loadParameters(const SafeTensors &file, Session &session) {
  // Not every file has the states of the trained model.
  std::vector<uint32_t> found;
  for (uint32_t i : parametersOf(session.artifact())) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (argument.role == ppx::Role_param || file.find(argument.name))
      found.push_back(i);
  }
  // A session never gets a part of a file that does not fit.
  for (uint32_t i : found) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (Status status =
            file.expect(argument.name, argument.element, storedShape(argument));
        !status.ok())
      return status;
  }
  for (uint32_t i : found)
    if (Status status = loadParameter(file, i, session); !status.ok())
      return status;
  return {};
}

Status pprt::host::checkSavable(const std::string &path,
                                const ppx::ArtifactT &artifact) {
  for (uint32_t i : parametersOf(artifact))
    if (Status status = checkTensorName(path, artifact.arguments[i]->name);
        !status.ok())
      return status;
  return {};
}

static std::vector<TensorToStore>
tensorsOf(const ppx::ArtifactT &artifact,
          const std::vector<uint32_t> &parameters) {
  std::vector<TensorToStore> tensors;
  for (uint32_t i : parameters) {
    const ppx::ArgumentT &argument = *artifact.arguments[i];
    tensors.push_back({argument.name, argument.element, storedShape(argument)});
  }
  return tensors;
}

/// Takes part in reading the parameters of a file, except for the first `read`.
/// `assembles`: in process 0.
static Status giveParametersAfter(size_t read, bool assembles,
                                  const Session &session) {
  const std::vector<uint32_t> parameters = parametersOf(session.artifact());
  std::vector<std::byte> values;
  Status status;
  for (size_t index : orderInFile(tensorsOf(session.artifact(), parameters))) {
    const uint64_t bytes = session.argumentBytes(parameters[index]);
    if (bytes == 0)
      continue;
    if (read > 0) {
      --read;
      continue;
    }
    if (assembles)
      values.resize(bytes);
    if (status = session.getArgument(parameters[index], values.data(), bytes);
        !status.ok())
      break;
  }
  return status;
}

Status pprt::host::giveParameters(const Session &session) {
  return giveParametersAfter(0, /*assembles=*/false, session);
}

Status pprt::host::saveParameters(const std::string &path,
                                  const Session &session) {
  if (!session.keepsValues())
    return Status(ExitCode::usage,
                  path +
                      ": expects a device that keeps values, such as \"cpu\"");
  const std::vector<uint32_t> parameters = parametersOf(session.artifact());
  size_t count = 0;
  const auto read = [&](size_t index, void *out) {
    ++count;
    const uint32_t number = parameters[index];
    const ppx::ArgumentT &argument = *session.artifact().arguments[number];
    const uint64_t bytes = session.argumentBytes(number);
    if (argument.stored_order.empty())
      return session.getArgument(number, out, bytes);
    std::vector<std::byte> values(bytes);
    Status status = session.getArgument(number, values.data(), bytes);
    if (status.ok())
      transpose(inOrder(argument.shape, argument.stored_order),
                argument.stored_order, elementSize(argument.element),
                values.data(), static_cast<std::byte *>(out));
    return status;
  };
  const Status status =
      writeSafeTensors(path, tensorsOf(session.artifact(), parameters), read);
  // Other processes do not know of a failed write, and give the rest, too.
  if (!status.ok())
    (void)giveParametersAfter(count, /*assembles=*/true, session);
  return status;
}

//===- Stepper.cpp - a session as a stepper -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Stepper.h"
#include "pprt/BFloat16.h"
#include "pprt/Program.h"

#include <cstring>

using namespace pp::run;
using namespace pprt;

template <typename T>
static void widen(const void *values, std::vector<double> &result) {
  const auto *bytes = static_cast<const std::byte *>(values);
  for (size_t i = 0; i < result.size(); ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    result[i] = static_cast<double>(value);
  }
}

std::vector<double> pp::run::toDoubles(ppx::ElementType element,
                                       const void *values, size_t count) {
  std::vector<double> result(count);
  switch (element) {
  case ppx::ElementType_f32:
    widen<float>(values, result);
    break;
  case ppx::ElementType_f64:
    widen<double>(values, result);
    break;
  case ppx::ElementType_bf16: {
    const auto *bits = static_cast<const uint16_t *>(values);
    for (size_t i = 0; i < count; ++i)
      result[i] = fromBFloat16(bits[i]);
    break;
  }
  case ppx::ElementType_i32:
    widen<int32_t>(values, result);
    break;
  case ppx::ElementType_i64:
    widen<int64_t>(values, result);
    break;
  case ppx::ElementType_i1:
    widen<uint8_t>(values, result);
    break;
  }
  return result;
}

/// The values of all parameters and states, or of the parameters alone.
static Expected<Values> readValues(const Session &session,
                                   bool parametersOnly) {
  Values values;
  std::vector<std::byte> bytes;
  for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (argument.role != ppx::Role_param &&
        (parametersOnly || argument.role != ppx::Role_state))
      continue;
    bytes.resize(session.argumentBytes(i));
    if (Status status = session.getArgument(i, bytes.data(), bytes.size());
        !status.ok())
      return status;
    values[argument.name] =
        toDoubles(argument.element, bytes.data(),
                  bytes.size() / elementSize(argument.element));
  }
  return values;
}

Expected<Values> pp::run::readArguments(const Session &session) {
  return readValues(session, /*parametersOnly=*/false);
}

namespace {

class SessionStepper final : public Stepper {
public:
  explicit SessionStepper(Session &session) : session(session) {}

  Expected<StepValues> step(const Batch &batch) override {
    if (Status status = setBatch(session, batch); !status.ok())
      return status;
    if (Status status = session.step(); !status.ok())
      return status;
    StepValues result;
    const auto &outputs = session.artifact().outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const ppx::OutputT &output = *outputs[i];
      if (output.role == ppx::OutputRole_loss)
        result.loss = session.scalar(i);
      if (output.role == ppx::OutputRole_gradient)
        result.gradients[output.name] =
            toDoubles(output.element, session.output(i),
                      session.outputBytes(i) / elementSize(output.element));
    }
    Expected<Values> parameters = readValues(session, /*parametersOnly=*/true);
    if (!parameters)
      return parameters.status();
    result.parameters = std::move(*parameters);
    return result;
  }

private:
  Session &session;
};

} // namespace

std::unique_ptr<Stepper> pp::run::makeSessionStepper(Session &session) {
  return std::make_unique<SessionStepper>(session);
}

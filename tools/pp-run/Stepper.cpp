//===- Stepper.cpp - a session as a stepper -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Stepper.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"

#include <cstring>
#include <limits>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

std::vector<double> pp::run::asDoubles(ppx::ElementType element,
                                       const void *values, size_t count) {
  std::vector<double> result(count);
  withFormat(element, [&](auto format) {
    using Format = decltype(format);
    const auto *bytes = static_cast<const std::byte *>(values);
    for (size_t i = 0; i < count; ++i) {
      typename Format::Stored stored;
      std::memcpy(&stored, bytes + i * sizeof(stored), sizeof(stored));
      result[i] = static_cast<double>(Format::load(stored));
    }
  });
  return result;
}

/// The session's arguments of a role.
static Expected<Values> readValues(const Session &session, ppx::Role role) {
  Values values;
  std::vector<std::byte> bytes;
  for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (argument.role != role)
      continue;
    bytes.resize(session.argumentBytes(i));
    if (Status status = session.getArgument(i, bytes.data(), bytes.size());
        !status.ok())
      return status;
    values[argument.name] =
        asDoubles(argument.element, bytes.data(),
                  bytes.size() / elementSize(argument.element));
  }
  return values;
}

Expected<StepValues> pp::run::readArguments(const Session &session) {
  StepValues values;
  for (auto [role, to] : {std::pair(ppx::Role_param, &values.parameters),
                          std::pair(ppx::Role_state, &values.states)}) {
    Expected<Values> read = readValues(session, role);
    if (!read)
      return read.status();
    *to = std::move(*read);
  }
  return values;
}

static std::vector<double> readOutput(const Session &session, uint32_t index) {
  const ppx::OutputT &output = *session.artifact().outputs[index];
  return asDoubles(output.element, session.output(index),
                   session.outputBytes(index) / elementSize(output.element));
}

void pp::run::shake(std::vector<double> &values, double rounding) {
  uint64_t place = 0;
  for (double &value : values) {
    const bool isUp = (++place * 0x9e3779b97f4a7c15) >> 63;
    value *= 1 + (isUp ? rounding : -rounding);
  }
}

Values pp::run::readMetrics(const Session &session) {
  Values metrics;
  const auto &outputs = session.artifact().outputs;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]->role == ppx::OutputRole_metric)
      metrics[outputs[i]->name] = readOutput(session, i);
  return metrics;
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
    Expected<StepValues> result = readArguments(session);
    if (!result)
      return result;
    const auto &outputs = session.artifact().outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const ppx::OutputT &output = *outputs[i];
      if (output.role == ppx::OutputRole_loss)
        result->loss = session.scalar(i);
      if (output.role == ppx::OutputRole_gradient)
        result->gradients[output.name] = readOutput(session, i);
    }
    result->metrics = readMetrics(session);
    return result;
  }

  Status follow(const Session &leader, double rounding) override {
    std::vector<std::byte> bytes;
    for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
      const ppx::ArgumentT &argument = *session.artifact().arguments[i];
      if (argument.role != ppx::Role_param && argument.role != ppx::Role_state)
        continue;
      const std::optional<uint32_t> from = leader.findArgument(argument.name);
      if (!from)
        continue;
      bytes.resize(leader.argumentBytes(*from));
      if (Status status = leader.getArgument(*from, bytes.data(), bytes.size());
          !status.ok())
        return status;
      const ppx::ElementType element =
          leader.artifact().arguments[*from]->element;
      const bool isShaken = rounding > 0 && argument.role == ppx::Role_param;
      const bool isWide = argument.element == ppx::ElementType_f64;
      if (element != argument.element && !isWide)
        return Status(ExitCode::usage, "expects to follow a session in the "
                                       "types of its own or from f64");
      if (element != argument.element || (isShaken && isWide)) {
        std::vector<double> wide = asDoubles(
            element, bytes.data(), bytes.size() / elementSize(element));
        if (isShaken)
          shake(wide, rounding);
        bytes.resize(wide.size() * sizeof(double));
        std::memcpy(bytes.data(), wide.data(), bytes.size());
      }
      if (Status status = session.setArgument(i, bytes.data(), bytes.size());
          !status.ok())
        return status;
    }
    return {};
  }

private:
  Session &session;
};

} // namespace

std::unique_ptr<Stepper> pp::run::makeSessionStepper(Session &session) {
  return std::make_unique<SessionStepper>(session);
}

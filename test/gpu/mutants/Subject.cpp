//===- Subject.cpp - a program that edits are made to ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Steps are under way ahead of the host where the device records them; one
// input is not finite, so that gates close.
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"
#include "engine/HostBuffers.h"
#include "engine/enqueued/EnqueuedExecutor.h"
#include "pprt/Initialize.h"
#include "pprt/Program.h"

#include <limits>
#include <random>

using namespace pprt;
using namespace pprt::mutants;

/// Two bodies may be under way, and each is recorded: so both are played again.
static constexpr int64_t kSteps = 4;

static void add(Bits &bits, const std::byte *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    bits.sum = (bits.sum ^ uint64_t(bytes[i])) * 0x100000001b3;
}

static bool isInput(const ppx::ArgumentT &argument) {
  return argument.role == ppx::Role_input || argument.role == ppx::Role_label;
}

/// Other values in each step; if not finite, then one: flags tell of it, and
/// gates close.
static void drawInputs(HostBuffers &host, int64_t step, bool isFinite) {
  std::mt19937_64 random{uint64_t(step)};
  for (size_t i = 0; i < host.arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *host.artifact.arguments[i];
    if (!isInput(argument))
      continue;
    std::vector<std::byte> values(host.arguments[i].globalBytes());
    const uint64_t width = elementSize(argument.element);
    for (uint64_t at = 0; at < values.size(); at += width) {
      const uint64_t integer =
          argument.bound ? random() % argument.bound : random() % 2;
      const double real = !isFinite && at == 0
                              ? std::numeric_limits<double>::infinity()
                              : double(random() % 2048) / 1024 - 1;
      const float single = float(real);
      if (argument.element == ppx::ElementType_f64)
        std::memcpy(&values[at], &real, width);
      else if (argument.element == ppx::ElementType_f32)
        std::memcpy(&values[at], &single, width);
      else
        std::memcpy(&values[at], &integer, width);
    }
    host.inputs[i].copy(values.data(), values.size());
    host.inputRows[i] =
        Rows(0, argument.shape.empty() ? 1 : argument.shape.front());
  }
}

/// Calls f(rank, slot, argument) for each part of a parameter or state.
template <typename Function>
static Status forEachPart(const HostBuffers &host, Function &&f) {
  for (uint32_t rank = 0; rank < host.mesh.worldSize(); ++rank)
    for (uint32_t i = 0; i < host.arguments.size(); ++i) {
      const int32_t slot = host.ranks.program(rank).argument_slots[i];
      if (slot < 0 || isInput(*host.artifact.arguments[i]))
        continue;
      if (Status status = f(rank, uint32_t(slot), i); !status.ok())
        return status;
    }
  return {};
}

static Status fillParameters(const HostBuffers &host, Executor &executor) {
  return forEachPart(host, [&](uint32_t rank, uint32_t slot, uint32_t i) {
    const ppx::ArgumentT &argument = *host.artifact.arguments[i];
    const ppx::InitializerT zeros;
    return executor.rank(rank).writeSlot(slot, [&](std::byte *bytes) {
      pprt::initialize(
          argument.initializer ? *argument.initializer : zeros, /*seed=*/1,
          argument.element,
          host.arguments[i].runs(host.arguments[i].origin(host.mesh, rank, 0),
                                 bytes));
    });
  });
}

static Status readAll(const HostBuffers &host, Executor &executor, Bits &bits) {
  return forEachPart(host, [&](uint32_t rank, uint32_t slot, uint32_t) {
    const uint64_t count = host.ranks.program(rank).slots[slot]->bytes;
    return executor.rank(rank).readSlot(
        slot, [&](const std::byte *values) { add(bits, values, count); });
  });
}

Expected<Bits>
mutants::runSubject(std::shared_ptr<const ppx::ArtifactT> artifact,
                    std::shared_ptr<enqueued::StreamDevice> device,
                    bool records) {
  const Expected<Mesh> mesh = Mesh::create(artifact->axes);
  if (!mesh)
    return mesh.status();
  if (Status status = device->load(*artifact); !status.ok())
    return status;
  auto host = std::make_shared<HostBuffers>(*artifact, *mesh);
  ExecutorOptions options;
  options.limits.hangSeconds = 0;
  options.ranks = {0, mesh->worldSize()};
  options.records = records;
  const auto patience = std::make_shared<enqueued::Patience>(
      /*devices=*/1, options.limits, /*transport=*/nullptr);
  auto made = enqueued::EnqueuedExecutor::create(
      artifact, *mesh, {device, nullptr, patience}, options, host);
  if (!made)
    return made.status();
  Executor &executor = **made;
  Bits bits;
  Status status = fillParameters(*host, executor);
  drawInputs(*host, 0, /*isFinite=*/true);
  if (status.ok())
    status = executor.run(Section::setup, -1);
  const auto addOutputs = [&] {
    for (const std::vector<std::byte> &values : host->outputValues)
      add(bits, values.data(), values.size());
  };
  // As many at a time as may be, so that the host is ahead.
  int64_t waited = 0;
  const auto wait = [&] {
    status = executor.wait();
    ++waited;
    addOutputs();
  };
  for (int64_t step = 0; status.ok() && step < kSteps; ++step) {
    if (step - waited == executor.stepsAhead())
      wait();
    // What is recorded is played in other steps, too; the rest happens once.
    drawInputs(*host, step, /*isFinite=*/!records || step != 1);
    if (status.ok())
      status = executor.submit(Section::body, step);
  }
  while (status.ok() && waited < kSteps)
    wait();
  if (status.ok())
    status = executor.run(Section::teardown, kSteps);
  addOutputs();
  if (status.ok())
    status = readAll(*host, executor, bits);
  if (!status.ok())
    return status;
  return bits;
}

//===- SessionCopy.cpp - values from one session to another ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program that evaluates usually has each parameter where the training
// program has it, so that nothing is sent.
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"

#include <cstring>

using namespace pprt;

/// Whether every rank that has the argument here has the same part of `from`
/// there. The same in all processes.
bool Session::State::hasSameParts(uint32_t argument, const State &other,
                                  uint32_t from) const {
  const ShardedTensor &mine = host->arguments[argument],
                      &its = other.host->arguments[from];
  const size_t dimensions = artifact->arguments[argument]->shape.size();
  for (size_t d = 0; d < dimensions; ++d)
    if (mine.sizeOf(d) != its.sizeOf(d))
      return false;
  for (uint32_t rank = 0; rank < host->mesh.worldSize(); ++rank)
    if (slotOf(argument, rank) >= 0 &&
        (other.slotOf(from, rank) < 0 ||
         mine.origin(host->mesh, rank, 0) !=
             its.origin(other.host->mesh, rank, 0)))
      return false;
  return true;
}

Status Session::State::copyParts(uint32_t argument, const State &other,
                                 uint32_t from) {
  const uint64_t bytes = host->arguments[argument].shardBytes();
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    const int32_t slot = slotOf(argument, rank);
    if (slot < 0)
      continue;
    Status written;
    const Status read = other.executor->rank(rank).readSlot(
        uint32_t(other.slotOf(from, rank)), [&](const std::byte *its) {
          written = executor->rank(rank).writeSlot(
              uint32_t(slot),
              [&](std::byte *mine) { std::memcpy(mine, its, bytes); });
        });
    if (!read.ok() || !written.ok())
      return read.ok() ? written : read;
  }
  return {};
}

/// The argument of `other` of the same name, type and shape.
Expected<uint32_t> Session::State::findSame(uint32_t argument,
                                            const Session &other) const {
  const ppx::ArgumentT &mine = *artifact->arguments[argument];
  const std::optional<uint32_t> from = other.findArgument(mine.name);
  const ppx::ArgumentT *its =
      from ? other.artifact().arguments[*from].get() : nullptr;
  if (its && its->element == mine.element && its->shape == mine.shape &&
      !other.state->isInput(*from))
    return *from;
  return Status(ExitCode::badParameters,
                "'" + mine.name +
                    "' expects a session that has it, in the same type and "
                    "shape, got " +
                    (its ? "another one" : "one without it"));
}

Status Session::copyArguments(const Session &other) {
  return state->guard([&]() -> Status {
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status = other.state->checkArguments(); !status.ok())
      return status;
    if (state->leads || other.state->leads ||
        mesh().worldSize() != other.mesh().worldSize())
      return Status(ExitCode::usage, "expects sessions of the same ranks that "
                                     "do not lead");
    std::vector<std::byte> whole;
    // A process that fails goes on to the end: the others wait for it.
    Status failure;
    for (uint32_t i = 0; i < state->artifact->arguments.size(); ++i) {
      if (state->isInput(i))
        continue;
      const Expected<uint32_t> from = state->findSame(i, other);
      if (!from) // in all processes
        return from.status();
      Status copied;
      if (state->hasSameParts(i, *other.state, *from)) {
        copied = state->copyParts(i, *other.state, *from);
      } else {
        whole.resize(argumentBytes(i));
        copied = other.getArgument(*from, whole.data(), whole.size());
        if (Status sent = state->world->broadcast(whole); copied.ok())
          copied = std::move(sent);
        if (copied.ok())
          copied = setArgument(i, whole.data(), whole.size());
      }
      state->hasValue[i] = copied.ok();
      if (failure.ok())
        failure = std::move(copied);
    }
    return state->agree(failure);
  });
}

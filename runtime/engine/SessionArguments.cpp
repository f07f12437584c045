//===- SessionArguments.cpp - values in and out of a session --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each process has the shards of its own ranks of parameters and states; inputs
// are kept whole until a step loads them.
//
//===----------------------------------------------------------------------===//
#include "Bounds.h"
#include "SessionState.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace pprt;

/// Bytes that process 0 gathers at a time, unless one process has more.
static constexpr uint64_t kGathered = 64 << 20;

template <typename Function>
Status Session::State::forEachShard(uint32_t argument, Function &&f) const {
  const ShardedTensor &tensor = host->arguments[argument];
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    const int32_t slot = slotOf(argument, rank);
    if (slot < 0)
      continue;
    if (Status status =
            f(rank, uint32_t(slot), tensor.origin(host->mesh, rank, 0));
        !status.ok())
      return status;
  }
  return {};
}

template <typename Function>
Status Session::State::forEachCopy(uint32_t argument, Function &&f) const {
  std::map<ShardedTensor::Index, std::pair<uint32_t, uint32_t>> made;
  const auto fill = [&](uint32_t rank, uint32_t slot,
                        const ShardedTensor::Index &origin) {
    const auto first = made.try_emplace(origin, rank, slot).first->second;
    if (first == std::pair(rank, slot))
      return executor->rank(rank).writeSlot(
          slot, [&](std::byte *bytes) { f(bytes, origin); });
    Status written;
    const Status read =
        executor->rank(first.first)
            .readSlot(first.second, [&](const std::byte *from) {
              written =
                  executor->rank(rank).writeSlot(slot, [&](std::byte *bytes) {
                    std::memcpy(bytes, from,
                                host->arguments[argument].shardBytes());
                  });
            });
    return read.ok() ? written : read;
  };
  return forEachShard(argument, fill);
}

std::vector<Session::State::Holder>
Session::State::firstHolders(uint32_t argument) const {
  std::vector<Holder> holders;
  std::set<ShardedTensor::Index> covered;
  for (uint32_t rank = 0; rank < host->mesh.worldSize(); ++rank) {
    const int32_t slot = slotOf(argument, rank);
    const ShardedTensor::Index origin =
        host->arguments[argument].origin(host->mesh, rank, 0);
    if (slot >= 0 && covered.insert(origin).second)
      holders.push_back({rank, uint32_t(slot), origin});
  }
  return holders;
}

/// Replicas that start from different values would silently stay apart.
Status
Session::State::compareInitialization(uint64_t seed,
                                      const std::vector<uint8_t> &keeps) const {
  if (world->processCount() == 1)
    return {};
  std::vector<std::byte> mine(sizeof(seed));
  std::memcpy(mine.data(), &seed, sizeof(seed));
  if (Status status =
          expectSame(*world, std::move(mine), "seed", "initialize all by one");
      !status.ok())
    return status;
  std::vector<std::byte> kept(artifact->arguments.size());
  for (size_t i = 0; i < std::min(keeps.size(), kept.size()); ++i)
    kept[i] = std::byte(keeps[i] != 0 && !isInput(uint32_t(i)));
  return expectSame(*world, std::move(kept), "arguments to have values",
                    "set or load the same ones everywhere");
}

Status Session::initialize(uint64_t seed, const std::vector<uint8_t> &keeps) {
  return state->guard([&]() -> Status {
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status =
            state->tell(CallKind::initialize, seed, keeps.data(), keeps.size());
        !status.ok())
      return status;
    if (Status status = state->compareInitialization(seed, keeps); !status.ok())
      return status;
    const ppx::InitializerT zeros;
    for (uint32_t i = 0; i < state->artifact->arguments.size(); ++i) {
      const ppx::ArgumentT &argument = *state->artifact->arguments[i];
      if (state->isInput(i) || (i < keeps.size() && keeps[i]))
        continue;
      const auto fill = [&](std::byte *bytes, const auto &origin) {
        pprt::initialize(argument.initializer ? *argument.initializer : zeros,
                         seed, argument.element,
                         state->host->arguments[i].runs(origin, bytes));
      };
      if (Status status = state->forEachCopy(i, fill); !status.ok())
        return status;
      state->hasValue[i] = true;
    }
    return {};
  });
}

std::optional<uint32_t> Session::findArgument(const std::string &name) const {
  const auto found = state->argumentOf.find(name);
  return found == state->argumentOf.end() ? std::nullopt
                                          : std::optional(found->second);
}

uint64_t Session::argumentBytes(uint32_t argument) const {
  return state->checkIndex(argument).ok()
             ? state->host->arguments[argument].globalBytes()
             : 0;
}
uint64_t Session::outputBytes(uint32_t output) const {
  return output < state->host->outputs.size()
             ? state->host->outputs[output].globalBytes()
             : 0;
}

Status Session::State::checkStopped() const {
  // The session may have failed here without having failed elsewhere.
  if (world->processCount() > 1 && !failure.ok())
    return failure;
  if (!executor->isStuck())
    return {};
  return Status(ExitCode::hang, "a rank is still inside a kernel");
}

Status Session::State::checkIndex(uint32_t argument) const {
  if (argument < artifact->arguments.size())
    return {};
  return Status(ExitCode::badParameters,
                "expects the number of an argument below " +
                    std::to_string(artifact->arguments.size()) + ", got " +
                    std::to_string(argument));
}

Status Session::State::checkArguments() const {
  const Status status = checkStopped();
  return status.ok() ? expectIdle("an argument") : status;
}

Status Session::State::checkBytes(uint32_t argument, uint64_t bytes,
                                  bool input) const {
  if (Status status = checkIndex(argument); !status.ok())
    return status;
  const uint64_t expected = host->arguments[argument].globalBytes();
  if (expected == bytes && isInput(argument) == input)
    return {};
  return Status(ExitCode::badParameters,
                std::string(input ? "input '" : "parameter '") +
                    artifact->arguments[argument]->name + "' expects " +
                    (isInput(argument) != input
                         ? "the other kind of argument"
                         : std::to_string(expected) + " bytes, got " +
                               std::to_string(bytes)));
}

Status Session::State::checkBound(uint32_t argument, const void *values,
                                  uint64_t bytes, uint64_t skipped) const {
  const ppx::ArgumentT &its = *artifact->arguments[argument];
  const uint64_t width = elementSize(its.element);
  const std::optional<IntegerBeyond> beyond =
      findBeyond(its.element, its.bound, values, bytes / width);
  if (!beyond)
    return {};
  return Status(ExitCode::badParameters,
                "input '" + its.name + "' expects integers from 0 to " +
                    std::to_string(its.bound - 1) + ", got " +
                    std::to_string(beyond->value) + " as element " +
                    std::to_string(skipped / width + beyond->index));
}

Status Session::setArgument(uint32_t argument, const void *values,
                            uint64_t bytes) {
  return state->guard([&]() -> Status {
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status = state->checkBytes(argument, bytes, false); !status.ok())
      return status;
    if (Status status =
            state->tell(CallKind::setArgument, argument, values, bytes);
        !status.ok())
      return status;
    const Status written = state->forEachShard(
        argument, [&](uint32_t rank, uint32_t slot, const auto &origin) {
          return state->executor->rank(rank).writeSlot(
              slot, [&](std::byte *bytes) {
                state->host->arguments[argument].scatter(
                    origin, static_cast<const std::byte *>(values), bytes);
              });
        });
    state->hasValue[argument] = written.ok();
    return written;
  });
}

Status Session::readArgument(uint32_t argument, const ElementReader &read) {
  return state->guard([&]() -> Status {
    if (Status status = state->checkIndex(argument); !status.ok())
      return status;
    const ShardedTensor &tensor = state->host->arguments[argument];
    if (state->leads) {
      std::vector<std::byte> values(tensor.globalBytes());
      const Status status = read({{0, tensor.elementCount(), values.data()}});
      return status.ok() ? setArgument(argument, values.data(), values.size())
                         : status;
    }
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status =
            state->checkBytes(argument, tensor.globalBytes(), false);
        !status.ok())
      return status;
    Status status;
    state->hasValue[argument] = false; // and stays false if the reader throws
    const Status written =
        state->forEachCopy(argument, [&](std::byte *bytes, const auto &origin) {
          if (status.ok())
            status = read(tensor.runs(origin, bytes));
        });
    state->hasValue[argument] = status.ok() && written.ok();
    return status.ok() ? written : status;
  });
}

Status Session::getArgument(uint32_t argument, void *values,
                            uint64_t bytes) const {
  return state->guard([&]() -> Status {
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status = state->checkBytes(argument, bytes, false); !status.ok())
      return status;
    if (!keepsValues())
      return Status(
          ExitCode::usage,
          "'" + state->artifact->arguments[argument]->name +
              "' expects a device that keeps values, such as \"cpu\"");
    if (Status status = state->tell(CallKind::getArgument, argument);
        !status.ok())
      return status;
    const std::vector<State::Holder> holders = state->firstHolders(argument);
    // By process. They are gathered in a few rounds: all at once would take the
    // tensor's size again.
    std::vector<std::vector<State::Holder>> parts(state->world->processCount());
    for (const State::Holder &holder : holders)
      parts[state->world->processOf(holder.rank, mesh().worldSize())].push_back(
          holder);
    const uint64_t shard = state->host->arguments[argument].shardBytes();
    // A process that fails goes on to the end: the others wait for it.
    Status gathered;
    for (uint32_t begin = 0, end = 0; begin < parts.size(); begin = end) {
      uint64_t together = 0;
      while (end < parts.size() && (end == begin || together < kGathered))
        together += shard * parts[end++].size();
      Status status = state->gatherShards(argument, parts, begin, end,
                                          static_cast<std::byte *>(values));
      if (gathered.ok())
        gathered = std::move(status);
    }
    return gathered;
  });
}

/// Gathers the shards of processes [begin, end) in process 0.
Status Session::State::gatherShards(
    uint32_t argument, const std::vector<std::vector<Holder>> &parts,
    uint32_t begin, uint32_t end, std::byte *values) const {
  const ShardedTensor &tensor = host->arguments[argument];
  const uint32_t self = world->process();
  const bool gives = self >= begin && self < end;
  std::vector<std::byte> mine;
  Status copied;
  for (const Holder &holder : gives ? parts[self] : std::vector<Holder>())
    if (copied.ok())
      copied =
          executor->rank(holder.rank)
              .readSlot(holder.slot, [&](const std::byte *bytes) {
                if (self == 0)
                  tensor.gather(holder.origin, bytes, values);
                else
                  mine.insert(mine.end(), bytes, bytes + tensor.shardBytes());
              });
  if (parts.size() == 1)
    return copied;
  Expected<std::vector<std::vector<std::byte>>> all =
      world->gather(std::move(mine));
  if (!all || self != 0)
    return all ? copied : all.status();
  for (uint32_t process = std::max(begin, 1u); process < end; ++process)
    for (size_t i = 0; i < parts[process].size(); ++i) {
      if ((*all)[process].size() < (i + 1) * tensor.shardBytes())
        return Status(ExitCode::device,
                      "'" + artifact->arguments[argument]->name +
                          "' expects shards of process " +
                          std::to_string(process) +
                          ", whose device does not give them");
      tensor.gather(parts[process][i].origin,
                    (*all)[process].data() + i * tensor.shardBytes(), values);
    }
  return copied;
}

static BatchLayout layoutOf(const ppx::ArgumentT &input) {
  return {input.shape, input.batch};
}

Status Session::setInput(uint32_t argument, const void *values,
                         uint64_t bytes) {
  return state->giveInput(argument, values, bytes, /*isLent=*/false);
}

Status Session::lendInput(uint32_t argument, const void *values,
                          uint64_t bytes) {
  return state->giveInput(argument, values, bytes, /*isLent=*/true);
}

Status Session::State::giveInput(uint32_t argument, const void *values,
                                 uint64_t bytes, bool isLent) {
  return guard([&]() -> Status {
    if (Status status = checkStopped(); !status.ok())
      return status;
    if (Status status = checkBytes(argument, bytes, true); !status.ok())
      return status;
    if (Status status = checkBound(argument, values, bytes); !status.ok())
      return status;
    if (Status status = tell(CallKind::setInput, argument, values, bytes);
        !status.ok())
      return status;
    const auto *first = static_cast<const std::byte *>(values);
    if (isLent)
      host->inputs[argument].lend(first);
    else
      host->inputs[argument].copy(first, bytes);
    host->inputRows[argument] =
        Rows(0, layoutOf(*artifact->arguments[argument]).rows);
    return {};
  });
}

Status Session::setInputRows(uint32_t argument, const Rows &rows,
                             const void *values, uint64_t bytes) {
  return state->guard([&]() -> Status {
    if (Status status = state->checkIndex(argument); !status.ok())
      return status;
    const ppx::ArgumentT &its = *state->artifact->arguments[argument];
    const BatchLayout layout = layoutOf(its);
    const uint64_t all = layout.rows, width = elementSize(its.element);
    if (rows.count() == all)
      return setInput(argument, values, bytes);
    if (state->leads)
      return Status(ExitCode::usage,
                    "a session that leads expects whole inputs, "
                    "got rows of '" +
                        its.name + "'");
    if (Status status = state->checkStopped(); !status.ok())
      return status;
    const Rows &needed = state->inputRows[argument];
    if (!state->isInput(argument) || !Rows(0, all).contains(rows) ||
        !rows.contains(needed) || bytes != layout.elementsOf(rows) * width)
      return Status(ExitCode::badParameters,
                    "input '" + its.name + "' expects at least its rows " +
                        needed.print() + " of " + std::to_string(all) +
                        ", of " +
                        std::to_string(layout.outer * layout.inner * width) +
                        " bytes each, got rows " + rows.print() + " in " +
                        std::to_string(bytes) + " bytes");
    const auto *first = static_cast<const std::byte *>(values);
    const std::byte *packed = first;
    const uint64_t rowBytes = layout.inner * width;
    for (uint64_t outer = 0; outer < layout.outer; ++outer)
      for (const RowRange &range : rows.ranges()) {
        if (Status status =
                state->checkBound(argument, packed, range.size() * rowBytes,
                                  (outer * all + range.begin) * rowBytes);
            !status.ok())
          return status;
        packed += range.size() * rowBytes;
      }
    state->host->inputs[argument].copy(first, bytes);
    state->host->inputRows[argument] = rows;
    return {};
  });
}

bool Session::keepsValues() const { return state->keepsValues(); }

const Rows &Session::inputRows(uint32_t argument) const {
  static const Rows none;
  return argument < state->inputRows.size() ? state->inputRows[argument] : none;
}

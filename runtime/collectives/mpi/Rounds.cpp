//===- Rounds.cpp - the rounds of comm ops, on the engine's thread --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The engine calls everything here: when a member has started, and when a
// message is complete. Each call advances the lanes that can go on as far as
// possible.
//
//===----------------------------------------------------------------------===//
#include "../inprocess/Reduce.h"
#include "Members.h"
#include "Pack.h"

#include <algorithm>
#include <cstring>

using namespace pprt;
using namespace pprt::mpi;

/// Number of elements whose combination takes longer than reading a clock.
static constexpr uint64_t kLong = 1 << 14;

void MpiTransport::begin(Member &self) {
  ++self.rounds;
  self.remaining = uint32_t(self.lanes.size()) + self.joined;
  self.firstOpen = self.stagedComplete = 0;
  std::fill(self.turns.begin(), self.turns.end(), 0);
  std::fill(self.stagedDone.begin(), self.stagedDone.end(), false);
  for (LaneState &state : self.lanes) {
    state.posted = state.next = state.complete = 0;
    state.isFinished = false;
    std::fill(state.chunks.begin(), state.chunks.end(), Chunk());
  }
  if (self.remaining == 0) { // nothing to move
    ++self.remaining;
    return finishOne(self);
  }
  pump(self);
  // Others may have waited for this member.
  for (Member *other : self.present->members)
    if (other && other != &self && other->rounds == self.rounds)
      pump(*other);
}

void MpiTransport::pump(Member &self) {
  bool moved = true;
  while (moved && self.remaining > 0) {
    moved = false;
    for (uint32_t i = self.firstOpen; i < self.lanes.size(); ++i)
      moved |= advance(self, self.lanes[i]);
    while (self.firstOpen < self.lanes.size() &&
           self.lanes[self.firstOpen].isFinished)
      ++self.firstOpen;
  }
}

bool MpiTransport::advance(Member &self, LaneState &state) {
  if (state.isFinished || self.remaining == 0)
    return false;
  switch (state.lane->kind) {
  case Lane::Kind::send:
    return advanceSend(self, state);
  case Lane::Kind::own:
    return advanceOwn(self, state);
  case Lane::Kind::result:
    return advanceResult(self, state);
  }
  return false;
}

/// Returns the staging of a chunk, which is packed or received there. Two
/// chunks in transit have different memory.
std::byte *MpiTransport::stagingOf(const Member &self, const Lane &lane,
                                   uint32_t chunk) {
  return self.told.staging + lane.staging + chunk % kWindow * lane.chunkStaging;
}

/// Returns the elements of a chunk.
static std::pair<uint64_t, uint64_t> rangeOf(const Cut &cut, uint32_t chunk) {
  const uint64_t begin = chunk * cut.chunk;
  return {begin, std::min(cut.chunk, elementCount(cut.region) - begin)};
}

bool MpiTransport::hasStaging(const Member &self,
                              const LaneState &state) const {
  return state.lane->stagedIndex < 0 ||
         self.stagedComplete >= state.lane->stagedBefore;
}

bool MpiTransport::advanceSend(Member &self, LaneState &state) {
  const Lane &lane = *state.lane;
  const Lane::Remote &remote = lane.remoteOthers[0];
  if (self.turns[remote.stream] != remote.turn || !hasStaging(self, state))
    return false;
  const Cut &cut = self.list.cuts[lane.cut];
  const uint64_t width = elementSize(cut.element);
  bool moved = false;
  while (state.posted < lane.chunks &&
         (state.posted < kWindow ||
          state.chunks[state.posted - kWindow].state == Chunk::done)) {
    const uint32_t chunk = state.posted++;
    const auto [begin, count] = rangeOf(cut, chunk);
    const std::byte *data =
        self.told.inputs[lane.part.operand] + lane.part.offset * width;
    if (lane.stagedIndex < 0) {
      data += begin * width;
    } else {
      std::byte *packed = stagingOf(self, lane, chunk);
      pack(Stretch::ofSource(cut.region, width, begin, count), data, packed);
      data = packed;
    }
    send(self, state, chunk, remote.stream, data, count * width);
    moved = true;
  }
  if (state.posted == lane.chunks && moved)
    ++self.turns[remote.stream];
  return moved;
}

bool MpiTransport::advanceResult(Member &self, LaneState &state) {
  const Lane &lane = *state.lane;
  const Lane::Remote &remote = lane.remoteSources[0];
  if (self.turns[remote.stream] != remote.turn)
    return false;
  const Cut &cut = self.list.cuts[lane.cut];
  const uint64_t width = elementSize(cut.element);
  bool moved = false;
  // The result may overwrite the chunk that is sent: it must be gone first.
  while (state.posted < lane.chunks &&
         (lane.sendLane < 0 ||
          self.lanes[size_t(lane.sendLane)].chunks[state.posted].state ==
              Chunk::done)) {
    const uint32_t chunk = state.posted++;
    const auto [begin, count] = rangeOf(cut, chunk);
    receive(self, state, chunk, remote.stream,
            self.told.outputs[lane.part.operand] +
                (lane.part.offset + begin) * width,
            count * width);
    moved = true;
  }
  if (state.posted == lane.chunks && moved)
    ++self.turns[remote.stream];
  return moved;
}

/// Whether all members here that the lane reads or writes have come.
bool MpiTransport::isPresent(const Member &self, const LaneState &state) const {
  const Cut &cut = self.list.cuts[state.lane->cut];
  const auto has = [&](const Part &side) {
    const Member *other = self.present->members[side.member];
    return !other || other->rounds == self.rounds;
  };
  return std::all_of(cut.sources.begin(), cut.sources.end(), has) &&
         std::all_of(cut.others.begin(), cut.others.end(), has);
}

/// Posts the receives of the lane's next chunk.
bool MpiTransport::postOwn(Member &self, LaneState &state) {
  const Lane &lane = *state.lane;
  if (state.posted == lane.chunks || !hasStaging(self, state) ||
      (state.posted >= kWindow &&
       state.chunks[state.posted - kWindow].state != Chunk::done))
    return false;
  for (const Lane::Remote &remote : lane.remoteSources)
    if (self.turns[remote.stream] != remote.turn)
      return false;
  const Cut &cut = self.list.cuts[lane.cut];
  const uint64_t width = elementSize(cut.element);
  const uint32_t chunk = state.posted++;
  const auto [begin, count] = rangeOf(cut, chunk);
  std::byte *staging = stagingOf(self, lane, chunk);
  for (size_t i = 0; i < lane.remoteSources.size(); ++i)
    receive(self, state, chunk, lane.remoteSources[i].stream,
            lane.stagedIndex >= 0 ? staging + lane.ofRemote(i)
                                  : self.told.outputs[lane.part.operand] +
                                        (lane.part.offset + begin) * width,
            count * width);
  if (state.posted == lane.chunks)
    for (const Lane::Remote &remote : lane.remoteSources)
      ++self.turns[remote.stream];
  return true;
}

bool MpiTransport::advanceOwn(Member &self, LaneState &state) {
  const Lane &lane = *state.lane;
  bool moved = false;
  while (postOwn(self, state))
    moved = true;
  if (state.next == state.posted || !isPresent(self, state))
    return moved;
  for (const Lane::Remote &remote : lane.remoteOthers)
    if (self.turns[remote.stream] != remote.turn)
      return moved;
  while (state.next < state.posted && state.chunks[state.next].pending == 0 &&
         !state.isFinished) {
    const uint32_t chunk = state.next++;
    state.chunks[chunk].state = Chunk::combined;
    combine(self, state, chunk);
    if (state.next == lane.chunks)
      for (const Lane::Remote &remote : lane.remoteOthers)
        ++self.turns[remote.stream];
    settle(self, state);
    moved = true;
    while (postOwn(self, state))
      ;
  }
  return moved;
}

/// Reduces the sources' chunk into the owner, copies it to the others here and
/// sends it to those elsewhere.
void MpiTransport::combine(Member &self, LaneState &state, uint32_t chunk) {
  const Lane &lane = *state.lane;
  const Cut &cut = self.list.cuts[lane.cut];
  const uint64_t width = elementSize(cut.element);
  const auto [begin, count] = rangeOf(cut, chunk);
  if ((combined += count * cut.sources.size()) >= kLong) {
    combined = 0;
    engine->breathe();
  }
  std::byte *staging = stagingOf(self, lane, chunk);
  std::byte *owned =
      self.told.outputs[lane.part.operand] + lane.part.offset * width;
  const Stretch from = Stretch::ofSource(cut.region, width, begin, count);
  const Stretch to = Stretch::ofTarget(cut.region, width, begin, count);
  const auto localSource = [&](size_t i) -> const std::byte * {
    const Part &source = cut.sources[i];
    return self.present->members[source.member]->told.inputs[source.operand] +
           source.offset * width;
  };
  if (cut.sources.size() == 1) {
    if (lane.sourceRemote[0] >= 0) {
      if (lane.stagedIndex >= 0)
        unpack(to, staging, owned);
    } else if (cut.isStaged) {
      pack(from, localSource(0), staging);
      unpack(to, staging, owned);
    } else if (const std::byte *source = localSource(0); source != owned) {
      std::memcpy(owned + begin * width, source + begin * width, count * width);
    }
    return;
  }
  std::vector<const std::byte *> sources;
  for (size_t i = 0; i < cut.sources.size(); ++i) {
    if (lane.sourceRemote[i] >= 0) {
      sources.push_back(staging +
                        lane.ofRemote(uint64_t(lane.sourceRemote[i])));
    } else if (!cut.isStaged) {
      sources.push_back(localSource(i) + begin * width);
    } else {
      const uint64_t here = uint64_t(std::count(
          lane.sourceRemote.begin(), lane.sourceRemote.begin() + long(i), -1));
      std::byte *packed = staging + lane.ofLocal(here);
      pack(from, localSource(i), packed);
      sources.push_back(packed);
    }
  }
  std::vector<std::byte *> targets;
  if (cut.isStaged)
    targets.push_back(staging + lane.ofResult());
  else
    targets.push_back(owned + begin * width);
  for (uint32_t other : lane.localOthers) {
    const Part &target = cut.others[other];
    targets.push_back(
        self.present->members[target.member]->told.outputs[target.operand] +
        (target.offset + begin) * width);
  }
  inprocess::reduce(cut.element, cut.reduction, sources.data(),
                    uint32_t(sources.size()), 0, targets.data(),
                    uint32_t(targets.size()), 0, count);
  if (cut.isStaged)
    unpack(to, targets[0], owned);
  for (const Lane::Remote &remote : lane.remoteOthers)
    send(self, state, chunk, remote.stream, owned + begin * width,
         count * width);
}

/// Completes chunks without messages in transit; the last one ends the lane.
void MpiTransport::settle(Member &self, LaneState &state) {
  const Lane &lane = *state.lane;
  const bool combines = lane.kind == Lane::Kind::own;
  uint32_t complete = 0;
  const uint32_t end = combines ? state.next : state.posted;
  for (uint32_t i = state.complete; i < end; ++i) {
    Chunk &chunk = state.chunks[i];
    if (chunk.pending == 0)
      chunk.state = Chunk::done;
  }
  while (state.complete + complete < end &&
         state.chunks[state.complete + complete].state == Chunk::done)
    ++complete;
  state.complete += complete;
  if (state.complete == lane.chunks)
    finishLane(self, state);
}

void MpiTransport::finishLane(Member &self, LaneState &state) {
  if (state.isFinished)
    return;
  state.isFinished = true;
  const Lane &lane = *state.lane;
  if (lane.stagedIndex >= 0) {
    self.stagedDone[size_t(lane.stagedIndex)] = true;
    while (self.stagedComplete < self.stagedDone.size() &&
           self.stagedDone[self.stagedComplete])
      ++self.stagedComplete;
  }
  if (lane.kind == Lane::Kind::own) {
    const Cut &cut = self.list.cuts[lane.cut];
    const auto release = [&](const Part &side) {
      Member *other = self.present->members[side.member];
      if (other && other != &self)
        finishOne(*other);
    };
    for (const Part &source : cut.sources)
      release(source);
    for (const Part &other : cut.others)
      release(other);
  }
  finishOne(self);
}

void MpiTransport::finishOne(Member &self) {
  if (--self.remaining > 0)
    return;
  self.complete.store(self.rounds, std::memory_order_release);
  if (self.told.waker)
    self.told.waker->wake();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Name of a request: the ticket, the lane, the chunk.
static uint64_t nameOf(Ticket ticket, uint32_t lane, uint32_t chunk) {
  return uint64_t(ticket) << 40 | uint64_t(lane) << 20 | chunk;
}

template <typename Start>
void MpiTransport::watch(const char *call, Member &self, LaneState &state,
                         uint32_t chunk, Start start) {
  // Also if it cannot be started: the chunk never ends.
  ++state.chunks[chunk].pending;
  engine->watch(call, *this, nameOf(self.ticket, state.index, chunk), start);
}

void MpiTransport::send(Member &self, LaneState &state, uint32_t chunk,
                        uint32_t stream, const std::byte *data,
                        uint64_t bytes) {
  const Stream &way = self.list.streams[stream];
  watch("MPI_Issend", self, state, chunk, [&](MPI_Request *request) {
    return MPI_Issend(data, int(bytes), MPI_BYTE,
                      int(processOf[self.told.ranks[way.other]]),
                      tagOf(self, way), communicator, request);
  });
}

void MpiTransport::receive(Member &self, LaneState &state, uint32_t chunk,
                           uint32_t stream, std::byte *data, uint64_t bytes) {
  const Stream &way = self.list.streams[stream];
  watch("MPI_Irecv", self, state, chunk, [&](MPI_Request *request) {
    return MPI_Irecv(data, int(bytes), MPI_BYTE,
                     int(processOf[self.told.ranks[way.other]]),
                     tagOf(self, way), communicator, request);
  });
}

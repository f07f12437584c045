//===- Lanes.cpp - what one member sends, receives and adds ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Pack.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace pprt;
using namespace pprt::mpi;

namespace {
/// Cuts moves into the cuts that one member takes part in: those of all members
/// together are quadratic in their number.
class Cutter {
public:
  Cutter(uint32_t member, const Limits &limits)
      : member(member), limits(limits) {}

  void cut(const Move &move);
  std::vector<Cut> cuts;

private:
  std::vector<Part> mineOf(const std::vector<Part> &parts) const;
  void cutSum(const Move &move, const Region &region, uint64_t source,
              uint64_t target);
  void add(const Move &move, Cut cut);

  const uint32_t member;
  const Limits &limits;
};
} // namespace

std::vector<Part> Cutter::mineOf(const std::vector<Part> &parts) const {
  std::vector<Part> mine;
  for (const Part &part : parts)
    if (part.member == member)
      mine.push_back(part);
  return mine;
}

/// Adds the cuts of a sum's targets in `region`, whose elements are contiguous.
void Cutter::cutSum(const Move &move, const Region &region, uint64_t source,
                    uint64_t target) {
  const std::vector<Part> mySources = mineOf(move.sources);
  const std::vector<Part> myTargets = mineOf(move.targets);
  const uint64_t n = move.targets.size();
  for (uint64_t t = 0; t < n; ++t) {
    const uint64_t begin = region.run * t / n;
    const uint64_t end = region.run * (t + 1) / n;
    Cut cut;
    cut.region.run = end - begin;
    const auto at = [](Part part, uint64_t offset) {
      part.offset += offset;
      return part;
    };
    cut.owner = at(move.targets[t], target + begin);
    const bool isMine = cut.owner.member == member;
    for (const Part &part : isMine ? move.sources : mySources)
      cut.sources.push_back(at(part, source + begin));
    if (isMine) {
      for (uint64_t other = 0; other < n; ++other)
        if (other != t)
          cut.others.push_back(at(move.targets[other], target + begin));
    } else {
      for (const Part &part : myTargets)
        cut.others.push_back(at(part, target + begin));
    }
    add(move, std::move(cut));
  }
}

void Cutter::cut(const Move &move) {
  const Region &region = move.region;
  if (move.sources.size() == 1 || move.targets.size() == 1) {
    const std::vector<Part> mySources = mineOf(move.sources);
    for (const Part &target : move.targets) {
      Cut cut;
      cut.region = region;
      cut.sources = target.member == member ? move.sources : mySources;
      cut.owner = target;
      add(move, std::move(cut));
    }
    return;
  }
  if (isDenseSource(region) && isDenseTarget(region)) {
    Region dense;
    dense.run = elementCount(region);
    return cutSum(move, dense, 0, 0);
  }
  // No collective needs this; it is correct, but slow.
  for (uint64_t outer = 0; outer < region.outer; ++outer)
    for (uint64_t middle = 0; middle < region.middle; ++middle) {
      Region run;
      run.run = region.run;
      cutSum(move, run,
             outer * region.sourceOuter + middle * region.sourceMiddle,
             outer * region.targetOuter + middle * region.targetMiddle);
    }
}

void Cutter::add(const Move &move, Cut cut) {
  const uint64_t count = elementCount(cut.region);
  if (count == 0 ||
      (cut.owner.member != member && cut.sources.empty() && cut.others.empty()))
    return;
  cut.element = move.element;
  cut.reduction = move.reduction;
  const uint64_t width = elementSize(cut.element);
  cut.isStaged = !isDenseSource(cut.region) || !isDenseTarget(cut.region);
  // A sum stages a chunk of each source, and its result if that is packed.
  uint64_t bytes = limits.messageBytes;
  if (move.sources.size() > 1 || cut.isStaged)
    bytes = std::min(bytes, limits.stagingBytes / kWindow /
                                (move.sources.size() + cut.isStaged));
  cut.chunk = std::clamp<uint64_t>(bytes / width, 1, count);
  cuts.push_back(std::move(cut));
}

namespace {
class LaneMaker {
public:
  LaneMaker(LaneList &list, uint32_t member,
            const std::function<bool(uint32_t)> &isLocal, const Limits &limits)
      : list(list), member(member), isLocal(isLocal), limits(limits) {}
  void add(uint32_t cut);

private:
  Lane::Remote remote(uint32_t other, bool isOut, bool isResult);
  void place(Lane &lane, uint64_t buffers);
  void addOwn(uint32_t index);

  LaneList &list;
  const uint32_t member;
  const std::function<bool(uint32_t)> &isLocal;
  const Limits &limits;
  std::map<std::tuple<uint32_t, bool, bool>, Lane::Remote> streams;
  uint64_t extent = 0; ///< staging so far, in whole buffers
  /// Begin and end of the staging of each staged lane so far.
  std::vector<std::pair<uint64_t, uint64_t>> staged;
};
} // namespace

/// Returns the lane's turn in a stream of messages.
Lane::Remote LaneMaker::remote(uint32_t other, bool isOut, bool isResult) {
  const auto [it, isNew] = streams.try_emplace({other, isOut, isResult});
  if (isNew) {
    it->second.stream = uint32_t(list.streams.size());
    it->second.turn = 0;
    list.streams.push_back({other, isOut, isResult});
  } else {
    ++it->second.turn;
  }
  return it->second;
}

/// Assigns `buffers` buffers to each chunk in transit: behind the staging of
/// the previous lane, or at the start again. The lane then waits for all lanes
/// whose staging overlaps.
void LaneMaker::place(Lane &lane, uint64_t buffers) {
  if (buffers == 0)
    return;
  const Cut &cut = list.cuts[lane.cut];
  // Each buffer is aligned for any element.
  const uint64_t buffer = (cut.chunk * elementSize(cut.element) + 63) / 64 * 64;
  lane.buffer = buffer;
  lane.chunkStaging = buffers * buffer;
  const uint64_t bytes =
      lane.chunkStaging * std::min<uint64_t>(kWindow, lane.chunks);
  uint64_t begin = staged.empty() ? 0 : staged.back().second;
  if (begin + bytes > std::max(limits.stagingBytes, extent))
    begin = 0;
  lane.staging = begin;
  lane.stagedIndex = int(staged.size());
  for (size_t before = staged.size(); before-- > 0;)
    if (staged[before].first < begin + bytes && begin < staged[before].second) {
      lane.stagedBefore = uint32_t(before + 1);
      break;
    }
  staged.push_back({begin, begin + bytes});
  extent = std::max(extent, begin + bytes);
  // The last buffer holds the chunks of one turn of the window, of which only
  // the lane's last chunk is smaller.
  const uint64_t last = std::min<uint64_t>(kWindow, lane.chunks) - 1;
  const uint64_t count =
      std::min(cut.chunk, elementCount(cut.region) - last * cut.chunk);
  list.stagingBytes =
      std::max(list.stagingBytes,
               begin + bytes - buffer + count * elementSize(cut.element));
}

void LaneMaker::addOwn(uint32_t index) {
  const Cut &cut = list.cuts[index];
  Lane lane = {};
  lane.kind = Lane::Kind::own;
  lane.cut = index;
  lane.part = cut.owner;
  lane.chunks =
      uint32_t((elementCount(cut.region) + cut.chunk - 1) / cut.chunk);
  for (const Part &source : cut.sources) {
    if (isLocal(source.member)) {
      lane.sourceRemote.push_back(-1);
      continue;
    }
    lane.sourceRemote.push_back(int(lane.remoteSources.size()));
    lane.remoteSources.push_back(remote(source.member, false, false));
  }
  for (size_t i = 0; i < cut.others.size(); ++i)
    if (isLocal(cut.others[i].member))
      lane.localOthers.push_back(uint32_t(i));
    else
      lane.remoteOthers.push_back(remote(cut.others[i].member, true, true));
  // A single source that comes in one piece and lies dense needs no staging.
  uint64_t buffers = 0;
  if (cut.sources.size() > 1)
    buffers = cut.isStaged ? cut.sources.size() + 1 : lane.remoteSources.size();
  else if (cut.isStaged)
    buffers = 1;
  place(lane, buffers);
  list.lanes.push_back(std::move(lane));
}

void LaneMaker::add(uint32_t index) {
  const Cut &cut = list.cuts[index];
  if (cut.owner.member == member)
    return addOwn(index);
  if (isLocal(cut.owner.member))
    return; // the owner reads and writes here
  Lane lane = {};
  lane.cut = index;
  lane.chunks =
      uint32_t((elementCount(cut.region) + cut.chunk - 1) / cut.chunk);
  int sendLane = -1;
  for (const Part &source : cut.sources)
    if (source.member == member) {
      lane.kind = Lane::Kind::send;
      lane.part = source;
      lane.remoteOthers = {remote(cut.owner.member, true, false)};
      place(lane, isDenseSource(cut.region) ? 0 : 1);
      sendLane = int(list.lanes.size());
      list.lanes.push_back(lane);
      break;
    }
  for (const Part &other : cut.others)
    if (other.member == member) {
      Lane result = {};
      result.cut = index;
      result.chunks = lane.chunks;
      result.kind = Lane::Kind::result;
      result.part = other;
      result.remoteSources = {remote(cut.owner.member, false, true)};
      result.sendLane = sendLane;
      list.lanes.push_back(std::move(result)); // only dense sums have others
      break;
    }
}

LaneList mpi::makeLanes(const std::vector<Move> &moves, uint32_t member,
                        const std::function<bool(uint32_t)> &isLocal,
                        const Limits &limits) {
  LaneList list;
  Cutter cutter(member, limits);
  for (const Move &move : moves)
    cutter.cut(move);
  list.cuts = std::move(cutter.cuts);
  LaneMaker maker(list, member, isLocal, limits);
  for (uint32_t cut = 0; cut < list.cuts.size(); ++cut)
    maker.add(cut);
  return list;
}

TransportModel mpi::model(std::vector<uint32_t> processOf,
                          const Limits &limits) {
  TransportModel model;
  model.stagingBytes = [processOf = std::move(processOf),
                        limits](const std::vector<Move> &moves,
                                const std::vector<uint32_t> &ranks,
                                uint32_t member) -> uint64_t {
    const auto isHere = [&](uint32_t other) {
      return processOf[ranks[other]] == processOf[ranks[member]];
    };
    bool areAllHere = true;
    for (uint32_t other = 0; other < ranks.size(); ++other)
      areAllHere &= isHere(other);
    // Then they meet as threads.
    return areAllHere ? 0
                      : makeLanes(moves, member, isHere, limits).stagingBytes;
  };
  return model;
}

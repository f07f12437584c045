//===- Warp.cpp - what threads of a warp do together ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whoever a mask names has to be there: Block.cpp lets those who come wait for
// those who are on their way.
//
//===----------------------------------------------------------------------===//
#include "Block.h"

#include <algorithm>

using namespace ptx;

static constexpr uint32_t kWarp = 32;

uint32_t Block::existingMask(uint32_t lane) const {
  const uint32_t first = lane / kWarp * kWarp;
  return threads - first >= kWarp ? ~uint32_t(0)
                                  : (uint32_t(1) << (threads - first)) - 1;
}

bool Block::meets(const Instruction &i, uint32_t lane, const Values &mask,
                  const char *what, uint32_t &wanted) {
  wanted = uint32_t(mask.bits[lane * mask.step]);
  if (mask.unknown[lane * mask.step])
    return fail(i, std::string(what) + " whose mask was never written", lane);
  if (!((wanted >> lane % kWarp) & 1))
    return fail(i,
                std::string(what) + " whose mask leaves out the thread itself",
                lane);
  wanted &= existingMask(lane);
  return (wanted & ~activeMask(lane)) == 0 ||
         fail(i, std::string(what) + " that not all threads of its mask reach",
              lane);
}

bool Block::shuffle(const Instruction &i) {
  Values value = valuesOf(i.operands[0]), by = valuesOf(i.operands[1]),
         bounds = valuesOf(i.operands[2]), mask = valuesOf(i.operands[3]);
  std::vector<std::pair<uint64_t, bool>> results;
  std::vector<bool> inside;
  for (uint32_t lane : active) {
    uint32_t wanted;
    if (!meets(i, lane, mask, "a shuffle", wanted))
      return false;
    if (by.unknown[lane * by.step] || bounds.unknown[lane * bounds.step])
      return fail(i, "a shuffle from a lane whose number was never written",
                  lane);
    const uint32_t self = lane % kWarp, first = lane - self;
    const uint32_t b = uint32_t(by.bits[lane * by.step]) & 31,
                   c = uint32_t(bounds.bits[lane * bounds.step]);
    const uint32_t clamp = c & 31, segment = (c >> 8) & 31;
    const int maxLane = (self & segment) | (clamp & ~segment & 31);
    const int minLane = self & segment;
    int from = self;
    bool isInside = false;
    switch (i.shuffle) {
    case ShuffleMode::Butterfly:
      from = self ^ b;
      isInside = from <= maxLane;
      break;
    case ShuffleMode::Index:
      from = minLane | (b & ~segment & 31);
      isInside = from <= maxLane;
      break;
    }
    if (!isInside)
      from = self;
    if (!((wanted >> from) & 1))
      return fail(i, "a shuffle from a thread that is not there", lane);
    const uint32_t source = first + from;
    results.push_back({value.bits[source * value.step],
                       value.unknown[source * value.step] != 0});
    inside.push_back(isInside);
  }
  for (size_t index = 0; index < active.size(); ++index) {
    set(i.results[0], active[index], results[index].first,
        results[index].second);
    if (i.results.size() > 1)
      set(i.results[1], active[index], inside[index], false);
  }
  return true;
}

bool Block::vote(const Instruction &i) {
  std::vector<std::pair<uint64_t, bool>> results;
  for (uint32_t lane : active) {
    if (i.op == Op::Activemask) {
      results.push_back({activeMask(lane), false});
      continue;
    }
    Values condition = valuesOf(i.operands[0]), mask = valuesOf(i.operands[1]);
    uint32_t all;
    if (!meets(i, lane, mask, "a vote", all))
      return false;
    const uint32_t first = lane / kWarp * kWarp;
    uint32_t ballot = 0;
    bool unknown = false;
    for (uint32_t other = 0; other < kWarp; ++other)
      if (all >> other & 1) {
        const size_t place = (first + other) * condition.step;
        ballot |=
            uint32_t(bool(condition.bits[place] & 1) != i.operands[0].negated)
            << other;
        unknown |= condition.unknown[place] != 0;
      }
    results.push_back({ballot, unknown});
  }
  for (size_t index = 0; index < active.size(); ++index)
    set(i.results[0], active[index], results[index].first,
        results[index].second);
  return true;
}

bool Block::reduceWarp(const Instruction &i) {
  Values value = valuesOf(i.operands[0]), mask = valuesOf(i.operands[1]);
  Instruction combine = i;
  combine.op = i.combine;
  std::vector<std::pair<uint64_t, bool>> results;
  for (uint32_t lane : active) {
    uint32_t all;
    if (!meets(i, lane, mask, "a reduction", all))
      return false;
    const uint32_t first = lane / kWarp * kWarp;
    uint64_t result = 0;
    Carry none;
    bool isFirst = true, unknown = false;
    for (uint32_t other = 0; other < kWarp; ++other) {
      if (!(all >> other & 1))
        continue;
      const uint64_t bits = value.bits[(first + other) * value.step];
      if (isFirst)
        result = bits;
      else if (!compute(combine, result, bits, 0, none, approximation, result))
        return fail(i, "a reduction that is not known here", lane);
      unknown |= value.unknown[(first + other) * value.step] != 0;
      isFirst = false;
    }
    results.push_back({result, unknown});
  }
  for (size_t index = 0; index < active.size(); ++index)
    set(i.results[0], active[index], results[index].first,
        results[index].second);
  return true;
}

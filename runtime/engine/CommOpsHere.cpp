//===- CommOpsHere.cpp - the comm ops of a process ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CommOpsHere.h"

#include <algorithm>

using namespace pprt;

bool CommOpHere::isWithin(RankRange range) const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](uint32_t rank) { return range.contains(rank); });
}

Participant CommOpHere::participant() const {
  Participant its;
  its.place = all.number(place);
  its.section = section;
  its.commOp = number;
  its.ranks = ranks;
  its.moves = std::make_shared<const std::vector<Move>>(moves());
  return its;
}

static Status checkLengths(const CommOps &all, const CommPlace &place,
                           const std::vector<uint32_t> &ranks) {
  const size_t expected = all.sequence(place, 0, ranks[0]).size();
  for (uint32_t member = 1; member < ranks.size(); ++member)
    if (const size_t got = all.sequence(place, member, ranks[member]).size();
        got != expected)
      return Status(ExitCode::checkFailed,
                    std::string(place.isGroup ? "group" : "edge") +
                        " expects as many instructions on rank " +
                        std::to_string(ranks[member]) + " as on rank " +
                        std::to_string(ranks[0]) + ", " +
                        std::to_string(expected) + ", got " +
                        std::to_string(got));
  return {};
}

Status pprt::forEachCommOp(const Ranks &programs, RankRange range,
                           Section section,
                           const std::function<Status(const CommOpHere &)> &f) {
  const CommOps all(programs, section);
  for (const CommPlace &place : all.places(range)) {
    const std::vector<uint32_t> ranks = all.members(place);
    if (Status status = checkLengths(all, place, ranks); !status.ok())
      return status;
    const size_t count = all.sequence(place, 0, ranks[0]).size();
    for (uint32_t number = 0; number < count; ++number)
      if (Status status = f({all, place, number, section, ranks}); !status.ok())
        return status;
  }
  return {};
}

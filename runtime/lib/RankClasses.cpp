//===- RankClasses.cpp - ranks that nothing can tell apart ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/RankClasses.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

using namespace pprt;

namespace {

/// Rows of numbers, one behind the other.
struct Table {
  std::vector<uint32_t> numbers;
  std::vector<size_t> ends;

  void endRow() { ends.push_back(numbers.size()); }
  /// Numbers the rows from 0 in the order of their first occurrence, equal rows
  /// alike. Returns the numbers and how many there are.
  std::pair<std::vector<uint32_t>, uint32_t> number() const;
};

} // namespace

std::pair<std::vector<uint32_t>, uint32_t> Table::number() const {
  const auto begin = [&](uint32_t row) {
    return numbers.begin() + ptrdiff_t(row == 0 ? 0 : ends[row - 1]);
  };
  const auto end = [&](uint32_t row) {
    return numbers.begin() + ptrdiff_t(ends[row]);
  };
  std::vector<uint32_t> order(ends.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(begin(a), end(a), begin(b), end(b));
  });
  std::vector<uint32_t> result(ends.size());
  uint32_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    count += i == 0 || !std::equal(begin(order[i - 1]), end(order[i - 1]),
                                   begin(order[i]), end(order[i]));
    result[order[i]] = count - 1;
  }
  return {std::move(result), count};
}

/// Returns the places of all sections.
static std::vector<CommPlace> findPlaces(const Ranks &ranks) {
  std::vector<CommPlace> places;
  for (Section section : kSections) {
    const std::vector<CommPlace> more =
        CommOps(ranks, section).places({0, ranks.mesh.worldSize()});
    places.insert(places.end(), more.begin(), more.end());
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

std::vector<uint32_t>
pprt::numberCompanies(const Ranks &ranks, const CommOps &commOps,
                      const std::vector<CommPlace> &places,
                      const std::vector<uint32_t> &classOf) {
  // The place as members' programs know it, by stages or group, then the
  // classes that meet there. The sender of an edge comes first.
  Table kinds;
  for (const CommPlace &place : places) {
    std::vector<uint32_t> &row = kinds.numbers;
    row.insert(row.end(),
               {place.isGroup,
                place.isGroup ? place.first : ranks.mesh.stage(place.first),
                place.isGroup ? 0 : ranks.mesh.stage(place.second)});
    const auto first = ptrdiff_t(row.size());
    for (uint32_t member : commOps.members(place))
      row.push_back(classOf[member]);
    if (place.isGroup)
      std::sort(row.begin() + first, row.end());
    kinds.endRow();
  }
  return kinds.number().first;
}

RankClasses RankClasses::coarsest(const Ranks &ranks, uint64_t &operations) {
  const uint32_t worldSize = ranks.mesh.worldSize();
  const CommOps commOps(ranks, Section::body);
  const std::vector<CommPlace> places = findPlaces(ranks);
  // The places of rank r are those[first[r] .. first[r+1]).
  std::vector<size_t> first(worldSize + 1);
  for (const CommPlace &place : places)
    for (uint32_t member : commOps.members(place))
      ++first[member + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> those(first.back());
  std::vector<size_t> end(first.begin(), first.end() - 1);
  for (uint32_t i = 0; i < places.size(); ++i)
    for (uint32_t member : commOps.members(places[i]))
      those[end[member]++] = i;
  std::vector<uint32_t> classOf(worldSize);
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    classOf[rank] = ranks.programOf(rank);
  for (uint32_t count = 0;;) {
    operations += worldSize + those.size();
    const std::vector<uint32_t> kinds =
        numberCompanies(ranks, commOps, places, classOf);
    // A rank's class and all that it meets.
    Table signatures;
    for (uint32_t rank = 0; rank < worldSize; ++rank) {
      std::vector<uint32_t> &row = signatures.numbers;
      row.push_back(classOf[rank]);
      const auto begin = ptrdiff_t(row.size());
      for (size_t i = first[rank]; i < first[rank + 1]; ++i)
        row.push_back(kinds[those[i]]);
      std::sort(row.begin() + begin, row.end());
      signatures.endRow();
    }
    const uint32_t before = std::exchange(count, 0);
    std::tie(classOf, count) = signatures.number();
    // Rounds only split classes.
    if (count == before)
      break;
  }
  RankClasses result;
  std::map<uint32_t, uint32_t> speakers;
  for (uint32_t rank = 0; rank < worldSize; ++rank) {
    const auto [known, isNew] = speakers.try_emplace(classOf[rank], rank);
    if (isNew)
      result.all.push_back(rank);
    result.speaker.push_back(known->second);
  }
  return result;
}

RankClasses RankClasses::apart(const Ranks &ranks) {
  RankClasses result;
  result.all.resize(ranks.mesh.worldSize());
  std::iota(result.all.begin(), result.all.end(), 0);
  result.speaker = result.all;
  return result;
}

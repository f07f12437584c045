//===- RankClasses.cpp - ranks that nothing can tell apart ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/RankClasses.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace pprt;

namespace {

/// A place of any section, and who meets there.
struct Company {
  /// What a member's program says of the place, before the stages or the group.
  bool isGroup;
  uint32_t first, second; ///< the stages of an edge; the group
  std::vector<uint32_t> members;
};

} // namespace

static std::vector<Company> findCompanies(const Ranks &ranks) {
  std::vector<MeetingPlace> places;
  for (Section section : kSections)
    for (const MeetingPlace &place :
         Meetings(ranks, section).places({0, ranks.mesh.worldSize()}))
      places.push_back(place);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const Meetings meetings(ranks, Section::body);
  std::vector<Company> companies;
  for (const MeetingPlace &place : places)
    companies.push_back(
        {place.isGroup,
         place.isGroup ? place.first : ranks.mesh.stage(place.first),
         place.isGroup ? 0 : ranks.mesh.stage(place.second),
         meetings.members(place)});
  return companies;
}

RankClasses RankClasses::coarsest(const Ranks &ranks, uint64_t &operations) {
  const uint32_t worldSize = ranks.mesh.worldSize();
  const std::vector<Company> companies = findCompanies(ranks);
  std::vector<uint32_t> classOf(worldSize);
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    classOf[rank] = ranks.programOf(rank);
  for (size_t count = 0;;) {
    // Numbers for what meets at a place, then for a rank's class and all that
    // it meets.
    std::map<std::vector<uint32_t>, uint32_t> kinds, classes;
    const auto numberOf = [](auto &numbers, std::vector<uint32_t> key) {
      return numbers.try_emplace(std::move(key), uint32_t(numbers.size()))
          .first->second;
    };
    std::vector<std::vector<uint32_t>> signatures(worldSize);
    for (uint32_t rank = 0; rank < worldSize; ++rank)
      signatures[rank] = {classOf[rank]};
    operations += worldSize;
    for (const Company &company : companies) {
      operations += company.members.size();
      std::vector<uint32_t> kind;
      for (uint32_t member : company.members)
        kind.push_back(classOf[member]);
      std::sort(kind.begin(), kind.end());
      kind.insert(kind.end(), {company.isGroup, company.first, company.second});
      const uint32_t number = numberOf(kinds, std::move(kind));
      for (uint32_t member : company.members)
        signatures[member].push_back(number);
    }
    for (uint32_t rank = 0; rank < worldSize; ++rank) {
      std::sort(signatures[rank].begin() + 1, signatures[rank].end());
      classOf[rank] = numberOf(classes, std::move(signatures[rank]));
    }
    // Classes are only ever split.
    if (classes.size() == count)
      break;
    count = classes.size();
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

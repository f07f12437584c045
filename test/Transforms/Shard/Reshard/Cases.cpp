//===- Cases.cpp - The questions put to the reshard planner ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

namespace pp::reshard::judge {

/// Gives axis `axis` and all later ones every use there is.
static void place(const Case &test, Reduction reduction, size_t axis,
                  TensorSharding &sharding,
                  std::vector<TensorSharding> &found) {
  if (axis == test.mesh.size()) {
    for (size_t dim = 0; dim < test.shape.size(); ++dim) {
      int64_t shards = 1;
      for (int splitter : sharding.dims[dim])
        shards *= test.mesh[splitter].size;
      if (test.shape[dim] % shards != 0)
        return;
    }
    found.push_back(sharding);
    return;
  }
  place(test, reduction, axis + 1, sharding, found);
  sharding.partial.push_back({static_cast<int>(axis), reduction});
  place(test, reduction, axis + 1, sharding, found);
  sharding.partial.pop_back();
  for (std::vector<int> &axes : sharding.dims)
    for (size_t position = 0; position <= axes.size(); ++position) {
      axes.insert(axes.begin() + position, static_cast<int>(axis));
      place(test, reduction, axis + 1, sharding, found);
      axes.erase(axes.begin() + position);
    }
}

std::vector<TensorSharding> Case::shardings(Reduction reduction) const {
  TensorSharding sharding;
  sharding.dims.resize(shape.size());
  std::vector<TensorSharding> found;
  place(*this, reduction, 0, sharding, found);
  return found;
}

// Figures of the order of one machine (fast) and of a network (slow), and two
// extremes: only bytes count, only rounds count.
static const AxisLink fast{2e-6, 1e-11};
static const AxisLink slow{2e-5, 4e-10};
static const AxisLink bytesOnly{0, 1e-9};
static const AxisLink roundsOnly{1e-6, 0};

std::vector<Case> smallCases() {
  return {
      {"OneAxis", {{"a", 3}}, {fast}, {18, 18}},
      {"OneAxisVector", {{"a", 4}}, {fast}, {16}},
      {"Scalar", {{"a", 2}, {"b", 3}}, {slow, fast}, {}},
      {"TwoByThree", {{"a", 2}, {"b", 3}}, {fast, fast}, {18, 18}},
      {"TwoByThreeSlowMajor", {{"a", 2}, {"b", 3}}, {slow, fast}, {18, 18}},
      {"TwoByThreeSlowMinor", {{"a", 2}, {"b", 3}}, {fast, slow}, {18, 18}},
      {"TwoByThreeBytes",
       {{"a", 2}, {"b", 3}},
       {bytesOnly, bytesOnly},
       {18, 18}},
      {"TwoByThreeRounds",
       {{"a", 2}, {"b", 3}},
       {roundsOnly, roundsOnly},
       {18, 18}},
      {"TwoByThreeLarge", {{"a", 2}, {"b", 3}}, {slow, fast}, {1800, 72}},
      {"TwoByThreeIndivisible", {{"a", 2}, {"b", 3}}, {fast, slow}, {6, 2}},
      {"ThreeByThree", {{"a", 3}, {"b", 3}}, {fast, slow}, {18, 18}},
      {"TwoByTwo", {{"a", 2}, {"b", 2}}, {slow, fast}, {16, 16}},
      {"FourByTwo", {{"a", 4}, {"b", 2}}, {fast, bytesOnly}, {16, 8}},
  };
}

std::vector<Case> largeCases() {
  Mesh twoTwoThree{{"a", 2}, {"b", 2}, {"c", 3}};
  return {
      {"TwoTwoThree", twoTwoThree, {fast, fast, fast}, {12, 12, 12}},
      {"TwoTwoThreeMixed", twoTwoThree, {slow, fast, bytesOnly}, {12, 12, 12}},
      {"TwoTwoThreeIndivisible", twoTwoThree, {slow, slow, fast}, {12, 4, 6}},
      {"FourTwoTwo",
       {{"a", 4}, {"b", 2}, {"c", 2}},
       {fast, slow, fast},
       {16, 16, 8}},
  };
}

} // namespace pp::reshard::judge

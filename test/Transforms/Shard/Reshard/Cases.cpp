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

// Figures of the order of one machine (fast) and of a network (slow), and
// extremes: only bytes count, only rounds count, nothing counts.
static const AxisLink fast{2e-6, 1e-11};
static const AxisLink slow{2e-5, 4e-10};
static const AxisLink bytesOnly{0, 1e-9};
static const AxisLink roundsOnly{1e-6, 0};
static const AxisLink free{0, 0};

static const Mesh twoByTwo{{"a", 2}, {"b", 2}};
static const Mesh twoByThree{{"a", 2}, {"b", 3}};
static const Mesh threeByThree{{"a", 3}, {"b", 3}};
static const Mesh fourByTwo{{"a", 4}, {"b", 2}};
static const Mesh twoFixedTwo{{"a", 2}, {"t", 2, true}, {"b", 2}};
static const Mesh twoTwoThree{{"a", 2}, {"b", 2}, {"c", 3}};
static const Mesh fourTwoTwo{{"a", 4}, {"b", 2}, {"c", 2}};

std::vector<Case> tinyCases() {
  return {
      {"TwoByTwo", twoByTwo, {slow, fast}, {4, 4}, 1 << 16},
      {"TwoByTwoBytes", twoByTwo, {bytesOnly, bytesOnly}, {4, 4}, 4},
      {"TwoByThree", twoByThree, {fast, slow}, {6, 6}, 1 << 16},
  };
}

std::vector<Case> smallCases() {
  return {
      {"OneAxis", {{"a", 3}}, {fast}, {18, 18}, 4},
      {"OneAxisVector", {{"a", 4}}, {fast}, {16}, 4},
      {"Scalar", twoByThree, {slow, fast}, {}, 4},
      {"ScalarBytes", twoByThree, {bytesOnly, bytesOnly}, {}, 4},
      {"TwoByThree", twoByThree, {fast, fast}, {18, 18}, 4},
      {"TwoByThreeSlowMajor", twoByThree, {slow, fast}, {18, 18}, 1 << 12},
      {"TwoByThreeSlowMinor", twoByThree, {fast, slow}, {18, 18}, 1 << 16},
      {"TwoByThreeBytes", twoByThree, {bytesOnly, bytesOnly}, {18, 18}, 4},
      {"TwoByThreeRounds", twoByThree, {roundsOnly, roundsOnly}, {18, 18}, 4},
      {"TwoByThreeFree", twoByThree, {free, free}, {18, 18}, 4},
      {"TwoByThreeIndivisible", twoByThree, {fast, slow}, {6, 2}, 1 << 16},
      {"ThreeByThree", threeByThree, {fast, slow}, {18, 18}, 1 << 12},
      {"TwoByTwo", twoByTwo, {slow, fast}, {16, 16}, 1 << 10},
      {"FourByTwo", fourByTwo, {fast, bytesOnly}, {16, 8}, 4},
  };
}

std::vector<Case> largeCases() {
  return {
      {"TwoTwoThree", twoTwoThree, {fast, fast, fast}, {12, 12, 12}, 1 << 12},
      {"TwoTwoThreeIndivisible",
       twoTwoThree,
       {slow, bytesOnly, fast},
       {12, 4, 6},
       1 << 16},
      {"TwoFixedTwo", twoFixedTwo, {slow, fast, fast}, {8, 8, 8}, 1 << 8},
      {"FourTwoTwo", fourTwoTwo, {fast, slow, fast}, {16, 8, 4}, 1 << 10},
  };
}

} // namespace pp::reshard::judge

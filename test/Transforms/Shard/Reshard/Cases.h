//===- Cases.h - The questions put to the reshard planner -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the tests of the reshard planner, each of which answers them in its own
// way.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TEST_TRANSFORMS_SHARD_RESHARD_CASES_H
#define PP_TEST_TRANSFORMS_SHARD_RESHARD_CASES_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include <ostream>

namespace pp::reshard::judge {

struct Case {
  std::string name;
  Mesh mesh;
  LinkModel links;
  std::vector<int64_t> shape;
  /// Large ones make small tensors dear.
  int64_t elementBytes;

  /// Every sharding that divides the shape, partial ones included.
  std::vector<TensorSharding> shardings(Reduction reduction) const;
};

/// How GoogleTest shows a case.
inline void PrintTo(const Case &test, std::ostream *os) { *os << test.name; }

/// Tensors of rank 2 on two axes, with few devices.
std::vector<Case> tinyCases();

/// Tensors of rank 0 to 2 on one and two axes.
std::vector<Case> smallCases();

/// Tensors of rank 3 on three axes.
std::vector<Case> largeCases();

} // namespace pp::reshard::judge

#endif // PP_TEST_TRANSFORMS_SHARD_RESHARD_CASES_H

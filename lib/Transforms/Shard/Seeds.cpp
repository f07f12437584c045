//===- Seeds.cpp - which seed a plan has for an argument ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Seeds.h"

using namespace mlir;
using namespace pp;

bool pp::matchesPattern(StringRef pattern, StringRef name) {
  SmallVector<StringRef> parts;
  pattern.split(parts, '*');
  if (parts.size() == 1)
    return pattern == name;
  if (!name.consume_front(parts.front()))
    return false;
  // Leftmost matches of the inner parts leave the most for the last one.
  for (StringRef part : ArrayRef(parts).drop_front().drop_back()) {
    size_t position = name.find(part);
    if (position == StringRef::npos)
      return false;
    name = name.drop_front(position + part.size());
  }
  return name.ends_with(parts.back());
}

int64_t pp::getSeedPriority(PlanAttr plan, StringRef name, unsigned dim) {
  for (SeedAttr seed : plan.getSeeds())
    if (dim < seed.getDims().size() && !seed.getDims()[dim].getAxes().empty() &&
        matchesPattern(seed.getPattern(), name))
      return seed.getPriority();
  return 0;
}

//===- Seeds.cpp - which seeds a plan has for an argument -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Seeds.h"
#include "llvm/ADT/StringExtras.h"

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

std::string pp::generalize(StringRef name) {
  SmallVector<StringRef> words;
  name.split(words, '.');
  for (StringRef &word : words)
    if (!word.empty() && llvm::all_of(word, llvm::isDigit))
      word = "*";
  return llvm::join(words, ".");
}

std::string pp::spellMost(MeshAttr mesh, ArrayRef<StringAttr> axes,
                          int64_t size) {
  const std::string last = axes.back().str();
  const int64_t others = mesh.sizeOf(axes.drop_back());
  return others > size
             ? "no " + last + " is small enough"
             : last + "=" + std::to_string(size / others) + " is the most";
}

SeedTable::SeedTable(PlanAttr plan) : plan(plan) {
  for (auto [number, seed] : llvm::enumerate(plan.getSeeds())) {
    StringRef pattern = seed.getPattern();
    if (pattern.contains('*'))
      patterns.push_back(number);
    else
      names[pattern].push_back(number);
  }
}

SmallVector<unsigned, 2> SeedTable::lookup(StringRef name) const {
  SmallVector<unsigned, 2> found;
  if (auto it = names.find(name); it != names.end())
    llvm::append_range(found, it->second);
  for (unsigned number : patterns)
    if (matchesPattern(plan.getSeeds()[number].getPattern(), name))
      found.push_back(number);
  llvm::sort(found);
  return found;
}

SeedAttr SeedTable::findSeed(StringRef name, unsigned dim,
                             StringAttr axis) const {
  SeedAttr first;
  for (unsigned number : lookup(name)) {
    SeedAttr seed = plan.getSeeds()[number];
    if (dim < seed.getDims().size() &&
        llvm::is_contained(seed.getDims()[dim].getAxes(), axis) &&
        (!first || seed.getPriority() < first.getPriority()))
      first = seed;
  }
  return first;
}

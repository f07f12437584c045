//===- Seeds.cpp - the seeds of a name ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Seeds.h"
#include "pprt/LayerName.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

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

std::string pp::generalize(StringRef name) { return pprt::anyLayer(name); }

std::string pp::spellMost(MeshAttr mesh, ArrayRef<StringAttr> axes,
                          int64_t size, bool mayRepeat) {
  const StringRef last = MeshAxisAttr::getWhole(axes.back());
  SmallVector<StringAttr> before(axes);
  llvm::erase_if(before, [&](StringAttr axis) {
    return MeshAxisAttr::getWhole(axis) == last;
  });
  const int64_t others = mesh.sizeOf(before);
  mayRepeat &= size > 1;
  const std::string multiples =
      mayRepeat
          ? ", a multiple of " + std::to_string(size / std::gcd(size, others)) +
                " where another dimension takes the rest"
          : "";
  if (before.empty() || others * 2 <= size)
    return (last + "=" + Twine(size / others) +
            (mayRepeat ? " fits" : " is the most") + multiples)
        .str();
  return ("no " + last + " is small enough: leave " + last + " out" + multiples)
      .str();
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

bool pp::isPrefix(DimShardingAttr less, DimShardingAttr more) {
  return more.getAxes().take_front(less.getAxes().size()) == less.getAxes();
}

/// Whether `pattern` matches everything that `other` matches, and more.
static bool isMoreGeneral(StringRef pattern, StringRef other) {
  return matchesPattern(pattern, other) && !matchesPattern(other, pattern);
}

static bool canBothHold(DimShardingAttr a, DimShardingAttr b) {
  return a == b || (a.getIsOpen() && isPrefix(a, b)) ||
         (b.getIsOpen() && isPrefix(b, a));
}

/// Opens the dimensions of `general` that do not fit `exact`: by the same
/// dimension, or by the axis in another.
static void yieldTo(SeedAttr exact, MatchedSeed &general) {
  const auto open = DimShardingAttr::get(exact.getContext(), {},
                                         /*isOpen=*/true);
  // A barrier goes with no other seed.
  const bool areApart = exact.getIsBarrier() || general.seed.getIsBarrier();
  bool hasYielded = areApart;
  for (size_t dim = 0; dim < general.dims.size(); ++dim) {
    DimShardingAttr &mine = general.dims[dim];
    bool fits = !areApart;
    for (size_t other = 0; other < exact.getDims().size(); ++other) {
      const DimShardingAttr said = exact.getDims()[other];
      fits &= other == dim ? canBothHold(mine, said)
                           : llvm::none_of(mine.getAxes(), [&](auto axis) {
                               return llvm::is_contained(said.getAxes(), axis);
                             });
    }
    hasYielded |= !fits;
    mine = fits ? mine : open;
  }
  general.isOverruled |=
      hasYielded && llvm::all_of(general.dims, [&](DimShardingAttr dim) {
        return dim == open;
      });
}

SmallVector<MatchedSeed, 2> SeedTable::lookup(StringRef name) const {
  SmallVector<unsigned, 2> numbers;
  if (auto it = names.find(name); it != names.end())
    llvm::append_range(numbers, it->second);
  for (unsigned number : patterns)
    if (matchesPattern(plan.getSeeds()[number].getPattern(), name))
      numbers.push_back(number);
  llvm::sort(numbers);
  SmallVector<MatchedSeed, 2> found;
  for (unsigned number : numbers) {
    SeedAttr seed = plan.getSeeds()[number];
    MatchedSeed &match = found.emplace_back(
        MatchedSeed{number, seed, llvm::to_vector(seed.getDims())});
    for (unsigned other : numbers)
      if (SeedAttr exact = plan.getSeeds()[other];
          isMoreGeneral(seed.getPattern(), exact.getPattern()))
        yieldTo(exact, match);
  }
  return found;
}

SeedAttr SeedTable::findSeed(StringRef name, unsigned dim,
                             StringAttr axis) const {
  SeedAttr first;
  for (const MatchedSeed &match : lookup(name))
    if (dim < match.dims.size() &&
        llvm::is_contained(match.dims[dim].getAxes(), axis) &&
        (!first || match.seed.getPriority() < first.getPriority()))
      first = match.seed;
  return first;
}

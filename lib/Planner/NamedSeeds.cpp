//===- NamedSeeds.cpp - seeds for arguments and named values --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "NamedSeeds.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

bool pp::isGiven(BlockArgument argument) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return main.getArgAttr(argument.getArgNumber(), attrs::kSharding) != nullptr;
}

/// The names that a seed may mean.
static SmallVector<StringRef> getSeedable(func::FuncOp main) {
  SmallVector<StringRef> names;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    names.push_back(getArgName(main, index));
  for (auto name : main.getOps<NameOp>())
    if (!name.getGradient())
      names.push_back(name.getName());
  return names;
}

void pp::appendSeeds(func::FuncOp main, ArrayRef<NamedSharding> shardings,
                     int64_t priority, SmallVectorImpl<SeedAttr> &seeds) {
  if (shardings.empty())
    return;
  llvm::MapVector<StringRef, SmallVector<unsigned>> groups; // positions
  SmallVector<std::string> patterns;
  for (const NamedSharding &sharding : shardings)
    patterns.push_back(generalize(sharding.name));
  for (auto [position, pattern] : llvm::enumerate(patterns))
    groups[pattern].push_back(position);
  auto add = [&](StringRef pattern, const NamedSharding &sharding) {
    seeds.push_back(SeedAttr::get(main.getContext(),
                                  StringAttr::get(main.getContext(), pattern),
                                  sharding.dims, priority, sharding.isBarrier));
  };
  const SmallVector<StringRef> names = getSeedable(main);
  auto countMatches = [&](StringRef pattern) -> size_t {
    if (!pattern.contains('*')) // a name, and names are unique
      return 1;
    return llvm::count_if(
        names, [&](StringRef name) { return matchesPattern(pattern, name); });
  };
  for (auto &[pattern, members] : groups) {
    const NamedSharding &first = shardings[members.front()];
    bool isUniform = countMatches(pattern) == members.size() &&
                     llvm::all_of(members, [&](unsigned member) {
                       return shardings[member].dims == first.dims;
                     });
    if (isUniform) {
      add(pattern, first);
      continue;
    }
    for (unsigned member : members)
      add(shardings[member].name, shardings[member]);
  }
}

LogicalResult pp::checkSize(Operation *at, const Twine &what, Type type,
                            unsigned dim, MeshAttr mesh,
                            ArrayRef<StringAttr> axes, Otherwise otherwise) {
  const int64_t size = cast<RankedTensorType>(type).getDimSize(dim);
  const int64_t shards = mesh.sizeOf(axes);
  if (axes.empty() || size >= shards)
    return success();
  InFlightDiagnostic error = at->emitError()
                             << what << " expects at least " << shards
                             << " elements in dimension " << dim << " of "
                             << type << ", one per shard over ";
  llvm::interleave(
      axes, [&](StringAttr axis) { error << axis; }, [&] { error << " and "; });
  return error << ", got " << size << ": "
               << spellMost(mesh, axes, size, otherwise == Otherwise::Repeated)
               << (otherwise == Otherwise::No
                       ? ""
                       : ", or give a plan whose seeds leave it whole");
}

LogicalResult pp::checkSize(BlockArgument argument, unsigned dim, MeshAttr mesh,
                            ArrayRef<StringAttr> axes, bool mayRepeat) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return checkSize(
      main, "argument \"" + getArgName(main, argument.getArgNumber()) + "\"",
      argument.getType(), dim, mesh, axes,
      getArgRole(main, argument.getArgNumber()) != Role::Param ? Otherwise::No
      : mayRepeat ? Otherwise::Repeated
                  : Otherwise::Whole);
}

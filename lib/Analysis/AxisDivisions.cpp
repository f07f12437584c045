//===- AxisDivisions.cpp - axes of a mesh, divided into parts -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/AxisDivisions.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pp;

DimShardingAttr pp::inParts(DimShardingAttr dim, MeshAttr mesh) {
  SmallVector<StringAttr> names;
  for (StringAttr name : dim.getAxes()) {
    const SmallVector<StringAttr> parts = mesh.partsOf(name);
    llvm::append_range(names, parts.empty() ? ArrayRef(name) : ArrayRef(parts));
  }
  return DimShardingAttr::get(dim.getContext(), names, dim.getIsOpen());
}

void AxisDivisions::add(int axis, int64_t size) {
  SmallVector<int64_t, 2> &ofAxis = majors[axis];
  auto *place = llvm::lower_bound(ofAxis, size);
  const bool isNew = place == ofAxis.end() || *place != size;
  const bool follows = place == ofAxis.begin() || size % place[-1] == 0;
  if (isNew && follows && (place == ofAxis.end() || *place % size == 0))
    ofAxis.insert(place, size);
}

bool AxisDivisions::empty() const {
  return llvm::all_of(majors,
                      [](const auto &ofAxis) { return ofAxis.empty(); });
}

SmallVector<int64_t> AxisDivisions::sizesOf(int axis) const {
  SmallVector<int64_t> sizes;
  int64_t before = 1;
  for (int64_t major : majors[axis]) {
    sizes.push_back(major / before);
    before = major;
  }
  sizes.push_back(mesh.getAxes()[axis].getSize() / before);
  return sizes;
}

AttrTypeReplacer AxisDivisions::getReplacer() const {
  MLIRContext *context = mesh.getContext();
  // The parts of a divided axis get new numbers.
  llvm::StringMap<bool> isDivided;
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes()))
    isDivided[MeshAxisAttr::getWhole(axis.getName())] |=
        !majors[number].empty();
  llvm::StringMap<int> numbers;
  DenseMap<StringAttr, SmallVector<StringAttr>> parts;
  SmallVector<MeshAxisAttr> axes;
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    const StringRef whole = MeshAxisAttr::getWhole(axis.getName());
    if (!isDivided[whole]) {
      parts[axis.getName()] = {axis.getName()};
      axes.push_back(axis);
      continue;
    }
    for (int64_t size : sizesOf(number)) {
      auto name =
          StringAttr::get(context, whole + "." + Twine(numbers[whole]++));
      parts[axis.getName()].push_back(name);
      axes.push_back(MeshAxisAttr::get(context, name, size, axis.getKind()));
    }
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [from = mesh, to = MeshAttr::get(context, axes)](MeshAttr other) {
        return std::pair<Attribute, WalkResult>(other == from ? to : other,
                                                WalkResult::skip());
      });
  replacer.addReplacement(
      [from = mesh, parts = std::move(parts)](DimShardingAttr dim) {
        SmallVector<StringAttr> divided;
        for (StringAttr name : inParts(dim, from).getAxes())
          llvm::append_range(divided, parts.lookup(name));
        return std::pair<Attribute, WalkResult>(
            DimShardingAttr::get(dim.getContext(), divided, dim.getIsOpen()),
            WalkResult::skip());
      });
  return replacer;
}

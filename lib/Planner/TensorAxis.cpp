//===- TensorAxis.cpp - the axis of tensors, in parts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "TensorAxis.h"
#include "pp/Analysis/AxisDivisions.h"

using namespace mlir;
using namespace pp;

/// Whether some of its first parts are `end` devices together.
bool TensorAxis::hasPartsAt(int64_t end) const {
  int64_t before = 1;
  for (StringAttr name : names())
    if (before < end)
      before *= divided.lookup(name).getSize();
  return before == end;
}

std::optional<TensorAxis> TensorAxis::divide(MeshAttr mesh,
                                             const AxisParts &parts) {
  TensorAxis axis(mesh);
  SmallVector<int64_t> ends;
  for (const auto &entry : parts)
    llvm::append_range(ends, ArrayRef{entry.second.before, entry.second.end()});
  llvm::sort(ends);
  if (const int64_t number = mesh.indexOf(kTensorAxis); number >= 0) {
    AxisDivisions divisions(mesh);
    for (int64_t end : ends)
      if (end > 1 && end < mesh.sizeOf(kTensorAxis))
        divisions.add(number, end);
    if (!divisions.empty())
      axis.divided = cast<MeshAttr>(divisions.getReplacer().replace(mesh));
  }
  if (!llvm::all_of(ends, [&](int64_t end) { return axis.hasPartsAt(end); }))
    return std::nullopt;
  return axis;
}

SmallVector<StringAttr> TensorAxis::namesOf(AxisPart part) const {
  SmallVector<StringAttr> found;
  int64_t before = 1;
  for (StringAttr name : names()) {
    if (before >= part.before && before < part.end())
      found.push_back(name);
    before *= divided.lookup(name).getSize();
  }
  return found;
}

SmallVector<NamedSharding>
TensorAxis::rename(ArrayRef<NamedSharding> shardings) const {
  SmallVector<NamedSharding> renamed(shardings);
  for (NamedSharding &sharding : renamed)
    for (DimShardingAttr &dim : sharding.dims)
      dim = inParts(dim, divided);
  return renamed;
}

//===- LayoutRegions.cpp - parts of the model that lie otherwise ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "LayoutRegions.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;

namespace {

/// What `axis` splits inside and outside, by the names of dimensions.
struct LayoutRegion {
  StringLiteral axis, inside, outside;
  /// Parameters with such a dimension lie as they are read inside.
  bool hasParameters;
};

constexpr LayoutRegion kRegions[] = {
    {"ep", "expert", "batch", /*hasParameters=*/true},
    {"sp", "head", "sequence", /*hasParameters=*/false},
};

bool hasDim(ArrayAttr dims, StringRef kind) {
  return llvm::is_contained(dims.getAsValueRange<StringAttr>(), kind);
}

class RegionSeeds {
public:
  RegionSeeds(func::FuncOp main, MeshAttr mesh, ArrayRef<StringAttr> batch,
              ArrayRef<StringAttr> sequence,
              function_ref<bool(Value, unsigned)> isTensorSplit)
      : main(main), mesh(mesh), batch(batch), sequence(sequence),
        isTensorSplit(isTensorSplit) {}

  LogicalResult collect(const LayoutRegion &region);
  SmallVector<NamedSharding> parameters, values;

private:
  LogicalResult addParameters(const LayoutRegion &region);
  LogicalResult addValue(NameOp name, const LayoutRegion &region, bool isEntry);
  DimShardingAttr spell(ArrayRef<StringAttr> axes) {
    return DimShardingAttr::get(main.getContext(), axes, axes.empty());
  }
  StringAttr axisOf(const LayoutRegion &region) {
    return StringAttr::get(main.getContext(), region.axis);
  }

  func::FuncOp main;
  MeshAttr mesh;
  ArrayRef<StringAttr> batch, sequence;
  function_ref<bool(Value, unsigned)> isTensorSplit;
  llvm::DenseMap<Operation *, unsigned> positions; ///< in `values`
};

LogicalResult RegionSeeds::addParameters(const LayoutRegion &region) {
  bool isFound = false;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto dims = main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims);
    if (!dims || getArgRole(main, index) != Role::Param ||
        !hasDim(dims, region.inside))
      continue;
    NamedSharding sharding{getArgName(main, index), {}};
    for (auto [dim, kind] :
         llvm::enumerate(dims.getAsValueRange<StringAttr>())) {
      bool isInside = kind == region.inside;
      if (isInside && failed(checkSize(argument, dim, mesh, axisOf(region))))
        return failure();
      sharding.dims.push_back(isInside ? spell(axisOf(region)) : spell({}));
    }
    isFound = true;
    if (!isGiven(argument))
      parameters.push_back(std::move(sharding));
  }
  if (!isFound)
    return main.emitError("expects a parameter whose pp.dims name an \"")
           << region.inside << "\" for the axis \"" << region.axis
           << "\", got none: leave " << region.axis
           << " out, or say which dimension of parameters it is";
  return success();
}

/// Readers have `name` as the region lies, or as what is around it does.
LogicalResult RegionSeeds::addValue(NameOp name, const LayoutRegion &region,
                                    bool isEntry) {
  auto [position, isNew] = positions.try_emplace(name, values.size());
  ArrayAttr dims = *name.getDims();
  if (isNew) {
    values.push_back({name.getName(), {}, /*isBarrier=*/true});
    values.back().dims.resize(dims.size(), spell({}));
  }
  NamedSharding &sharding = values[position->second];
  for (auto [dim, kind] : llvm::enumerate(dims.getAsValueRange<StringAttr>())) {
    SmallVector<StringAttr> axes;
    if (kind == region.outside) {
      llvm::append_range(axes, kind == "batch" ? batch : sequence);
      if (isEntry)
        llvm::erase(axes, axisOf(region));
    } else if (kind == region.inside && isEntry) {
      if (isTensorSplit(name, dim))
        axes.push_back(StringAttr::get(main.getContext(), "tp"));
      axes.push_back(axisOf(region));
      if (failed(checkSize(name, "value \"" + name.getName() + "\"",
                           name.getType(), dim, mesh, axes)))
        return failure();
    } else {
      continue;
    }
    sharding.dims[dim] = spell(axes);
  }
  return success();
}

LogicalResult RegionSeeds::collect(const LayoutRegion &region) {
  if (region.hasParameters && failed(addParameters(region)))
    return failure();
  llvm::DenseSet<Value> inside;
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (getKind(&op) != Kind::Forward)
      continue;
    bool isInside = llvm::any_of(
        op.getOperands(), [&](Value value) { return inside.contains(value); });
    auto name = dyn_cast<NameOp>(op);
    if (name && name.getDims() && hasDim(*name.getDims(), region.inside) &&
        hasDim(*name.getDims(), region.outside)) {
      isInside = !isInside;
      if (failed(addValue(name, region, /*isEntry=*/isInside)))
        return failure();
    }
    if (isInside)
      inside.insert_range(op.getResults());
  }
  return success();
}

} // namespace

LogicalResult
pp::appendRegionSeeds(func::FuncOp main, MeshAttr mesh,
                      ArrayRef<StringAttr> batch, ArrayRef<StringAttr> sequence,
                      function_ref<bool(Value, unsigned)> isTensorSplit,
                      SmallVectorImpl<SeedAttr> &seeds) {
  RegionSeeds found(main, mesh, batch, sequence, isTensorSplit);
  for (const LayoutRegion &region : kRegions)
    if (mesh.lookup(region.axis) && failed(found.collect(region)))
      return failure();
  appendSeeds(main, found.parameters, /*priority=*/0, seeds);
  appendSeeds(main, found.values, /*priority=*/0, seeds);
  return success();
}

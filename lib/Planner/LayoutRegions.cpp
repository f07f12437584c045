//===- LayoutRegions.cpp - regions with another layout --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "LayoutRegions.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace pp;

namespace {

/// The dimensions, by name, that `axis` splits inside and outside.
struct LayoutRegion {
  StringLiteral axis, inside, outside;
  /// Parameters with such a dimension have the layout inside.
  bool hasParameters;
  /// Inside there is no sequence.
  bool leavesSequence;
};

constexpr LayoutRegion kRegions[] = {
    {"ep", "expert", "batch", /*hasParameters=*/true, /*leavesSequence=*/true},
    {"sp", "head", "sequence", /*hasParameters=*/false,
     /*leavesSequence=*/false},
};

bool hasDim(ArrayAttr dims, StringRef kind) {
  return llvm::is_contained(dims.getAsValueRange<StringAttr>(), kind);
}

class RegionSeeds {
public:
  RegionSeeds(func::FuncOp main, MeshAttr mesh, const RegionAxes &axes)
      : main(main), mesh(mesh), axes(axes) {}

  LogicalResult collect(const LayoutRegion &region);
  void findShareable(const LayoutRegion &region,
                     std::optional<llvm::SmallBitVector> &dims);
  SmallVector<NamedSharding> parameters, values;

private:
  LogicalResult addParameters(const LayoutRegion &region);
  SmallVector<StringAttr> listAxes(NameOp name, unsigned dim, StringRef kind,
                                   const LayoutRegion &region, bool isEntry,
                                   bool isShared);
  LogicalResult addValue(NameOp name, const LayoutRegion &region, bool isEntry);
  DimShardingAttr spell(ArrayRef<StringAttr> axes) {
    return DimShardingAttr::get(main.getContext(), axes, axes.empty());
  }
  StringAttr axisOf(const LayoutRegion &region) {
    return StringAttr::get(main.getContext(), region.axis);
  }

  func::FuncOp main;
  MeshAttr mesh;
  const RegionAxes &axes;
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
           << " out, or name the dimension of parameters";
  return success();
}

/// The axes that split a dimension of a value at an end of the region.
SmallVector<StringAttr> RegionSeeds::listAxes(NameOp name, unsigned dim,
                                              StringRef kind,
                                              const LayoutRegion &region,
                                              bool isEntry, bool isShared) {
  SmallVector<StringAttr> list;
  if (kind == region.outside) {
    llvm::append_range(list, kind == "batch" ? axes.batch : axes.sequence);
    if (isEntry)
      llvm::erase(list, axisOf(region));
  } else if (kind == region.inside && isEntry &&
             name.getType().getDimSize(dim) != 1) {
    // One that all share, as tokens that every expert computes, is whole.
    llvm::append_range(list, axes.tensorAxes(name, dim));
    list.push_back(axisOf(region));
  }
  if (isShared)
    llvm::append_range(list, axes.sequence);
  return list;
}

/// Readers of `name` see the layout of the region, or that around it.
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
    const bool isShared =
        isEntry && region.leavesSequence && axes.shared == dim;
    if (kind != region.outside && !(kind == region.inside && isEntry) &&
        !isShared)
      continue;
    const SmallVector<StringAttr> list =
        listAxes(name, dim, kind, region, isEntry, isShared);
    if ((isShared || kind == region.inside) &&
        failed(checkSize(name, "value \"" + name.getName() + "\"",
                         name.getType(), dim, mesh, list)))
      return failure();
    sharding.dims[dim] = spell(list);
  }
  return success();
}

/// Calls `visit` with the values at the ends of such parts, and whether a part
/// begins there.
LogicalResult
forEachEnd(func::FuncOp main, const LayoutRegion &region,
           function_ref<LogicalResult(NameOp, bool isEntry)> visit) {
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
      if (failed(visit(name, /*isEntry=*/isInside)))
        return failure();
    }
    if (isInside)
      inside.insert_range(op.getResults());
  }
  return success();
}

LogicalResult RegionSeeds::collect(const LayoutRegion &region) {
  if (region.hasParameters && failed(addParameters(region)))
    return failure();
  return forEachEnd(main, region, [&](NameOp name, bool isEntry) {
    return addValue(name, region, isEntry);
  });
}

/// Keeps the dimensions in which every value that enters has elements enough.
void RegionSeeds::findShareable(const LayoutRegion &region,
                                std::optional<llvm::SmallBitVector> &dims) {
  (void)forEachEnd(main, region, [&](NameOp name, bool isEntry) {
    ArrayRef<int64_t> shape = name.getType().getShape();
    if (!isEntry)
      return success();
    llvm::SmallBitVector fits(shape.size());
    for (auto [dim, kind] :
         llvm::enumerate(name.getDims()->getAsValueRange<StringAttr>()))
      fits[dim] =
          shape[dim] >= mesh.sizeOf(listAxes(name, dim, kind, region, isEntry,
                                             /*isShared=*/true));
    if (dims)
      fits &= *dims;
    dims = fits;
    return success();
  });
}

} // namespace

LogicalResult pp::appendRegionSeeds(func::FuncOp main, MeshAttr mesh,
                                    const RegionAxes &axes,
                                    SmallVectorImpl<SeedAttr> &seeds) {
  RegionSeeds found(main, mesh, axes);
  for (const LayoutRegion &region : kRegions)
    if (mesh.lookup(region.axis) && failed(found.collect(region)))
      return failure();
  appendSeeds(main, found.parameters, /*priority=*/0, seeds);
  appendSeeds(main, found.values, /*priority=*/0, seeds);
  return success();
}

SmallVector<unsigned> pp::findShareable(func::FuncOp main, MeshAttr mesh,
                                        const RegionAxes &axes) {
  std::optional<llvm::SmallBitVector> dims;
  for (const LayoutRegion &region : kRegions)
    if (region.leavesSequence && mesh.lookup(region.axis) &&
        !axes.sequence.empty())
      RegionSeeds(main, mesh, axes).findShareable(region, dims);
  return dims ? llvm::to_vector_of<unsigned>(dims->set_bits())
              : SmallVector<unsigned>();
}

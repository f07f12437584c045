//===- Attributes.cpp - shardings and plans, for C ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each function calls one of the attributes' own.
//
//===----------------------------------------------------------------------===//
#include "pp-c/Attributes.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanText.h"
#include "llvm/ADT/STLExtras.h"

using namespace pp;

template <typename Attr> static Attr as(MlirAttribute attr) {
  return llvm::cast<Attr>(unwrap(attr));
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

bool ppAttributeIsAMesh(MlirAttribute attr) {
  return llvm::isa<MeshAttr>(unwrap(attr));
}

intptr_t ppMeshAttrGetNumAxes(MlirAttribute mesh) {
  return intptr_t(as<MeshAttr>(mesh).getAxes().size());
}

MlirStringRef ppMeshAttrGetAxisName(MlirAttribute mesh, intptr_t pos) {
  return wrap(as<MeshAttr>(mesh).getAxes()[pos].getName().getValue());
}

int64_t ppMeshAttrGetAxisSize(MlirAttribute mesh, intptr_t pos) {
  return as<MeshAttr>(mesh).getAxes()[pos].getSize();
}

int64_t ppMeshAttrGetNumDevices(MlirAttribute mesh) {
  return as<MeshAttr>(mesh).getNumDevices();
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

bool ppAttributeIsADimSharding(MlirAttribute attr) {
  return llvm::isa<DimShardingAttr>(unwrap(attr));
}

MlirAttribute ppDimShardingAttrGet(MlirContext context, intptr_t numAxes,
                                   const MlirStringRef *axes, bool isOpen) {
  auto names = llvm::map_to_vector(
      llvm::ArrayRef(axes, numAxes), [&](MlirStringRef axis) {
        return mlir::StringAttr::get(unwrap(context), unwrap(axis));
      });
  return wrap(DimShardingAttr::get(unwrap(context), names, isOpen));
}

intptr_t ppDimShardingAttrGetNumAxes(MlirAttribute dim) {
  return intptr_t(as<DimShardingAttr>(dim).getAxes().size());
}

MlirStringRef ppDimShardingAttrGetAxis(MlirAttribute dim, intptr_t pos) {
  return wrap(as<DimShardingAttr>(dim).getAxes()[pos].getValue());
}

bool ppDimShardingAttrIsOpen(MlirAttribute dim) {
  return as<DimShardingAttr>(dim).getIsOpen();
}

bool ppAttributeIsASharding(MlirAttribute attr) {
  return llvm::isa<ShardingAttr>(unwrap(attr));
}

MlirAttribute ppShardingAttrGet(MlirContext context, MlirStringRef mesh,
                                intptr_t rank, const MlirAttribute *dims) {
  mlir::MLIRContext *ctx = unwrap(context);
  auto shardings =
      llvm::map_to_vector(llvm::ArrayRef(dims, rank), [](MlirAttribute dim) {
        return as<DimShardingAttr>(dim);
      });
  auto emitError = [&] { return mlir::emitError(mlir::UnknownLoc::get(ctx)); };
  auto symbol = mlir::FlatSymbolRefAttr::get(ctx, unwrap(mesh));
  llvm::ArrayRef<PartialAxisAttr> partial;
  if (failed(ShardingAttr::verify(emitError, symbol, shardings, partial)))
    return {nullptr};
  return wrap(ShardingAttr::get(ctx, symbol, shardings, partial));
}

MlirStringRef ppShardingAttrGetMesh(MlirAttribute sharding) {
  return wrap(as<ShardingAttr>(sharding).getMesh().getValue());
}

intptr_t ppShardingAttrGetRank(MlirAttribute sharding) {
  return intptr_t(as<ShardingAttr>(sharding).getRank());
}

MlirAttribute ppShardingAttrGetDim(MlirAttribute sharding, intptr_t pos) {
  return wrap(as<ShardingAttr>(sharding).getDims()[pos]);
}

intptr_t ppShardingAttrGetNumPartialAxes(MlirAttribute sharding) {
  return intptr_t(as<ShardingAttr>(sharding).getPartial().size());
}

MlirStringRef ppShardingAttrGetPartialAxis(MlirAttribute sharding,
                                           intptr_t pos) {
  return wrap(
      as<ShardingAttr>(sharding).getPartial()[pos].getAxis().getValue());
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

bool ppAttributeIsAPlan(MlirAttribute attr) {
  return llvm::isa<PlanAttr>(unwrap(attr));
}

MlirAttribute ppPlanAttrGetMesh(MlirAttribute plan) {
  return wrap(as<PlanAttr>(plan).getMesh());
}

intptr_t ppPlanAttrGetNumSeeds(MlirAttribute plan) {
  return intptr_t(as<PlanAttr>(plan).getSeeds().size());
}

MlirAttribute ppPlanAttrGetSeed(MlirAttribute plan, intptr_t pos) {
  return wrap(as<PlanAttr>(plan).getSeeds()[pos]);
}

MlirStringRef ppSeedAttrGetPattern(MlirAttribute seed) {
  return wrap(as<SeedAttr>(seed).getPattern().getValue());
}

intptr_t ppSeedAttrGetRank(MlirAttribute seed) {
  return intptr_t(as<SeedAttr>(seed).getDims().size());
}

MlirAttribute ppSeedAttrGetDim(MlirAttribute seed, intptr_t pos) {
  return wrap(as<SeedAttr>(seed).getDims()[pos]);
}

int64_t ppSeedAttrGetPriority(MlirAttribute seed) {
  return as<SeedAttr>(seed).getPriority();
}

intptr_t ppPlanAttrGetNumCuts(MlirAttribute plan) {
  return intptr_t(as<PlanAttr>(plan).getCuts().size());
}

int64_t ppPlanAttrGetCut(MlirAttribute plan, intptr_t pos) {
  return as<PlanAttr>(plan).getCuts()[pos];
}

MlirAttribute ppPlanAttrGetSettings(MlirAttribute plan) {
  return wrap(as<PlanAttr>(plan).getSettings());
}

MlirAttribute ppPlanAttrWithDefaults(MlirAttribute plan) {
  return wrap(withDefaults(as<PlanAttr>(plan)));
}

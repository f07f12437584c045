//===- Attributes.h - shardings and plans, for C -----------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mlirAttributeParseGet reads their text (`#pp.sharding<@mesh, [{"dp"}, {?}]>`)
// and mlirAttributePrint writes it; these functions make and read their parts.
// An accessor takes an attribute of its kind and a position below the number
// that it belongs to. Texts belong to the context.
//
//===----------------------------------------------------------------------===//
#ifndef PP_C_ATTRIBUTES_H
#define PP_C_ATTRIBUTES_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Mesh: named axes, major to minor
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool ppAttributeIsAMesh(MlirAttribute attr);
MLIR_CAPI_EXPORTED intptr_t ppMeshAttrGetNumAxes(MlirAttribute mesh);
MLIR_CAPI_EXPORTED MlirStringRef ppMeshAttrGetAxisName(MlirAttribute mesh,
                                                       intptr_t pos);
MLIR_CAPI_EXPORTED int64_t ppMeshAttrGetAxisSize(MlirAttribute mesh,
                                                 intptr_t pos);
/// The product of all axes except time.
MLIR_CAPI_EXPORTED int64_t ppMeshAttrGetNumDevices(MlirAttribute mesh);

//===----------------------------------------------------------------------===//
// Sharding: per dimension the axes that split it, major to minor
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool ppAttributeIsADimSharding(MlirAttribute attr);
/// An open dimension may get further axes by propagation.
MLIR_CAPI_EXPORTED MlirAttribute ppDimShardingAttrGet(MlirContext context,
                                                      intptr_t numAxes,
                                                      const MlirStringRef *axes,
                                                      bool isOpen);
MLIR_CAPI_EXPORTED intptr_t ppDimShardingAttrGetNumAxes(MlirAttribute dim);
MLIR_CAPI_EXPORTED MlirStringRef ppDimShardingAttrGetAxis(MlirAttribute dim,
                                                          intptr_t pos);
MLIR_CAPI_EXPORTED bool ppDimShardingAttrIsOpen(MlirAttribute dim);

MLIR_CAPI_EXPORTED bool ppAttributeIsASharding(MlirAttribute attr);
/// A sharding without partial axes over the mesh with the symbol `mesh`. Null,
/// and a diagnostic of the context, if an axis is used twice.
MLIR_CAPI_EXPORTED MlirAttribute ppShardingAttrGet(MlirContext context,
                                                   MlirStringRef mesh,
                                                   intptr_t rank,
                                                   const MlirAttribute *dims);
MLIR_CAPI_EXPORTED MlirStringRef ppShardingAttrGetMesh(MlirAttribute sharding);
MLIR_CAPI_EXPORTED intptr_t ppShardingAttrGetRank(MlirAttribute sharding);
MLIR_CAPI_EXPORTED MlirAttribute ppShardingAttrGetDim(MlirAttribute sharding,
                                                      intptr_t pos);
/// Axes over which values are still to be reduced.
MLIR_CAPI_EXPORTED intptr_t
ppShardingAttrGetNumPartialAxes(MlirAttribute sharding);
MLIR_CAPI_EXPORTED MlirStringRef
ppShardingAttrGetPartialAxis(MlirAttribute sharding, intptr_t pos);

//===----------------------------------------------------------------------===//
// Plan: every decision that passes obey
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool ppAttributeIsAPlan(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirAttribute ppPlanAttrGetMesh(MlirAttribute plan);
MLIR_CAPI_EXPORTED intptr_t ppPlanAttrGetNumSeeds(MlirAttribute plan);
MLIR_CAPI_EXPORTED MlirAttribute ppPlanAttrGetSeed(MlirAttribute plan,
                                                   intptr_t pos);
/// Names of values, in which `*` stands for any characters.
MLIR_CAPI_EXPORTED MlirStringRef ppSeedAttrGetPattern(MlirAttribute seed);
MLIR_CAPI_EXPORTED intptr_t ppSeedAttrGetRank(MlirAttribute seed);
MLIR_CAPI_EXPORTED MlirAttribute ppSeedAttrGetDim(MlirAttribute seed,
                                                  intptr_t pos);
MLIR_CAPI_EXPORTED int64_t ppSeedAttrGetPriority(MlirAttribute seed);
MLIR_CAPI_EXPORTED intptr_t ppPlanAttrGetNumCuts(MlirAttribute plan);
MLIR_CAPI_EXPORTED int64_t ppPlanAttrGetCut(MlirAttribute plan, intptr_t pos);
/// A dictionary of the other keys that pp-opt --help lists.
MLIR_CAPI_EXPORTED MlirAttribute ppPlanAttrGetSettings(MlirAttribute plan);
/// The plan with the defaults of all keys that it leaves out.
MLIR_CAPI_EXPORTED MlirAttribute ppPlanAttrWithDefaults(MlirAttribute plan);

#ifdef __cplusplus
}
#endif

#endif // PP_C_ATTRIBUTES_H

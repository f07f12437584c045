//===- DivideAxes.cpp - axes of a module's mesh, divided ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Shard/DivideAxes.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// Replaces axes in everything that names them.
static void replaceAxes(ModuleOp module, AttrTypeReplacer &replacer) {
  replacer.recursivelyReplaceElementsIn(module);
  // A reshard names its axes without a sharding around them.
  module.walk([&](ReshardOp reshard) {
    MLIRContext *context = module.getContext();
    const SmallVector<StringAttr> names =
        llvm::to_vector(reshard.getAxes().getAsRange<StringAttr>());
    auto divided = cast<DimShardingAttr>(replacer.replace(
        DimShardingAttr::get(context, names, /*isOpen=*/false)));
    reshard.setAxesAttr(ArrayAttr::get(
        context, llvm::to_vector_of<Attribute>(divided.getAxes())));
  });
}

void pp::divideAxes(ModuleOp module, const AxisDivisions &divisions) {
  AttrTypeReplacer replacer = divisions.getReplacer();
  replaceAxes(module, replacer);
}

void pp::setPlan(ModuleOp module, PlanAttr plan) {
  const MeshAttr mesh = plan.getMesh();
  module->setAttr(attrs::kPlan, plan);
  if (MeshOp op = lookupMesh(module))
    op.setMeshAttr(mesh);
  if (llvm::none_of(mesh.getAxes(), [](MeshAxisAttr axis) {
        return MeshAxisAttr::getWhole(axis.getName()) != axis.getName();
      }))
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DimShardingAttr dim) {
    return std::pair<Attribute, WalkResult>(inParts(dim, mesh),
                                            WalkResult::skip());
  });
  replaceAxes(module, replacer);
}

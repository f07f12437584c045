//===- DivideAxes.cpp - axes of a module's mesh, divided ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "DivideAxes.h"

using namespace mlir;
using namespace pp;

void pp::divideAxes(ModuleOp module, const AxisDivisions &divisions) {
  AttrTypeReplacer replacer = divisions.getReplacer();
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

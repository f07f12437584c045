//===- ValueNames.cpp - names of values inside a model --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ValueNames.h"
#include "pprt/LayerName.h"

using namespace mlir;
using namespace pp;

StringRef pp::getOpName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : StringRef();
}

StringRef pp::findLayerName(StringRef name) {
  return StringRef(pprt::layerName(name));
}

StringRef pp::findLayerName(Operation *op) {
  return findLayerName(getOpName(op));
}

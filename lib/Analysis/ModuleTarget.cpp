//===- ModuleTarget.cpp - the target of a module --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

const pprt::Target *pp::getTarget(ModuleOp module) {
  auto attribute = module->getAttrOfType<StringAttr>(attrs::kTarget);
  const std::string name = attribute ? attribute.str() : "cpu";
  const pprt::Target *target = pprt::findTarget(name);
  if (!target)
    module.emitError("expects a target that is known (")
        << llvm::join(pprt::targetNames(), ", ") << "), got \"" << name << "\"";
  return target;
}

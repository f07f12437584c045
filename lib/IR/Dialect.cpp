//===- Dialect.cpp - registration of the pp dialect -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever an op says of itself is in the file of that aspect; here they are
// only brought together.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"

using namespace mlir;
using namespace pp;

#include "pp/IR/PPDialect.cpp.inc"
#include "pp/IR/PPEnums.cpp.inc"
#include "pp/IR/PPInterfaces.cpp.inc"

namespace {

/// A model may be written in several functions; `inline` makes one of them.
struct GraphInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *op, Region *, bool, IRMapping &) const final {
    return isGraphOp(op);
  }
};

} // namespace

void PPDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "pp/IR/PPOps.cpp.inc"
      >();
  addInterfaces<GraphInliner>();
}

Operation *PPDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

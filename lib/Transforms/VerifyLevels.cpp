//===- VerifyLevels.cpp - the contract of each level ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A verify pass names what is left over, where, and which pass should have
// removed it.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_VERIFYGRAPH
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

LogicalResult verifyArguments(func::FuncOp main) {
  llvm::StringSet<> names;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto fail = [&] { return main.emitError() << "argument " << index << " of @main "; };
    std::optional<Role> role = getArgRole(main, index);
    StringRef name = getArgName(main, index);
    if (!role || name.empty())
      return fail() << "expects pp.role and pp.name";
    if (*role != Role::Param && *role != Role::State && *role != Role::Input &&
        *role != Role::Label)
      return fail() << "expects role param, state, input or label, got " << stringifyRole(*role);
    if (!names.insert(name).second)
      return fail() << "expects a name of its own, got \"" << name << "\" a second time";
    bool isHeld = *role == Role::Param || *role == Role::State;
    if (isHeld && !main.getArgAttrOfType<InitAttr>(index, attrs::kInit))
      return fail() << "expects pp.init on " << stringifyRole(*role) << " \"" << name << "\"";
  }
  return success();
}

struct VerifyGraphPass : pp::impl::VerifyGraphBase<VerifyGraphPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    if (failed(main) || failed(verifyArguments(*main)))
      return signalPassFailure();
    auto lossType = main->getNumResults() ? dyn_cast<RankedTensorType>(main->getResultTypes()[0])
                                          : RankedTensorType();
    if (!lossType || lossType.getRank() != 0 || !isa<FloatType>(lossType.getElementType())) {
      main->emitError("expects a scalar float loss as the first result of @main");
      return signalPassFailure();
    }
    for (Operation &op : main->getBody().front().without_terminator()) {
      if (isGraphOp(&op))
        continue;
      op.emitError("expects an op of level 1, got ") << op.getName();
      return signalPassFailure();
    }
  }
};

} // namespace

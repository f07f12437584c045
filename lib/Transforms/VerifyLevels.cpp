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
#define GEN_PASS_DEF_VERIFYSPMD
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

LogicalResult verifyArguments(func::FuncOp main) {
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> arguments = getArgsByName(main);
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto fail = [&] {
      return main.emitError() << "argument " << index << " of @main ";
    };
    std::optional<Role> role = getArgRole(main, index);
    StringRef name = getArgName(main, index);
    if (!role || name.empty())
      return fail() << "expects pp.role and pp.name";
    if (*role != Role::Param && *role != Role::State && *role != Role::Input &&
        *role != Role::Label)
      return fail() << "expects role param, state, input or label, got "
                    << stringifyRole(*role);
    if (!names.insert(name).second)
      return fail() << "expects a name of its own, got \"" << name
                    << "\" a second time";
    bool isHeld = *role == Role::Param || *role == Role::State;
    if (isHeld && !main.getArgAttrOfType<InitAttr>(index, attrs::kInit))
      return fail() << "expects pp.init on " << stringifyRole(*role) << " \""
                    << name << "\"";
    auto parameter =
        main.getArgAttrOfType<StringAttr>(index, attrs::kParameter);
    if (!parameter)
      continue;
    if (*role != Role::State)
      return fail() << "expects pp.parameter on states only, got it on "
                    << stringifyRole(*role) << " \"" << name << "\"";
    auto owner = arguments.find(parameter.getValue());
    if (owner == arguments.end() ||
        getArgRole(main, owner->second) != Role::Param)
      return fail() << "expects pp.parameter to name a parameter, got "
                    << parameter;
  }
  return success();
}

/// More than any machine holds, and few enough to be added up.
constexpr int64_t kMaxTensorBytes = int64_t(1) << 50;

/// Sizes and costs are computed in 64 bits.
LogicalResult verifySize(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t size : type.getShape()) {
    if (size > 0 && bytes > kMaxTensorBytes / size)
      return emitError(value.getLoc(), "expects a tensor of at most ")
             << kMaxTensorBytes << " bytes, got " << type;
    bytes *= size;
  }
  return success();
}

struct VerifyGraphPass : pp::impl::VerifyGraphBase<VerifyGraphPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    if (failed(main) || failed(verifyArguments(*main)))
      return signalPassFailure();
    auto lossType = main->getNumResults()
                        ? dyn_cast<RankedTensorType>(main->getResultTypes()[0])
                        : RankedTensorType();
    if (!lossType || lossType.getRank() != 0 ||
        !isa<FloatType>(lossType.getElementType())) {
      main->emitError(
          "expects a scalar float loss as the first result of @main");
      return signalPassFailure();
    }
    if (std::optional<Role> role = getResultRole(*main, 0);
        role != Role::Loss) {
      main->emitError("result 0 of @main expects role loss, got ")
          << (role ? stringifyRole(*role) : "none");
      return signalPassFailure();
    }
    Block &body = main->getBody().front();
    for (Operation &op : body.without_terminator()) {
      if (isGraphOp(&op))
        continue;
      op.emitError("expects an op of level 1, got ") << op.getName();
      return signalPassFailure();
    }
    SmallVector<Value> values(body.getArguments());
    for (Operation &op : body.without_terminator())
      llvm::append_range(values, op.getResults());
    for (Value value : values)
      if (failed(verifySize(value)))
        return signalPassFailure();
  }
};

//===----------------------------------------------------------------------===//
// Level 2
//===----------------------------------------------------------------------===//

/// `type` is one device's part of the whole that the attributes describe.
LogicalResult verifyPart(func::FuncOp main, StringRef what, unsigned index,
                         DictionaryAttr attributes, Type type, MeshOp mesh) {
  auto fail = [&] {
    return main.emitError() << what << " " << index << " of @main ";
  };
  auto get = [&](StringRef name) {
    return attributes ? attributes.get(name) : Attribute();
  };
  if (Attribute stored = get(attrs::kStored);
      stored && stored != get(attrs::kSharding))
    return fail()
           << "expects to lie at rest as its ops use it, got pp.stored = "
           << stored;
  auto sharding = dyn_cast_or_null<ShardingAttr>(get(attrs::kSharding));
  auto global = dyn_cast_or_null<DenseI64ArrayAttr>(get(attrs::kGlobalShape));
  auto local = cast<RankedTensorType>(type);
  if (!sharding || !global || sharding.getRank() != local.getRank() ||
      static_cast<int64_t>(global.size()) != local.getRank())
    return fail() << "expects pp.sharding and pp.global_shape of rank "
                  << local.getRank() << "; pp-partition writes them";
  auto role = dyn_cast_or_null<RoleAttr>(get(attrs::kRole));
  MeshAxisAttr time = mesh.getMesh().getTimeAxis();
  bool isOfBatch = role && (role.getValue() == Role::Input ||
                            role.getValue() == Role::Label);
  for (DimShardingAttr dim : sharding.getDims())
    if (time && !isOfBatch && llvm::is_contained(dim.getAxes(), time.getName()))
      return fail() << "expects inputs and labels only to be split over "
                    << time.getName() << ", got " << sharding;
  RankedTensorType expected =
      sharding.localType(local.clone(global.asArrayRef()), mesh.getMesh());
  if (expected != local)
    return fail() << "expects type " << expected << " for " << sharding
                  << ", got " << local;
  return success();
}

struct VerifySpmdPass : pp::impl::VerifySpmdBase<VerifySpmdPass> {
  LogicalResult verify() {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return failure();
    FailureOr<MeshOp> mesh = requireMesh(getOperation());
    if (failed(mesh))
      return failure();
    for (unsigned index = 0; index < main->getNumArguments(); ++index)
      if (failed(verifyPart(*main, "argument", index,
                            main->getArgAttrDict(index),
                            main->getArgumentTypes()[index], *mesh)))
        return failure();
    for (unsigned index = 0; index < main->getNumResults(); ++index)
      if (failed(verifyPart(*main, "result", index,
                            main->getResultAttrDict(index),
                            main->getResultTypes()[index], *mesh)))
        return failure();
    for (Operation &op : main->getBody().front().without_terminator()) {
      if (op.hasAttr(attrs::kShardings) || isa<ShardingConstraintOp>(op))
        return op.emitError("expects no sharding left undone, got ")
               << op.getName() << "; pp-partition should have removed it";
      if (!isSpmdOp(&op))
        return op.emitError("expects an op of level 2, got ") << op.getName();
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
  }
};

} // namespace

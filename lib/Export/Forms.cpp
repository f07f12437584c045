//===- Forms.cpp - the table of forms, and elementwise ops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An elementwise op is a line; identities have no op at all.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"
#include "pp/Export/StableHLO.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

const Forms &hlo::getForms() {
  static const Forms forms = [] {
    Forms all;
    addElementwiseForms(all);
    addShapeForms(all);
    addContractionForms(all);
    addIndexForms(all);
    addWindowForms(all);
    addCollectiveForms(all);
    return all;
  }();
  return forms;
}

bool pp::hasStableHLOForm(StringRef op) { return getForms().contains(op); }

/// Adds an op that differs from StableHLO's by the name alone.
template <typename OpTy> static void rename(Forms &forms, StringRef name) {
  add<OpTy>(forms, [name](OpTy, ArrayRef<Hlo> operands, Device &device) {
    return device.out.same(name, operands);
  });
}

/// Adds an op that means nothing on devices.
template <typename OpTy> static void drop(Forms &forms) {
  add<OpTy>(forms, [](OpTy, ArrayRef<Hlo> operands, Device &) {
    return operands.front();
  });
}

void hlo::addElementwiseForms(Forms &forms) {
  rename<NegOp>(forms, "negate");
  rename<AbsOp>(forms, "abs");
  rename<ExpOp>(forms, "exponential");
  rename<LogOp>(forms, "log");
  rename<Log1pOp>(forms, "log_plus_one");
  rename<SqrtOp>(forms, "sqrt");
  rename<RsqrtOp>(forms, "rsqrt");
  rename<TanhOp>(forms, "tanh");
  rename<ErfOp>(forms, "chlo.erf");
  rename<LogisticOp>(forms, "logistic");
  rename<SinOp>(forms, "sine");
  rename<CosOp>(forms, "cosine");
  rename<SignOp>(forms, "sign");
  rename<NotOp>(forms, "not");
  rename<AddOp>(forms, "add");
  rename<SubOp>(forms, "subtract");
  rename<MulOp>(forms, "multiply");
  rename<DivOp>(forms, "divide");
  rename<MaxOp>(forms, "maximum");
  rename<MinOp>(forms, "minimum");
  rename<PowOp>(forms, "power");
  rename<AndOp>(forms, "and");
  rename<OrOp>(forms, "or");
  drop<StopGradientOp>(forms);
  drop<NameOp>(forms);
  drop<ShardingConstraintOp>(forms);
  drop<ReshardOp>(forms);

  add<CompareOp>(forms, [](CompareOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.compare(stringifyDirection(op.getDirection()).upper(),
                              in[0], in[1]);
  });
  add<SelectOp>(forms, [](SelectOp, ArrayRef<Hlo> in, Device &device) {
    return device.out.select(in[0], in[1], in[2]);
  });
  add<ConvertOp>(forms, [](ConvertOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.convert(in[0], resultType(op).getElementType());
  });
  forms[IfTrainingOp::getOperationName()] = [](Operation *op, ArrayRef<Hlo>,
                                               Device &) -> FailureOr<Hlos> {
    return op->emitError("expects a training step or an evaluation, got an op "
                         "that is either; --pp-parallelize or "
                         "--pp-take-training comes first");
  };
}

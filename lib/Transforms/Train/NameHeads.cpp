//===- NameHeads.cpp - names for values around attention ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model. Out: the same with names and dimensions on the values at both
// ends of attention, as the models of pp have them, unless it has such names.
// A plan that splits the sequence needs whole sequences there, and finds by
// these names that heads can be split instead.
//
// Attention is found by what it does to the sequence, which inputs name: a
// product in which the sequence of one operand meets that of the other, and a
// later product that sums over the sequence, with an operand that comes from
// the first. Heads are the batch dimension that both have besides the batch.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Planner/KeyDims.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_NAMEHEADS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

constexpr StringLiteral kHead = "head", kSequence = "sequence",
                        kBatch = "batch";

/// The products of one attention, the operand of the second that comes from
/// the first, and the names of dimensions of query, key, value and result.
struct Attention {
  DotGeneralOp scores, mixed;
  unsigned weights;
  SmallVector<ArrayAttr, 4> descriptions;
};

class HeadNames {
  /// What a dimension consists of, such as groups and the heads of each.
  using Classes = SmallVector<FactorClasses::Class, 2>;

public:
  explicit HeadNames(func::FuncOp main)
      : main(main), dims(main), batch(dims.getClasses().numClasses()) {
    for (BlockArgument argument : main.getArguments()) {
      const unsigned index = argument.getArgNumber();
      taken[getArgName(main, index)] = 1;
      const std::optional<Role> role = getArgRole(main, index);
      const auto dim = getBatchDim(main, index);
      if ((role == Role::Input || role == Role::Label) && dim)
        for (FactorClasses::Class number :
             dims.getClasses().classesOf(argument, *dim))
          batch.set(number);
    }
    for (auto name : main.getOps<NameOp>())
      taken[name.getName()] = 1;
  }

  SmallVector<Attention> find();
  void name(const Attention &attention);

private:
  bool isSequence(Value value, int64_t dim) const {
    return dims.isOf(PlanKey::Sequence, value, dim);
  }
  bool isBatch(Value value, int64_t dim) const {
    return llvm::all_of(
        dims.getClasses().classesOf(value, dim),
        [&](FactorClasses::Class number) { return batch.test(number); });
  }
  bool hasSequence(Value value, ArrayRef<int64_t> among) const {
    return llvm::any_of(among,
                        [&](int64_t dim) { return isSequence(value, dim); });
  }
  bool areScores(DotGeneralOp product) const {
    return hasSequence(product.getLhs(), product.getLhsFree()) &&
           hasSequence(product.getRhs(), product.getRhsFree()) &&
           !product.getLhsBatch().empty();
  }
  Classes findHeads(DotGeneralOp scores) const;
  ArrayAttr describe(Value value, const Classes &heads);
  bool describe(Attention &attention);
  Value named(OpBuilder &builder, Value value, StringRef part, StringRef what,
              ArrayAttr description);

  func::FuncOp main;
  KeyDims dims;
  llvm::BitVector batch;
  llvm::StringMap<unsigned> taken;
};

SmallVector<Attention> HeadNames::find() {
  SmallVector<Attention> found;
  llvm::DenseMap<Value, DotGeneralOp> from; // through ops that are no products
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto product = dyn_cast<DotGeneralOp>(op);
    if (product && areScores(product)) {
      from[product.getResult()] = product;
      continue;
    }
    for (OpOperand &operand : op.getOpOperands()) {
      DotGeneralOp scores = from.lookup(operand.get());
      if (!scores)
        continue;
      if (!product) {
        for (Value result : op.getResults())
          from[result] = scores;
        break;
      }
      const unsigned side = operand.getOperandNumber();
      if (!hasSequence(operand.get(), side ? product.getRhsContract()
                                           : product.getLhsContract()))
        continue;
      Attention attention{scores, product, side, {}};
      if (describe(attention))
        found.push_back(std::move(attention));
    }
  }
  return found;
}

/// The largest batch dimension of the scores that is not the batch; empty if
/// there is none.
HeadNames::Classes HeadNames::findHeads(DotGeneralOp scores) const {
  Classes heads;
  int64_t largest = 0;
  Value lhs = scores.getLhs();
  for (int64_t dim : scores.getLhsBatch()) {
    const int64_t size = scores.getLhs().getType().getDimSize(dim);
    if (size <= largest || isSequence(lhs, dim) || isBatch(lhs, dim))
      continue;
    heads = dims.getClasses().classesOf(lhs, dim);
    largest = size;
  }
  return heads;
}

/// The names of the dimensions of a value; null if it has not one of heads and
/// one of the sequence.
ArrayAttr HeadNames::describe(Value value, const Classes &heads) {
  SmallVector<StringRef> names;
  const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    names.push_back(isSequence(value, dim) ? kSequence
                    : dims.getClasses().classesOf(value, dim) == heads ? kHead
                    : isBatch(value, dim)                              ? kBatch
                                                                       : "");
  }
  return llvm::count(names, kHead) == 1 && llvm::count(names, kSequence) == 1
             ? Builder(main.getContext()).getStrArrayAttr(names)
             : ArrayAttr();
}

Value HeadNames::named(OpBuilder &builder, Value value, StringRef part,
                       StringRef what, ArrayAttr description) {
  std::string name = (part + "." + what).str();
  if (const unsigned count = taken[name]++)
    name += "." + std::to_string(count);
  return NameOp::create(builder, value.getLoc(), value.getType(), value,
                        builder.getStringAttr(name), description,
                        /*gradient=*/nullptr);
}

/// False if some value has not one dimension of heads and one of the sequence.
bool HeadNames::describe(Attention &attention) {
  const Classes heads = findHeads(attention.scores);
  if (heads.empty())
    return false;
  for (Value value :
       {Value(attention.scores.getLhs()), Value(attention.scores.getRhs()),
        attention.mixed->getOperand(1 - attention.weights),
        Value(attention.mixed.getResult())})
    attention.descriptions.push_back(describe(value, heads));
  return !llvm::is_contained(attention.descriptions, ArrayAttr());
}

void HeadNames::name(const Attention &attention) {
  auto [scores, mixed, weights, descriptions] = attention;
  auto location = scores.getLoc()->findInstanceOf<NameLoc>();
  const StringRef part = location ? location.getName().getValue() : "attention";
  OpBuilder builder(scores);
  scores.getLhsMutable().set(
      named(builder, scores.getLhs(), part, "query", descriptions[0]));
  scores.getRhsMutable().set(
      named(builder, scores.getRhs(), part, "key", descriptions[1]));
  builder.setInsertionPoint(mixed);
  mixed->setOperand(1 - weights, named(builder, mixed->getOperand(1 - weights),
                                       part, "value", descriptions[2]));
  builder.setInsertionPointAfter(mixed);
  Value result =
      named(builder, mixed.getResult(), part, "mixed", descriptions[3]);
  mixed.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
}

/// Whether an input has a sequence, and no value heads.
bool lacksNames(func::FuncOp main) {
  auto has = [](ArrayAttr dims, StringRef name) {
    return dims && llvm::is_contained(dims.getAsValueRange<StringAttr>(), name);
  };
  return llvm::any_of(
             llvm::seq(main.getNumArguments()),
             [&](unsigned index) {
               return has(main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims),
                          kSequence);
             }) &&
         llvm::none_of(main.getOps<NameOp>(), [&](NameOp name) {
           return has(name.getDims().value_or(ArrayAttr()), kHead);
         });
}

struct NameHeadsPass : pp::impl::NameHeadsBase<NameHeadsPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    if (!lacksNames(*main))
      return;
    HeadNames names(*main);
    for (const Attention &attention : names.find())
      names.name(attention);
  }
};

} // namespace

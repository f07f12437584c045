//===- Partition.cpp - from global tensors to one device's ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with a sharding on every value. Out: `main` as each device runs
// it, with local types and explicit collectives. Generic over the ops' rules:
// reshard the operands to the axes chosen for the op's factors, build the local
// op, note over which axes its result is partial. Every dimension divides
// (pp-pad-dimensions).
//
// A partial value stays partial through its only use if that use is additive in
// it and does not want it reduced first; otherwise it is reduced right after
// its definition. On its way through dimension-preserving ops (an added bias)
// to another layout, it takes the cheapest way there instead of being reduced
// into the present layout of these ops first. Over the time axis there is
// nothing to wait for: a sum is accumulated at once, unless it is a term of
// another, or a reshard reduces every micro-batch before.
//
//===----------------------------------------------------------------------===//
#include "Partition.h"
#include "Alternatives.h"
#include "CauseFinder.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include <deque>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PARTITION
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// A value as it was made for its first use.
struct Form : LocalValue {
  /// More elements than its operand had, so the plan decides how long it may be
  /// kept.
  bool isGathered = false;
  bool isForward = true;
  /// Whose stages it was made on.
  Operation *home = nullptr;
};

/// Facts about one value of the global function.
struct GlobalValue {
  /// The layout propagation gave it.
  Layout layout;
  /// As defined first, then every other form a use has asked for.
  SmallVector<Form, 1> forms;
  /// Derives from a sum over micro-batches, so it exists once a step.
  bool isAccumulated = false;
};

/// Marks every op built with the part of training it belongs to.
class InheritMarks : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (!source)
      return;
    // At once: every dictionary on the way would live as long as the context.
    NamedAttrList marks(op->getDiscardableAttrDictionary());
    for (StringRef name : {attrs::kKind, attrs::kOrigin, attrs::kStages})
      if (Attribute mark = source->getDiscardableAttr(name))
        marks.set(name, mark);
    if (parameter && isCollective(op))
      marks.set(attrs::kParameter, parameter);
    op->setDiscardableAttrs(marks.getDictionary(op->getContext()));
  }

  Operation *source = nullptr;
  /// The parameter of the reshard behind a collective.
  Attribute parameter;
};

class Partitioner {
public:
  Partitioner(func::FuncOp main, MeshView mesh, PlanAttr plan,
              const schedule::Topology &topology)
      : main(main), mesh(mesh), resharder(mesh, topology),
        causes(main, mesh, plan),
        keepsGathered(plan && plan.getWord(PlanKey::SequenceGather) == "keep"),
        builder(main.getContext(), &marks) {}

  LogicalResult run();

private:
  LogicalResult enterArguments(Block *local);
  LogicalResult partitionOp(Operation *op);
  LogicalResult enterResults(Operation *op, const ShardingRule &rule,
                             const Layout &factors, PartialAxes passed,
                             ValueRange values, bool isAccumulated);
  LogicalResult leave(Operation *terminator);

  /// The set of operands whose partial sums pass through `op`, if any; takes
  /// the axes of these sums from the op's factors.
  ArrayRef<unsigned> findPassing(Operation *op, const ShardingRule &rule,
                                 Layout &factors);
  FailureOr<Value> getOperand(OpOperand &operand, const Layout &layout);
  bool takeTime(PartialAxes &partial) const;
  Value accumulate(Value addend);
  FailureOr<LocalValue> reduceAtDefinition(Value value, OpOperand &use,
                                           const Layout &layout);
  Cause findCause(OpOperand &use, const LocalValue &from, const Layout &layout);
  LogicalResult checkDivides(Location loc, Type type, const Layout &layout);
  GlobalValue &lookup(Value value) { return values[numbers.lookup(value)]; }
  GlobalValue &enter(Value value);

  func::FuncOp main;
  MeshView mesh;
  Resharder resharder;
  CauseFinder causes;
  /// Whether backward may use the values that forward gathers.
  bool keepsGathered;
  InheritMarks marks;
  OpBuilder builder;
  std::deque<GlobalValue> values;
  DenseMap<Value, int> numbers;
};

} // namespace

/// True if `value`, of one micro-batch, goes through ops that are additive in
/// it into a sum with others, so that one sum over micro-batches is held and
/// not one for each; or into a reshard that reduces every micro-batch apart.
static bool isAddedFirst(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (auto reshard = dyn_cast<ReshardOp>(user))
      return reshard.getEach();
    auto shardable = dyn_cast<ShardingOpInterface>(user);
    Operation *producer = value.getDefiningOp();
    if (!shardable || !producer || user->getNumResults() != 1 ||
        getKind(user) == Kind::Update || getStages(user) != getStages(producer))
      return false;
    const ShardingRule rule = shardable.getShardingRule();
    auto set = llvm::find_if(rule.additive, [&](const auto &set) {
      return llvm::is_contained(set, use.getOperandNumber());
    });
    if (set == rule.additive.end() || set->size() > 1)
      return set != rule.additive.end();
    value = user->getResult(0);
  }
  return false;
}

GlobalValue &Partitioner::enter(Value value) {
  numbers[value] = values.size();
  return values.emplace_back();
}

LogicalResult Partitioner::checkDivides(Location loc, Type type,
                                        const Layout &layout) {
  for (auto [dim, axes] : llvm::enumerate(layout)) {
    int64_t size = ranked(type).getDimSize(dim), shards = mesh.size(axes);
    if (size % shards)
      return emitError(loc) << "expects dimension " << dim << " of " << type
                            << " to divide into " << shards
                            << " shards; pp-pad-dimensions sees to that";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Cause Partitioner::findCause(OpOperand &use, const LocalValue &from,
                             const Layout &layout) {
  Cause cause = causes.find(use, from, layout);
  auto layoutOf = [&](Value value) -> const Layout & {
    return lookup(value).layout;
  };
  Alternatives others(mesh, resharder, layoutOf);
  cause.alternatives = others.find(use, from, layout);
  cause.advice = others.advise(use, from, layout);
  return cause;
}

/// Reduces a partial value behind its definition: directly into the layout of
/// its only use, or into the layout that all uses start from.
FailureOr<LocalValue> Partitioner::reduceAtDefinition(Value value,
                                                      OpOperand &use,
                                                      const Layout &layout) {
  GlobalValue &global = lookup(value);
  LocalValue partial = global.forms.front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(partial.value.getDefiningOp());
  marks.source = value.getDefiningOp();
  LocalValue reduced;
  reduced.layout = value.hasOneUse() ? layout : global.layout;
  bool hasTime = takeTime(partial.partial);
  Cause cause = findCause(use, partial, reduced.layout);
  if (failed(checkTime(use, partial.layout, reduced.layout, mesh, cause.text)))
    return failure();
  auto reduce = [&](const PartialAxes &rest) {
    FailureOr<Value> built = resharder.build(
        builder, value.getLoc(), cause, partial,
        ranked(value.getType()).getShape(), reduced.layout, rest);
    if (succeeded(built))
      partial = {*built, reduced.layout, rest};
    return built;
  };
  // The sum over micro-batches comes first, except for the axes over which each
  // is reduced, and those that split the reduced value.
  auto reshard = dyn_cast<ReshardOp>(use.getOwner());
  auto isReducedEach = [&](int axis) {
    return llvm::is_contained(reshard.getAxes(), mesh.name(axis)) ||
           splits(reduced.layout, axis);
  };
  if (hasTime && reshard && reshard.getEach()) {
    PartialAxes rest = partial.partial;
    llvm::erase_if(
        rest, [&](const auto &entry) { return isReducedEach(entry.first); });
    if (failed(reduce(rest)))
      return failure();
  }
  if (hasTime)
    partial.value = accumulate(partial.value);
  FailureOr<Value> built = reduce({});
  if (failed(built))
    return failure();
  reduced.value = *built;
  global.forms.push_back({reduced});
  return reduced;
}

/// Takes the time axis from `partial`; false if it has none.
bool Partitioner::takeTime(PartialAxes &partial) const {
  size_t before = partial.size();
  llvm::erase_if(partial, [&](const auto &entry) {
    return entry.first == mesh.timeAxis();
  });
  return partial.size() != before;
}

Value Partitioner::accumulate(Value addend) {
  return AccumulateOp::create(builder, addend.getLoc(), addend.getType(),
                              addend, mesh.name(mesh.timeAxis()));
}

FailureOr<Value> Partitioner::getOperand(OpOperand &operand,
                                         const Layout &layout) {
  Value value = operand.get();
  marks.parameter = operand.getOwner()->getAttr(attrs::kParameter);
  GlobalValue &global = lookup(value);
  ArrayRef<int64_t> shape = ranked(value.getType()).getShape();
  Operation *user = operand.getOwner(), *producer = value.getDefiningOp();
  bool isForward = getKind(user) == Kind::Forward;
  // The result of a reshard is made for it alone.
  bool isShared = !isa<ReshardOp>(user);
  SmallVector<LocalValue> atHand;
  for (const Form &form : global.forms) {
    bool isKept =
        keepsGathered || !form.isGathered || form.isForward == isForward;
    bool isFar = form.isGathered && isFarFrom(form.home, user);
    if (!form.partial.empty() || !isKept || isFar)
      continue;
    if (form.layout == layout && isShared)
      return form.value;
    atHand.push_back(form);
  }
  LocalValue source;
  if (!atHand.empty())
    source = resharder.chooseCheapest(atHand, shape, layout);
  if (!source.value) {
    FailureOr<LocalValue> reduced = reduceAtDefinition(value, operand, layout);
    if (failed(reduced))
      return failure();
    source = *reduced;
  }
  if (source.layout == layout)
    return source.value;
  bool isGathered =
      mesh.localType(ranked(value.getType()), layout).getNumElements() >
      ranked(source.value.getType()).getNumElements();
  bool isAgain = isGathered && !keepsGathered && !isForward && producer &&
                 getKind(producer) == Kind::Forward;
  // The smaller form crosses from stage to stage.
  bool isThere = isGathered && producer && isFarFrom(producer, user);
  Operation *home =
      producer && isShared && !isAgain && !isThere ? producer : user;
  // The return is no part of the step: its operand's definition counts.
  if (home->hasTrait<OpTrait::IsTerminator>())
    if (Operation *start = source.value.getDefiningOp())
      home = start;
  marks.source = home;
  const Cause cause = findCause(operand, source, layout);
  if (failed(checkTime(operand, source.layout, layout, mesh, cause.text)))
    return failure();
  FailureOr<Value> built =
      resharder.build(builder, value.getLoc(), cause, source, shape, layout);
  if (succeeded(built) && isShared)
    global.forms.push_back({{*built, layout, {}}, isGathered, isForward, home});
  return built;
}

ArrayRef<unsigned> Partitioner::findPassing(Operation *op,
                                            const ShardingRule &rule,
                                            Layout &factors) {
  auto isPartial = [&](unsigned index) {
    return !lookup(op->getOperand(index)).forms.front().partial.empty();
  };
  if (llvm::none_of(llvm::seq<unsigned>(0, op->getNumOperands()), isPartial))
    return {};
  for (const SmallVector<unsigned, 2> &set : rule.additive) {
    const PartialAxes &axes =
        lookup(op->getOperand(set.front())).forms.front().partial;
    auto isSummed = [&](int axis) {
      return llvm::is_contained(llvm::make_first_range(axes), axis);
    };
    // The op computes the partial value whole; the reduction may split it. An
    // operand that is split over these axes would have to be gathered.
    auto isSplit = [&](unsigned index) {
      return !llvm::is_contained(set, index) &&
             (llvm::any_of(lookup(op->getOperand(index)).layout,
                           [&](const AxisList &ofDim) {
                             return llvm::any_of(ofDim, isSummed);
                           }) ||
              (isSummed(mesh.timeAxis()) &&
               lookup(op->getOperand(index)).isAccumulated));
    };
    if (llvm::any_of(llvm::seq<unsigned>(0, op->getNumOperands()), isSplit))
      continue;
    Layout kept = factors;
    for (AxisList &ofFactor : kept)
      llvm::erase_if(ofFactor, [&](int axis) { return isSummed(axis); });
    dropUnspeakable(rule, kept, mesh);
    auto passes = [&](unsigned index) {
      const LocalValue &form = lookup(op->getOperand(index)).forms.front();
      return op->getOperand(index).hasOneUse() && !form.partial.empty() &&
             form.partial == axes &&
             form.layout == layoutOf(rule, rule.operands[index], kept, mesh) &&
             !cast<ShardingOpInterface>(op).reducesFirst(index);
    };
    bool isSum = llvm::all_of(llvm::make_second_range(axes),
                              [](Reduction r) { return r == Reduction::Sum; });
    if (!isSum || !llvm::all_of(set, passes))
      continue;
    factors = kept;
    return set;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Partitioner::enterResults(Operation *op, const ShardingRule &rule,
                                        const Layout &factors,
                                        PartialAxes partial, ValueRange locals,
                                        bool isAccumulated) {
  bool sumsOverTime =
      llvm::is_contained(llvm::make_first_range(partial), mesh.timeAxis());
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors)) {
    if (factor.kind != FactorKind::Reduction)
      continue;
    for (int axis : axes) {
      partial.push_back({axis, factor.reduction});
      if (axis != mesh.timeAxis())
        continue;
      if (factor.reduction != Reduction::Sum)
        return refuseReduction(op, mesh, factor.reduction,
                               [&](Value value) -> const Layout & {
                                 return lookup(value).layout;
                               });
      sumsOverTime = true;
    }
  }
  llvm::sort(partial);
  for (auto [index, local] : llvm::enumerate(locals)) {
    GlobalValue &global = lookup(op->getResult(index));
    global.isAccumulated = isAccumulated || sumsOverTime;
    LocalValue form = {
        local, layoutOf(rule, rule.results[index], factors, mesh), partial};
    marks.source = op;
    if (PartialAxes rest = partial;
        takeTime(rest) && !isAddedFirst(op->getResult(index)))
      form = {accumulate(local), form.layout, rest};
    global.forms.push_back({form});
  }
  return success();
}

LogicalResult Partitioner::partitionOp(Operation *op) {
  auto shardable = dyn_cast<ShardingOpInterface>(op);
  if (!shardable)
    return op->emitError("expects an op with a sharding rule, got ")
           << op->getName();
  ShardingRule rule = shardable.getShardingRule();
  SmallVector<const Layout *> results, operands;
  for (Value value : op->getResults()) {
    Layout layout = getLayout(value, mesh);
    GlobalValue &global = enter(value);
    global.layout = std::move(layout);
    results.push_back(&global.layout);
  }
  op->removeAttr(attrs::kShardings);
  bool isAccumulated = false;
  for (Value operand : op->getOperands()) {
    GlobalValue &global = lookup(operand);
    operands.push_back(&global.layout);
    isAccumulated |= global.isAccumulated;
  }
  Layout factors = chooseLocalAxes(op, rule, results, operands, mesh);
  bool isPerStep = llvm::none_of(factors, [&](const AxisList &axes) {
    return llvm::is_contained(axes, mesh.timeAxis());
  });
  if (isAccumulated && !isPerStep)
    return refuseSum(
        op, mesh, [&](Value value) { return lookup(value).isAccumulated; },
        [&](Value value) -> const Layout & { return lookup(value).layout; });

  ArrayRef<unsigned> passing = findPassing(op, rule, factors);
  if (passing.empty())
    keepOnTheWay(op, rule, factors, mesh, resharder,
                 [&](Value value) -> const LocalValue & {
                   return lookup(value).forms.front();
                 });
  SmallVector<Type> types;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Layout layout = layoutOf(rule, rule.results[index], factors, mesh);
    if (failed(checkDivides(op->getLoc(), result.getType(), *results[index])) ||
        failed(checkDivides(op->getLoc(), result.getType(), layout)))
      return failure();
    types.push_back(mesh.localType(ranked(result.getType()), layout));
  }
  PartialAxes passed;
  SmallVector<Value> locals;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (llvm::is_contained(passing, index)) {
      const LocalValue &form = lookup(operand.get()).forms.front();
      passed = form.partial;
      locals.push_back(form.value);
      continue;
    }
    Layout layout = layoutOf(rule, rule.operands[index], factors, mesh);
    if (failed(checkDivides(op->getLoc(), operand.get().getType(), layout)))
      return failure();
    FailureOr<Value> local = getOperand(operand, layout);
    if (failed(local))
      return failure();
    locals.push_back(*local);
  }
  SmallVector<SmallVector<StringAttr>> axes;
  for (const AxisList &ofFactor : factors)
    axes.push_back(mesh.names(ofFactor));
  marks.source = op;
  FailureOr<SmallVector<Value>> built = shardable.localize(
      builder, locals, types, axes, mesh.symbol(), mesh.attr());
  if (failed(built))
    return failure();
  return enterResults(op, rule, factors, passed, *built, isAccumulated);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult Partitioner::enterArguments(Block *local) {
  SmallVector<Attribute> shapes;
  for (BlockArgument argument : main.getArguments()) {
    GlobalValue &global = enter(argument);
    global.layout = getLayout(argument, mesh);
    if (failed(
            checkDivides(argument.getLoc(), argument.getType(), global.layout)))
      return failure();
    RankedTensorType type = ranked(argument.getType());
    Value value = local->addArgument(mesh.localType(type, global.layout),
                                     argument.getLoc());
    global.forms.push_back({{value, global.layout, {}}});
    shapes.push_back(builder.getDenseI64ArrayAttr(type.getShape()));
  }
  setArgAttrs(main, attrs::kGlobalShape, shapes);
  return success();
}

LogicalResult Partitioner::leave(Operation *terminator) {
  SmallVector<Attribute> shapes;
  SmallVector<Value> results;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    RankedTensorType type = ranked(operand.get().getType());
    Layout layout = mesh.toLayout(
        main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
    if (failed(checkDivides(main.getLoc(), type, layout)))
      return failure();
    FailureOr<Value> value = getOperand(operand, layout);
    if (failed(value))
      return failure();
    results.push_back(*value);
    shapes.push_back(builder.getDenseI64ArrayAttr(type.getShape()));
  }
  setResultAttrs(main, attrs::kGlobalShape, shapes);
  marks.source = nullptr;
  func::ReturnOp::create(builder, terminator->getLoc(), results);
  return success();
}

LogicalResult Partitioner::run() {
  Block *global = &main.getBody().front();
  Block *local = new Block;
  main.getBody().push_back(local);
  builder.setInsertionPointToEnd(local);
  LogicalResult done = enterArguments(local);
  for (Operation &op : global->without_terminator())
    if (succeeded(done))
      done = partitionOp(&op);
  if (succeeded(done))
    done = leave(global->getTerminator());
  if (failed(done)) {
    local->dropAllUses();
    local->erase();
    return failure();
  }
  global->dropAllUses();
  global->erase();
  main.setFunctionType(builder.getFunctionType(
      local->getArgumentTypes(), local->getTerminator()->getOperandTypes()));
  return success();
}

namespace {

struct PartitionPass : pp::impl::PartitionBase<PartitionPass> {
  using PartitionBase::PartitionBase;

  void runOnModule() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    if (failed(
            Partitioner(sharded->main, sharded->mesh, plan, getTopology(plan))
                .run()))
      return signalPassFailure();
    getOperation()->setAttr(attrs::kLevel,
                            LevelAttr::get(&getContext(), Level::Spmd));
  }
};

} // namespace

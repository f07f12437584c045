//===- CutStages.cpp - assigns ops and arguments to stages ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes a level 1 training step (origins and kinds set) and a plan. Sets
// pp.stages on every op of forward and backward pass, and on every argument.
// How many stages there are, pp.schedule says, or else the plan. Without `cuts`
// in the plan the planner chooses them. The ops of the update stay unassigned:
// they are placed with their users.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Remarks.h"
#include "pp/Analysis/ValueNames.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Planner/ChooseSchedule.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Planner/InShards.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Planner/StageCuts.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/DivideAxes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_CUTSTAGES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Checks the user's cuts: strictly increasing origins that leave no stage
/// empty.
LogicalResult verifyCuts(func::FuncOp main, ArrayRef<int64_t> cuts,
                         int64_t stages, int64_t origins) {
  const int64_t wanted = stages - 1;
  if (origins < stages)
    return main.emitError("expects a forward op for each of ")
           << stages << " stages, got " << origins;
  if (static_cast<int64_t>(cuts.size()) != wanted)
    return main.emitError("expects ")
           << wanted << (wanted == 1 ? " cut" : " cuts") << " for " << stages
           << (stages == 1 ? " stage" : " stages") << ", got " << cuts.size()
           << ": cuts name, by its number (pp.origin), the first forward op "
              "of every stage but the first; without any they are chosen";
  int64_t last = 0;
  for (auto [index, cut] : llvm::enumerate(cuts)) {
    // Every later stage has an op, too.
    const int64_t most = origins - (wanted - static_cast<int64_t>(index));
    if (cut <= last || cut > most)
      return main.emitError("expects stage ")
             << index + 1 << " to begin at a forward op (pp.origin) from "
             << last + 1 << " to " << most << ", got " << cut
             << " in cuts: a stage would be empty";
    last = cut;
  }
  return success();
}

/// A bit per stage. One that nothing was put into may have none.
using StageSet = llvm::SmallBitVector;

bool isScalarSum(Operation &op) {
  return isa<AddOp>(op) &&
         cast<RankedTensorType>(op.getResult(0).getType()).getRank() == 0;
}

/// Obeys the cuts. An op that depends on the batch runs where they put its
/// forward op. An op that depends on parameters alone is shared: repeated on
/// every stage that uses it, so that each of these may compute its gradient.
class StagePlacer {
public:
  StagePlacer(func::FuncOp main, ArrayRef<int64_t> cuts)
      : main(main), body(main.getBody().front()), cuts(cuts),
        batchDependent(getBatchDependent(main)) {}
  void placeOps();
  void placeArguments();

private:
  void findSumsOfResults();
  void placeForward();
  void placeGradients();
  void placeShared();
  void placeMeasures();
  bool placeMeasuresOfPlaced(const StageSet &whereNone);
  void placeConstantGradients();
  bool dependsOnBatch(Operation &op) const {
    return batchDependent.contains(op.getResult(0));
  }
  StageSet oneStage(int64_t stage) const {
    return StageSet(cuts.size() + 1).set(stage);
  }
  StageSet stageOf(int64_t origin) const {
    return oneStage(llvm::upper_bound(cuts, origin) - cuts.begin());
  }
  StageSet commonHome(Operation &op) const;
  StageSet homesOfWeightGradients(Operation &op) const;
  /// All stages of the ops that use `value`, as far as these are placed.
  StageSet stagesOfUsers(Value value) const;
  /// None for constants, and for unused arguments that have a place.
  StageSet homeOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? homes.lookup(op) : stagesOfUsers(value);
  }

  func::FuncOp main;
  Block &body;
  ArrayRef<int64_t> cuts;
  const llvm::DenseSet<Value> batchDependent;
  /// Additions of terms of the loss and of metrics.
  llvm::DenseSet<Operation *> sumsOfResults;
  llvm::DenseMap<Operation *, StageSet> homes;
  /// The homes of forward ops by their number.
  llvm::DenseMap<int64_t, StageSet> homesOfOrigins;
};

/// A sum of results puts its terms on no stage: they may live on any.
StageSet StagePlacer::stagesOfUsers(Value value) const {
  StageSet stages;
  for (Operation *user : value.getUsers())
    if (!sumsOfResults.contains(user))
      stages |= homes.lookup(user);
  return stages;
}

void StagePlacer::placeOps() {
  findSumsOfResults();
  placeForward();
  placeGradients();
  placeShared();
  placeMeasures();
  placeConstantGradients();
  placeShared();
  for (auto &[op, home] : homes)
    if (home.any())
      setStages(op, llvm::to_vector_of<int64_t>(home.set_bits()));
}

void StagePlacer::findSumsOfResults() {
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (getKind(&op) == Kind::Forward && isScalarSum(op) &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == body.getTerminator() || sumsOfResults.contains(user);
        }))
      sumsOfResults.insert(&op);
}

/// Users come before operands.
void StagePlacer::placeForward() {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    int64_t origin = getOrigin(&op);
    if (origin < 0 || getKind(&op) != Kind::Forward)
      continue;
    StageSet home =
        dependsOnBatch(op) ? stageOf(origin) : stagesOfUsers(op.getResult(0));
    // One may have clones, of which some are for gradients alone.
    homesOfOrigins[origin] |= home;
    homes[&op] = std::move(home);
  }
}

/// Gradients are placed like their forward ops. If these were simplified away,
/// ops on one parameter's gradients alone are with these, all others where the
/// cuts would have put the forward op. The sum of a parameter's gradients,
/// which belongs to none of its users, is where its addends are. So is that of
/// a value's gradients if they are on one stage: the sum crosses the cut, and
/// not each gradient.
void StagePlacer::placeGradients() {
  for (Operation &op : body.without_terminator()) {
    Kind kind = getKind(&op);
    if (kind == Kind::Forward || kind == Kind::Update || !dependsOnBatch(op))
      continue;
    StageSet home;
    if (isa<AddOp>(op) && kind == Kind::WeightGradient)
      for (Value operand : op.getOperands())
        if (batchDependent.contains(operand))
          home |= homes.lookup(operand.getDefiningOp());
    if (isa<AddOp>(op) && kind == Kind::InputGradient)
      home = commonHome(op);
    if (home.none())
      home = homesOfOrigins.lookup(getOrigin(&op));
    if (home.none() && kind == Kind::WeightGradient)
      home = homesOfWeightGradients(op);
    if (home.none())
      home = stageOf(getOrigin(&op));
    homes[&op] = std::move(home);
  }
}

/// The stages of the operands of `op` that depend on the batch, if all of these
/// belong to gradients of parameters; otherwise none.
StageSet StagePlacer::homesOfWeightGradients(Operation &op) const {
  StageSet stages;
  for (Value operand : op.getOperands()) {
    if (!batchDependent.contains(operand))
      continue;
    Operation *producer = operand.getDefiningOp();
    if (!producer || getKind(producer) != Kind::WeightGradient)
      return {};
    stages |= homes.lookup(producer);
  }
  return stages;
}

/// The one stage where all operands of `op` are computed, or none.
StageSet StagePlacer::commonHome(Operation &op) const {
  StageSet common;
  for (Value operand : op.getOperands()) {
    StageSet home = homes.lookup(operand.getDefiningOp());
    if (home.count() != 1 || (common.any() && home != common))
      return {};
    common = std::move(home);
  }
  return common;
}

/// Shared values are needed on all stages of their users.
void StagePlacer::placeShared() {
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (!dependsOnBatch(op) && getKind(&op) != Kind::Update)
      homes[&op] |= stagesOfUsers(op.getResult(0));
}

/// Measures of parameters (their norm, as a term of the loss or a metric) are
/// computed where these are. A sum of such over several stages has no place,
/// nor have the ops that follow from it: the update adds it up. Other ops that
/// need parameters of several stages stay where the cuts put them, with these.
/// Arguments that only such ops use go where these are, and so do ops on them
/// alone; where that is nowhere, on the first stage.
void StagePlacer::placeMeasures() {
  while (placeMeasuresOfPlaced(/*whereNone=*/{}))
    placeShared();
  placeMeasuresOfPlaced(oneStage(0));
}

/// One sweep; true if it has placed something. Ops whose operands all have no
/// place go to `whereNone`.
bool StagePlacer::placeMeasuresOfPlaced(const StageSet &whereNone) {
  bool hasPlaced = false;
  llvm::DenseSet<Operation *> spread;
  for (Operation &op : body.without_terminator()) {
    if (getKind(&op) != Kind::Forward || dependsOnBatch(op) ||
        homes.lookup(&op).any())
      continue;
    std::optional<StageSet> common;
    bool isSpread = false;
    for (Value operand : op.getOperands()) {
      isSpread |= spread.contains(operand.getDefiningOp());
      StageSet home = homeOf(operand);
      if (home.none())
        continue;
      if (common)
        *common &= home;
      else
        common = std::move(home);
    }
    if (common && common->none() && isScalarSum(op))
      isSpread = true;
    if (isSpread)
      spread.insert(&op);
    else if (common)
      homes[&op] = common->none() ? stageOf(getOrigin(&op)) : *common;
    else if (llvm::any_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
      homes[&op] = whereNone;
    hasPlaced |= homes.lookup(&op).any();
  }
  return hasPlaced;
}

/// A gradient that is the same whatever the batch, as that of a bias of which
/// the loss is a sum: it is still a sum over the batch, where the model uses
/// the parameter.
void StagePlacer::placeConstantGradients() {
  for (Operation &op : body.without_terminator())
    if (getKind(&op) == Kind::WeightGradient && homes.lookup(&op).none() &&
        !getSplat(op.getResult(0)))
      homes[&op] = homesOfOrigins.lookup(getOrigin(&op));
}

/// Results of @main that are other arguments: the argument that a result
/// updates, and the one that it is.
static SmallVector<std::pair<unsigned, unsigned>>
findPassedOn(func::FuncOp main) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (auto [value, updated] :
       llvm::zip_equal(main.getBody().front().getTerminator()->getOperands(),
                       getUpdatedArguments(main)))
    if (auto passed = dyn_cast<BlockArgument>(value); passed && updated)
      pairs.push_back({updated.getArgNumber(), passed.getArgNumber()});
  return pairs;
}

/// An argument lives on every stage with an op that uses it, and where another
/// one takes its value. States that at most the update uses live with their
/// parameter (pp.parameter), or where their new value is computed; of the rest
/// states (a step counter) live on all stages, others on the first. What the
/// updates of all parameters read (the loss's scale) lives on all stages, too,
/// wherever else it is used: it is smaller than gradients that would go there.
void StagePlacer::placeArguments() {
  SmallVector<StageSet> argumentHomes;
  llvm::StringMap<unsigned> arguments = getArgsByName(main);
  for (BlockArgument argument : main.getArguments())
    argumentHomes.push_back(stagesOfUsers(argument));
  for (auto [value, updated] : llvm::zip_equal(
           body.getTerminator()->getOperands(), getUpdatedArguments(main)))
    if (updated && value.getDefiningOp() &&
        getArgRole(main, updated.getArgNumber()) == Role::State &&
        argumentHomes[updated.getArgNumber()].none())
      argumentHomes[updated.getArgNumber()] =
          homes.lookup(value.getDefiningOp());
  SmallVector<std::pair<unsigned, unsigned>> passedOn = findPassedOn(main);
  auto spread = [&] {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [taker, giver] : passedOn) {
        StageSet &from = argumentHomes[giver], &to = argumentHomes[taker];
        const unsigned before = from.count() + to.count();
        if (to.none())
          to = from;
        from |= to;
        changed |= from.count() + to.count() != before;
      }
    }
  };
  spread();
  const StageSet all(cuts.size() + 1, /*t=*/true);
  auto parameterOf = [&](unsigned index) {
    return main.getArgAttrOfType<StringAttr>(index, attrs::kParameter);
  };
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    StageSet &home = argumentHomes[index];
    const bool isState = getArgRole(main, index) == Role::State,
               isOfUpdate =
                   isState && llvm::any_of(argument.getUsers(), [](auto *user) {
                     return getKind(user) == Kind::Update;
                   });
    if (!parameterOf(index) && (home.none() || isOfUpdate))
      home = isState ? all : oneStage(0);
  }
  spread();
  SmallVector<Attribute> attributes;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    StageSet &home = argumentHomes[index];
    if (StringAttr parameter = parameterOf(index); parameter && home.none())
      home = argumentHomes[arguments.at(parameter)];
    attributes.push_back(DenseI64ArrayAttr::get(
        main.getContext(), llvm::to_vector_of<int64_t>(home.set_bits())));
  }
  setArgAttrs(main, attrs::kStages, attributes);
}

/// Reports the start of every stage, and its share of the work.
void remarkCuts(func::FuncOp main, ArrayRef<int64_t> cuts, bool areGiven) {
  if (!main.getContext()->getRemarkEngine())
    return;
  struct Share {
    Operation *first = nullptr;
    llvm::DenseSet<int64_t> forwardOps; // by origin: one may have clones
    double flops = 0;
  };
  SmallVector<Share> shares(cuts.size() + 1);
  double total = 0;
  for (Operation &op : main.getBody().front()) {
    int64_t origin = getOrigin(&op);
    auto cost = dyn_cast<CostOpInterface>(op);
    if (origin < 0 || !cost)
      continue;
    Share &share = shares[llvm::upper_bound(cuts, origin) - cuts.begin()];
    share.flops += cost.getFlops();
    total += cost.getFlops();
    if (getKind(&op) != Kind::Forward)
      continue;
    share.first = share.first ? share.first : &op;
    share.forwardOps.insert(origin);
  }
  for (auto [stage, share] : llvm::enumerate(shares)) {
    Location loc = share.first ? share.first->getLoc() : main.getLoc();
    remark::analysis(
        loc, remark::RemarkOpts::name("stage").category("pp-cut-stages"))
        << remark::metric("stage", std::to_string(stage))
        << remark::metric("begins",
                          stage ? std::to_string(cuts[stage - 1]) : "0")
        << remark::metric("at", describeLocation(loc))
        << remark::metric("chosen_by", areGiven ? "plan" : "planner")
        << remark::metric("forward_ops",
                          std::to_string(share.forwardOps.size()))
        << remark::metric("flops", std::to_string(int64_t(share.flops)))
        << remark::metric(
               "share",
               llvm::formatv("{0:P1}", total ? share.flops / total : 0).str());
  }
}

struct CutStagesPass : pp::impl::CutStagesBase<CutStagesPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    auto main = lookupMain(module);
    auto plan = lookupPlan(module);
    if (failed(main) || failed(plan) || failed(chooseShardSums(*main)))
      return signalPassFailure();
    auto given = (*main)->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
    auto order =
        given ? FailureOr(given.getTable()) : chooseSchedule(*main, *plan);
    if (failed(order))
      return signalPassFailure();
    const int64_t stages = order->stages;

    Block &body = main->getBody().front();
    int64_t origins = 0;
    for (Operation &op : body)
      origins = std::max(origins, getOrigin(&op) + 1);
    if (origins == 0) {
      main->emitError("expects forward ops that pp-differentiate numbered "
                      "(pp.origin), got none");
      return signalPassFailure();
    }
    SmallVector<int64_t> cuts(plan->getCuts());
    if (const StringRef names = plan->getWord(PlanKey::Cuts); !names.empty()) {
      auto named = findNamedCuts(*main, names);
      if (failed(named))
        return signalPassFailure();
      cuts = std::move(*named);
      setPlan(module, plan->withCuts(cuts));
    }
    const bool areGiven = !cuts.empty();
    if (!areGiven) {
      // The cuts depend on the splits, so seeds are chosen, too.
      plan = withSeeds(*main, *plan);
      if (failed(plan))
        return signalPassFailure();
      auto chosen = chooseStageCuts(*main, {*plan, getTopology(*plan), *order});
      if (failed(chosen))
        return signalPassFailure();
      cuts.assign(chosen->begin(), chosen->end());
      setPlan(module, plan->withCuts(cuts));
    }
    if (failed(verifyCuts(*main, cuts, stages, origins)))
      return signalPassFailure();
    remarkCuts(*main, cuts, areGiven);

    StagePlacer placer(*main, cuts);
    placer.placeOps();
    placer.placeArguments();
  }
};

} // namespace

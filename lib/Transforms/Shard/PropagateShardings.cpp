//===- PropagateShardings.cpp - from a few shardings to all of them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with `pp.sharding` on some arguments and results. Out:
// `pp.shardings` on every op, `pp.sharding` on every argument and result. A
// fixed point over the factors of the ops' rules: every op chooses axes for its
// factors from those of its results and operands, and extends the open
// dimensions of all of them accordingly. If only a part of an axis could go on,
// the mesh is divided there, and propagation starts again. Layouts only grow,
// so it ends; the rounds follow the priorities of the plan's seeds, so a later
// round never undoes an earlier one. An updated parameter or state shares its
// argument's layout; it exists for the whole step, so it is never split over
// time. Requests that could not be met are remarks, and every axis of a value
// keeps its source.
//
//===----------------------------------------------------------------------===//
#include "ReshardAxes.h"
#include "SpreadRemarks.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/InShards.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/DivideAxes.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Axes that become active in the round of a priority.
struct Seed {
  int value;
  unsigned dim;
  AxisList axes;
  StringAttr root;
};

/// A sharding that the user wrote on an argument, a result or a constraint.
struct Wish {
  int value;
  Layout layout;
  Location loc;
  std::string what;
};

class Propagation {
public:
  Propagation(func::FuncOp main, PlanAttr plan, MeshView mesh)
      : main(main), plan(plan), mesh(mesh), graph(mesh),
        updated(getUpdatedArguments(main)) {}

  /// Finds all shardings.
  LogicalResult spread();
  /// Divisions of axes with which more of them could spread.
  const AxisDivisions &getDivisions() const { return graph.getDivisions(); }
  LogicalResult write();

private:
  LogicalResult buildNodes();
  LogicalResult stopAxes(Operation *change, ShardingSpread::Node &node);
  int numberOf(Value value);

  LogicalResult collectSeeds();
  LogicalResult checkSharding(Location loc, const Twine &what, Type type,
                              ShardingAttr sharding);
  /// A request for one dimension: its round, if not that of its axes, and its
  /// source.
  struct Asker {
    std::optional<int64_t> priority;
    std::string root;
  };
  void wish(int value, ShardingAttr sharding, Location loc, const Twine &what,
            function_ref<Asker(unsigned, int)> getAsker);

  void propagate();

  void writeShardings();
  void reportUnfulfilled();
  LogicalResult checkOps();
  LogicalResult checkAxes();

  func::FuncOp main;
  PlanAttr plan;
  MeshView mesh;
  ShardingSpread graph;
  DenseMap<Value, int> numbers;
  /// Per result: its state, or -1 where nothing is asked of it.
  SmallVector<int> resultStates;
  SmallVector<BlockArgument> updated; ///< by results
  std::vector<Wish> wishes;
  std::map<int64_t, SmallVector<Seed>> rounds;
  FoldedRemarks remarks{"pp-propagate-shardings"};
};

} // namespace

//===----------------------------------------------------------------------===//
// The graph of values and nodes
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int Propagation::numberOf(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, 0);
  if (inserted)
    it->second = graph.addValue(shapeOf(value));
  return it->second;
}

LogicalResult Propagation::buildNodes() {
  Block &body = main.getBody().front();
  const size_t numOps = body.getOperations().size();
  const size_t numResults = body.getTerminator()->getNumOperands();
  graph.reserve(body.getNumArguments() + numOps + numResults,
                numOps + 2 * numResults);
  for (BlockArgument argument : body.getArguments()) {
    int number = numberOf(argument);
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Param || role == Role::State)
      graph.value(number).without = mesh.timeAxis();
  }
  for (Operation &op : body.without_terminator()) {
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    ShardingSpread::Node node;
    node.op = &op;
    for (Value result : op.getResults())
      node.values.push_back(numberOf(result));
    for (Value operand : op.getOperands())
      node.values.push_back(numberOf(operand));
    if (isLayoutChange(&op) && failed(stopAxes(&op, node)))
      return failure();
    graph.connect(std::move(node), shardable.getShardingRule());
  }
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    int number = numberOf(value);
    BlockArgument argument = updated[index];
    if (argument && argument != value && argument.getType() == value.getType())
      graph.tie(numberOf(argument), number, index, /*isUpdate=*/true);
    if (!main.getResultAttr(index, attrs::kSharding)) {
      resultStates.push_back(-1);
      continue;
    }
    // Others may use the value as it suits them.
    resultStates.push_back(graph.addValue(shapeOf(value)));
    graph.tie(resultStates.back(), number, index, /*isUpdate=*/false);
  }
  return success();
}

/// All axes that a barrier names stay on their side. Those of a
/// reshard do when it adds them (ReshardAxes).
LogicalResult Propagation::stopAxes(Operation *change,
                                    ShardingSpread::Node &node) {
  SmallVector<StringAttr> names;
  if (auto reshard = dyn_cast<ReshardOp>(change))
    llvm::append_range(names, reshard.getAxes().getAsRange<StringAttr>());
  else
    for (DimShardingAttr dim :
         cast<ShardingConstraintOp>(change).getSharding().getDims())
      llvm::append_range(names, dim.getAxes());
  for (StringAttr name : names) {
    int axis = mesh.attr().indexOf(name);
    if (axis < 0)
      return change->emitError("expects axes of ")
             << mesh.attr() << ", got " << name;
    if (MeshAxisAttr attr = mesh.attr().getAxes()[axis];
        attr.getKind() != AxisKind::Space && isa<ReshardOp>(change))
      return change->emitError("expects axes that split tensors over devices, "
                               "got ")
             << attr;
    if (isa<ShardingConstraintOp>(change))
      node.stopped.push_back(axis);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

LogicalResult Propagation::checkSharding(Location loc, const Twine &what,
                                         Type type, ShardingAttr sharding) {
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      if (!mesh.attr().lookup(axis))
        return emitError(loc) << what << " expects axes of " << mesh.attr()
                              << ", got " << axis;
  if (!sharding.getPartial().empty() ||
      sharding.getRank() != cast<RankedTensorType>(type).getRank())
    return emitError(loc) << what << " of type " << type
                          << " expects a sharding of its rank that is not "
                             "partial, got "
                          << sharding;
  return success();
}

/// Adds the requests of `sharding` for a value: each axis in the round of its
/// source, or else in that of the axis, but not before an axis in front of it.
void Propagation::wish(int value, ShardingAttr sharding, Location loc,
                       const Twine &what,
                       function_ref<Asker(unsigned, int)> getAsker) {
  Layout layout = mesh.toLayout(sharding);
  for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
    if (!attr.getIsOpen())
      graph.value(value).closed.set(dim);
    int64_t round = std::numeric_limits<int64_t>::min();
    AxisList axes;
    for (int axis : layout[dim]) {
      axes.push_back(axis);
      const Asker asker = getAsker(dim, axis);
      auto root = StringAttr::get(main.getContext(), asker.root);
      round = std::max(round, asker.priority.value_or(mesh.priority(axis)));
      rounds[round].push_back({value, static_cast<unsigned>(dim), axes, root});
    }
  }
  wishes.push_back({value, std::move(layout), loc, what.str()});
}

LogicalResult Propagation::collectSeeds() {
  const SeedTable table(plan);
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto sharding =
        main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding);
    if (!sharding)
      continue;
    StringRef name = getArgName(main, index);
    std::string what = ("argument \"" + name + "\"").str();
    if (failed(
            checkSharding(main.getLoc(), what, argument.getType(), sharding)))
      return failure();
    std::string root = findRoot(argument.getLoc()).str();
    if (root.empty())
      root = spellGiven(sharding, what);
    wish(numberOf(argument), sharding, argument.getLoc(), what,
         [&](unsigned dim, int axis) {
           SeedAttr seed = table.findSeed(name, dim, mesh.name(axis));
           return seed ? Asker{seed.getPriority(), spellSeed(seed)}
                       : Asker{{}, root};
         });
  }
  for (auto constraint : main.getOps<ShardingConstraintOp>()) {
    if (!fits(constraint.getSharding(), constraint.getType(), mesh))
      return constraint.emitError("expects axes of ")
             << mesh.attr() << ", got " << constraint.getSharding();
    // The layout before a barrier is free.
    bool isBefore = constraint.getSide() == ConstrainedSide::Operand;
    ShardingAttr sharding = constraint.getSharding();
    if (isBefore)
      sharding = ShardingAttr::fromAxes(sharding.getMesh(), sharding.getAxes(),
                                        /*open=*/true);
    const std::string root = spellConstraint(constraint);
    wish(numberOf(constraint.getConstrained()), sharding, constraint.getLoc(),
         "constraint",
         [&](unsigned, int) { return Asker{constraint.getPriority(), root}; });
  }
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [index, state] : llvm::enumerate(resultStates)) {
    if (state < 0)
      continue;
    auto sharding =
        main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding);
    std::string what = ("result \"" + getResultName(main, index) + "\"").str();
    if (failed(checkSharding(main.getLoc(), what, main.getResultTypes()[index],
                             sharding)))
      return failure();
    wish(state, sharding, terminator->getLoc(), what,
         [&](unsigned, int) { return Asker{{}, spellGiven(sharding, what)}; });
  }
  return success();
}

void Propagation::propagate() {
  ReshardAxes reshards(graph, mesh);
  DenseMap<int, SmallVector<const Wish *, 1>> wished;
  for (const Wish &wish : wishes)
    wished[wish.value].push_back(&wish);
  reshards.stop([&](int value, int axis) {
    return llvm::any_of(wished.lookup(value), [&](const Wish *wish) {
      return splits(wish->layout, axis);
    });
  });
  for (auto &[priority, seeds] : rounds) {
    for (const Seed &seed : seeds)
      graph.place(seed.value, seed.dim, seed.axes, seed.root);
    graph.spread();
  }
  const int64_t zero = plan.getInt(PlanKey::Zero);
  reshards.place(StringAttr::get(
      main.getContext(), zero ? "zero=" + std::to_string(zero) : "pp.reshard"));
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Reports the axes in place of requested ones.
void Propagation::reportUnfulfilled() {
  for (const Wish &wish : wishes) {
    const ShardingSpread::Value &value = graph.value(wish.value);
    const Layout layout = cutAt(value.added, value.layout);
    const llvm::SmallBitVector &closed = value.closed;
    auto isFulfilled = [&](unsigned dim) {
      return closed.test(dim) ? wish.layout[dim] == layout[dim]
                              : isPrefix(wish.layout[dim], layout[dim]);
    };
    if (llvm::all_of(llvm::seq<unsigned>(0, layout.size()), isFulfilled))
      continue;
    SmallVector<FoldedRemarks::Metric> metrics = {
        {"of", wish.what},
        {"wanted", mesh.spell(wish.layout)},
        {"got", mesh.spell(layout)}};
    if (std::string rivals = spellRivals(value, wish.layout, layout);
        !rivals.empty())
      metrics.push_back({"by", rivals});
    remarks.add(wish.loc, "unfulfilled", metrics);
  }
}

void Propagation::writeShardings() {
  MLIRContext *context = main.getContext();
  auto shardingOf = [&](Value value) {
    return mesh.toSharding(graph.value(numbers.lookup(value)).layout);
  };
  auto hasSources = [&](int value) {
    return !graph.value(value).sources.empty();
  };
  bool explains = context->getRemarkEngine() != nullptr;
  for (auto [number, node] : llvm::enumerate(graph.getNodes())) {
    if (!node.op)
      continue;
    SmallVector<Attribute> shardings;
    for (Value result : node.op->getResults())
      shardings.push_back(shardingOf(result));
    node.op->setAttr(attrs::kShardings, ArrayAttr::get(context, shardings));
    if (explains)
      remarkConflict(graph, node, mesh, remarks);
    if (llvm::any_of(node.values, hasSources))
      node.op->setLoc(attachSources(
          node.op->getLoc(),
          findSources(graph, ArrayRef(node.values).take_front(shardings.size()),
                      number)));
  }
  SmallVector<Attribute> ofArguments, ofResults;
  for (BlockArgument argument : main.getArguments()) {
    ofArguments.push_back(shardingOf(argument));
    argument.setLoc(dropRoot(argument.getLoc()));
    if (int number = numbers.lookup(argument); hasSources(number))
      argument.setLoc(attachSources(argument.getLoc(),
                                    findSources(graph, number, /*number=*/-1)));
  }
  setArgAttrs(main, attrs::kSharding, ofArguments);
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    // An update goes where it came from, and a result is one value a step:
    // nothing of it stays split over time, but of what each micro-batch
    // predicts.
    int wished = resultStates[index];
    const ShardingSpread::Value &from =
        graph.value(updated[index] ? numbers.lookup(updated[index])
                    : wished >= 0  ? wished
                                   : numbers.lookup(value));
    Layout layout = from.layout;
    if (getResultRole(main, index) != Role::Prediction)
      for (AxisList &axes : layout)
        llvm::erase(axes, mesh.timeAxis());
    ofResults.push_back(mesh.toSharding(layout));
    if (wished >= 0) {
      graph.value(wished).sources = from.sources;
      graph.value(wished).layout = layout;
    }
  }
  setResultAttrs(main, attrs::kSharding, ofResults);
  if (explains)
    reportUnfulfilled();
}

LogicalResult Propagation::checkOps() {
  for (const ShardingSpread::Node &node : graph.getNodes())
    if (node.op && failed(checkNeighbours(graph, node, mesh, remarks)))
      return failure();
  return success();
}

/// An axis that splits nothing repeats all work on its devices. The stage axis
/// splits the ops.
LogicalResult Propagation::checkAxes() {
  llvm::SmallBitVector isUsed(mesh.numAxes());
  for (const ShardingSpread::Value &state : graph.getValues())
    for (const AxisList &axes : state.layout)
      for (int axis : axes)
        isUsed.set(axis);
  for (auto [number, axis] : llvm::enumerate(mesh.attr().getAxes())) {
    if (isUsed.test(number) || axis.getSize() <= 1 ||
        axis.getKind() == AxisKind::Stage)
      continue;
    InFlightDiagnostic error = main.emitError("expects every axis of ");
    error << mesh.attr() << " to split some tensor, got none over "
          << axis.getName();
    // The user has written the whole axis.
    const StringRef whole = MeshAxisAttr::getWhole(axis.getName());
    int64_t used = 1;
    for (auto [part, other] : llvm::enumerate(mesh.attr().getAxes()))
      if (MeshAxisAttr::getWhole(other.getName()) == whole && isUsed.test(part))
        used *= other.getSize();
    if (used > 1)
      return error << ", a part of " << whole << "="
                   << mesh.attr().sizeOf(whole) << ": " << whole << "=" << used
                   << " has the same program on fewer devices";
    return error << ": leave the axis out, or give an argument a seed that "
                    "names it";
  }
  return success();
}

LogicalResult Propagation::spread() {
  if (failed(buildNodes()) || failed(collectSeeds()))
    return failure();
  propagate();
  return success();
}

LogicalResult Propagation::write() {
  if (failed(checkOps()))
    return failure();
  writeShardings();
  remarks.emit();
  return checkAxes();
}

/// The seeds that take effect: if parameters have fewer elements than a
/// dimension's axes have devices, the last of these are dropped. Seeds of other
/// values stay.
static PlanAttr withoutIdle(func::FuncOp main, PlanAttr plan) {
  llvm::StringSet<> roots;
  main.walk(
      [&](ShardingConstraintOp op) { roots.insert(findRoot(op.getLoc())); });
  SmallVector<SeedAttr> seeds;
  for (SeedAttr seed : plan.getSeeds()) {
    SmallVector<size_t> counts(seed.getDims().size());
    bool isKnown = false;
    for (BlockArgument argument : main.getArguments()) {
      const unsigned index = argument.getArgNumber();
      if (!matchesPattern(seed.getPattern(), getArgName(main, index)))
        continue;
      const auto type = cast<RankedTensorType>(argument.getType());
      // Another seed may stand for a parameter of another rank.
      isKnown = getArgRole(main, index) == Role::Param &&
                type.getRank() == int64_t(counts.size());
      if (!isKnown)
        break;
      for (auto [count, dim, size] :
           llvm::zip_equal(counts, seed.getDims(), type.getShape())) {
        size_t used = 0;
        while (used < dim.getAxes().size() &&
               plan.getMesh().sizeOf(dim.getAxes().take_front(used)) < size)
          ++used;
        count = std::max(count, used);
      }
    }
    if (!isKnown || roots.contains(spellSeed(seed))) {
      seeds.push_back(seed);
      continue;
    }
    SmallVector<DimShardingAttr> dims;
    for (auto [count, dim] : llvm::zip_equal(counts, seed.getDims()))
      dims.push_back(DimShardingAttr::get(
          main.getContext(), dim.getAxes().take_front(count), dim.getIsOpen()));
    seeds.push_back(SeedAttr::get(main.getContext(), seed.getPattern(), dims,
                                  seed.getPriority(), seed.getIsBarrier()));
  }
  return plan.withSeeds(seeds);
}

namespace {

struct PropagateShardingsPass
    : pp::impl::PropagateShardingsBase<PropagateShardingsPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    if (failed(main) || failed(chooseShardSums(*main)) ||
        failed(propagate(*main)))
      signalPassFailure();
  }

  /// Parts of axes get smaller each time, so it ends.
  LogicalResult propagate(func::FuncOp main) {
    while (true) {
      auto plan = lookupPlan(getOperation());
      FailureOr<MeshView> mesh = MeshView::of(getOperation());
      if (failed(plan) || failed(mesh))
        return failure();
      Propagation propagation(main, *plan, *mesh);
      if (failed(propagation.spread()))
        return failure();
      if (propagation.getDivisions().empty()) {
        getOperation()->setAttr(attrs::kPlan, withoutIdle(main, *plan));
        return propagation.write();
      }
      divideAxes(getOperation(), propagation.getDivisions());
    }
  }
};

} // namespace

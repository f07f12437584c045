//===- PropagateShardings.cpp - from a few shardings to all of them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with `pp.sharding` on some arguments and results. Out:
// `pp.shardings` on every op, `pp.sharding` on every argument and result. A
// fixed point over the factors of the ops' rules: every op chooses axes for its
// factors from what its results and operands have, and extends the open
// dimensions of all of them accordingly. Layouts only grow, so it ends; the
// rounds follow the priorities of the plan's seeds, so what a later round wants
// never undoes an earlier one. An updated parameter or state shares its
// argument's layout; it is there for the whole step, so that it is never split
// over time. What was asked for and could not be had is a remark.
//
// A round goes in sweeps: all ops that saw a change propose from what was there
// before the sweep, then each value takes what it can. So the order of ops and
// arguments in the module has no say: the nearest seed wins, of equally near
// ones the axis with the smaller priority, then the one that the mesh names
// first, then the first dimension.
//
//===----------------------------------------------------------------------===//
#include "Factors.h"
#include "Seeds.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// What ties values together: an op's rule, or the identity between an argument
/// and its update, or between a value and the result that it becomes.
struct Node {
  Operation *op = nullptr;
  ShardingRule rule;
  /// Numbers of the values: results, then operands.
  SmallVector<int, 4> values;
};

struct ValueState {
  SmallVector<int64_t, 4> sizes;
  Layout layout;
  llvm::SmallBitVector closed; // per dimension
  SmallVector<int, 4> nodes;
  /// An axis that never splits the value, or -1.
  int without = -1;
};

/// Axes that become active in the round of a priority.
struct Seed {
  int value;
  unsigned dim;
  AxisList axes;
};

/// What somebody wrote on an argument, a result or a constraint.
struct Wish {
  int value;
  Layout layout;
  Location loc;
  std::string what;
};

/// What an op would have a dimension be.
struct Proposal {
  int value;
  unsigned dim;
  AxisList axes;
};

class Propagation {
public:
  Propagation(func::FuncOp main, PlanAttr plan, MeshView mesh)
      : main(main), plan(plan), mesh(mesh), arguments(getArgsByName(main)) {}

  LogicalResult run();

private:
  LogicalResult buildNodes();
  int addState(Type type);
  int numberOf(Value value);
  void connect(Node node);
  void tie(int a, int b);
  /// The argument that result `index` updates, or null.
  BlockArgument getUpdated(unsigned index);

  LogicalResult collectSeeds();
  LogicalResult checkSharding(Location loc, const Twine &what, Type type,
                              ShardingAttr sharding);
  void wish(int value, ShardingAttr sharding, Location loc, const Twine &what,
            function_ref<std::optional<int64_t>(unsigned)> getPriority);

  void propagate();
  void place(const Seed &seed);
  void visit(int node);
  void touch(int value);
  bool applyProposals();

  void writeShardings();
  void reportConflict(const Node &node);
  void reportUnfulfilled();
  LogicalResult checkAxes();

  func::FuncOp main;
  PlanAttr plan;
  MeshView mesh;
  std::vector<Node> nodes;
  std::vector<ValueState> states;
  DenseMap<Value, int> numbers;
  /// Per result: its state, or -1 where nothing is asked of it.
  SmallVector<int> resultStates;
  llvm::StringMap<unsigned> arguments;
  std::vector<Wish> wishes;
  std::map<int64_t, SmallVector<Seed>> rounds;
  std::vector<Proposal> proposals;
  SmallVector<int> queue;
  llvm::BitVector queued;
};

} // namespace

//===----------------------------------------------------------------------===//
// The graph of values and nodes
//===----------------------------------------------------------------------===//

int Propagation::addState(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  int64_t rank = shape.size();
  states.push_back({SmallVector<int64_t, 4>(shape), Layout(rank),
                    llvm::SmallBitVector(rank), SmallVector<int, 4>(), -1});
  return states.size() - 1;
}

int Propagation::numberOf(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, states.size());
  if (inserted)
    addState(value.getType());
  return it->second;
}

void Propagation::connect(Node node) {
  for (int value : node.values)
    states[value].nodes.push_back(nodes.size());
  nodes.push_back(std::move(node));
}

LogicalResult Propagation::buildNodes() {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    int number = numberOf(argument);
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Param || role == Role::State)
      states[number].without = mesh.timeAxis();
  }
  for (Operation &op : body.without_terminator()) {
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    Node node{&op, shardable.getShardingRule(), {}};
    for (Value result : op.getResults())
      node.values.push_back(numberOf(result));
    for (Value operand : op.getOperands())
      node.values.push_back(numberOf(operand));
    connect(std::move(node));
  }
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    int number = numberOf(value);
    BlockArgument updated = getUpdated(index);
    if (updated && updated != value && updated.getType() == value.getType())
      tie(numberOf(updated), number);
    if (!main.getResultAttr(index, attrs::kSharding)) {
      resultStates.push_back(-1);
      continue;
    }
    // Others may use the value as it suits them.
    resultStates.push_back(addState(value.getType()));
    tie(resultStates.back(), number);
  }
  return success();
}

void Propagation::tie(int a, int b) {
  Node node;
  TensorFactors factors;
  for (size_t dim = 0; dim < states[a].layout.size(); ++dim)
    factors.push_back({node.rule.addFactor(states[a].sizes[dim])});
  node.rule.results = node.rule.operands = {factors};
  node.values = {a, b};
  connect(std::move(node));
}

BlockArgument Propagation::getUpdated(unsigned index) {
  std::optional<Role> role = getResultRole(main, index);
  auto it = arguments.find(getResultName(main, index));
  if ((role != Role::Param && role != Role::State) || it == arguments.end())
    return {};
  return main.getArgument(it->second);
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

/// Enters what `sharding` asks of a value: each axis in the round of
/// `getPriority(dim)`, or else in that of the axis, but not before an axis that
/// it stands behind.
void Propagation::wish(
    int value, ShardingAttr sharding, Location loc, const Twine &what,
    function_ref<std::optional<int64_t>(unsigned)> getPriority) {
  Layout layout = mesh.toLayout(sharding);
  for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
    if (!attr.getIsOpen())
      states[value].closed.set(dim);
    std::optional<int64_t> priority = getPriority(dim);
    int64_t round = std::numeric_limits<int64_t>::min();
    AxisList axes;
    for (int axis : layout[dim]) {
      axes.push_back(axis);
      round = std::max(round, priority.value_or(mesh.priority(axis)));
      rounds[round].push_back({value, static_cast<unsigned>(dim), axes});
    }
  }
  wishes.push_back({value, std::move(layout), loc, what.str()});
}

LogicalResult Propagation::collectSeeds() {
  const SeedTable table(plan);
  auto byAxis = [](unsigned) { return std::optional<int64_t>(); };
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
    wish(numberOf(argument), sharding, argument.getLoc(), what,
         [&](unsigned dim) { return table.getPriority(name, dim); });
  }
  for (auto constraint : main.getOps<ShardingConstraintOp>()) {
    if (!fits(constraint.getSharding(), constraint.getType(), mesh))
      return constraint.emitError("expects axes of ")
             << mesh.attr() << ", got " << constraint.getSharding();
    wish(numberOf(constraint.getResult()), constraint.getSharding(),
         constraint.getLoc(), "constraint", byAxis);
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
    wish(state, sharding, terminator->getLoc(), what, byAxis);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The fixed point
//===----------------------------------------------------------------------===//

void Propagation::touch(int value) {
  for (int node : states[value].nodes) {
    if (queued.test(node))
      continue;
    queued.set(node);
    queue.push_back(node);
  }
}

/// Lists what the op would add to its values.
void Propagation::visit(int number) {
  const Node &node = nodes[number];
  size_t numResults = node.rule.results.size();
  SmallVector<const Layout *> layouts;
  for (int value : node.values)
    layouts.push_back(&states[value].layout);
  ArrayRef<const Layout *> all = layouts;
  Layout factors = chooseFactorAxes(node.rule, all.take_front(numResults),
                                    all.drop_front(numResults), mesh);
  for (auto [index, value] : llvm::enumerate(node.values)) {
    const ValueState &state = states[value];
    const TensorFactors &tensor = index < numResults
                                      ? node.rule.results[index]
                                      : node.rule.operands[index - numResults];
    Layout wanted = layoutOf(node.rule, tensor, factors, mesh);
    for (auto [dim, axes] : llvm::enumerate(wanted))
      if (!state.closed.test(dim) && axes.size() > state.layout[dim].size() &&
          isPrefix(state.layout[dim], axes))
        proposals.push_back({value, static_cast<unsigned>(dim), axes});
  }
}

/// Adds `axes` to a dimension as far as no other has them; an axis splits one
/// dimension of a tensor only. True if some were added.
static bool extend(ValueState &state, unsigned dim, const AxisList &axes) {
  Layout &layout = state.layout;
  AxisList &mine = layout[dim];
  if (!isPrefix(mine, axes))
    return false;
  size_t before = mine.size();
  for (int axis : llvm::drop_begin(axes, before)) {
    if (axis == state.without ||
        llvm::any_of(layout, [&](const AxisList &other) {
          return llvm::is_contained(other, axis);
        }))
      break;
    mine.push_back(axis);
  }
  return mine.size() != before;
}

/// Every value takes what it can, in an order that depends on what is proposed
/// and not on who did so.
bool Propagation::applyProposals() {
  auto rank = [&](const Proposal &proposal) {
    SmallVector<std::pair<int64_t, int>, 4> axes;
    for (int axis : proposal.axes)
      axes.push_back({mesh.priority(axis), axis});
    return axes;
  };
  llvm::sort(proposals, [&](const Proposal &a, const Proposal &b) {
    if (a.value != b.value)
      return a.value < b.value;
    auto rankA = rank(a), rankB = rank(b);
    return rankA != rankB ? rankA < rankB : a.dim < b.dim;
  });
  for (const Proposal &proposal : proposals)
    if (extend(states[proposal.value], proposal.dim, proposal.axes))
      touch(proposal.value);
  proposals.clear();
  return !queue.empty();
}

/// What an earlier round put somewhere stays.
void Propagation::place(const Seed &seed) {
  if (extend(states[seed.value], seed.dim, seed.axes))
    touch(seed.value);
}

void Propagation::propagate() {
  queued.resize(nodes.size());
  for (auto &[priority, seeds] : rounds) {
    for (const Seed &seed : seeds)
      place(seed);
    do {
      SmallVector<int> sweep;
      std::swap(sweep, queue);
      queued.reset();
      for (int node : sweep)
        visit(node);
    } while (applyProposals());
  }
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Says which operand an op reads in another layout than it has.
void Propagation::reportConflict(const Node &node) {
  SmallVector<const Layout *> layouts;
  for (int value : node.values)
    layouts.push_back(&states[value].layout);
  ArrayRef<const Layout *> all = layouts;
  size_t numResults = node.rule.results.size();
  int loser = -1;
  chooseFactorAxes(node.rule, all.take_front(numResults),
                   all.drop_front(numResults), mesh, &loser);
  if (loser < static_cast<int>(numResults))
    return;
  remark::missed(
      node.op->getLoc(),
      remark::RemarkOpts::name("conflict").category("pp-propagate-shardings"))
      << remark::metric("op", node.op->getName().getStringRef())
      << remark::metric("resharded_operand",
                        std::to_string(loser - numResults));
}

/// Says what took the place of what was asked for.
void Propagation::reportUnfulfilled() {
  for (const Wish &wish : wishes) {
    const Layout &layout = states[wish.value].layout;
    const llvm::SmallBitVector &closed = states[wish.value].closed;
    auto isFulfilled = [&](unsigned dim) {
      return closed.test(dim) ? wish.layout[dim] == layout[dim]
                              : isPrefix(wish.layout[dim], layout[dim]);
    };
    if (llvm::all_of(llvm::seq<unsigned>(0, layout.size()), isFulfilled))
      continue;
    remark::missed(wish.loc, remark::RemarkOpts::name("unfulfilled")
                                 .category("pp-propagate-shardings"))
        << remark::metric("of", wish.what)
        << remark::metric("wanted", mesh.spell(wish.layout))
        << remark::metric("got", mesh.spell(layout));
  }
}

void Propagation::writeShardings() {
  MLIRContext *context = main.getContext();
  auto shardingOf = [&](Value value) {
    return mesh.toSharding(states[numbers.lookup(value)].layout);
  };
  bool explains = context->getRemarkEngine() != nullptr;
  for (const Node &node : nodes) {
    if (!node.op)
      continue;
    SmallVector<Attribute> shardings;
    for (Value result : node.op->getResults())
      shardings.push_back(shardingOf(result));
    node.op->setAttr(attrs::kShardings, ArrayAttr::get(context, shardings));
    if (explains)
      reportConflict(node);
  }
  SmallVector<Attribute> ofArguments, ofResults;
  for (BlockArgument argument : main.getArguments())
    ofArguments.push_back(shardingOf(argument));
  setArgAttrs(main, attrs::kSharding, ofArguments);
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    // An update goes where it came from, and a result is one value a step:
    // nothing of it stays split over time.
    BlockArgument updated = getUpdated(index);
    int wished = resultStates[index];
    Layout layout = states[updated       ? numbers.lookup(updated)
                           : wished >= 0 ? wished
                                         : numbers.lookup(value)]
                        .layout;
    for (AxisList &axes : layout)
      llvm::erase(axes, mesh.timeAxis());
    ofResults.push_back(mesh.toSharding(layout));
    if (wished >= 0)
      states[wished].layout = layout;
  }
  setResultAttrs(main, attrs::kSharding, ofResults);
  if (explains)
    reportUnfulfilled();
}

/// An axis over which nothing is split computes everything as often as it is
/// large. The stage axis splits the ops.
LogicalResult Propagation::checkAxes() {
  llvm::SmallBitVector isUsed(mesh.numAxes());
  for (const ValueState &state : states)
    for (const AxisList &axes : state.layout)
      for (int axis : axes)
        isUsed.set(axis);
  for (auto [number, axis] : llvm::enumerate(mesh.attr().getAxes()))
    if (!isUsed.test(number) && axis.getSize() > 1 &&
        axis.getKind() != AxisKind::Stage)
      return main.emitError("expects every axis of ")
             << mesh.attr() << " to split some tensor, got none over "
             << axis.getName()
             << ": leave the axis out, or give an argument a seed that "
                "names it";
  return success();
}

LogicalResult Propagation::run() {
  if (failed(buildNodes()) || failed(collectSeeds()))
    return failure();
  propagate();
  writeShardings();
  return checkAxes();
}

namespace {

struct PropagateShardingsPass
    : pp::impl::PropagateShardingsBase<PropagateShardingsPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    FailureOr<MeshView> mesh = MeshView::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (failed(Propagation(*main, *plan, *mesh).run()))
      signalPassFailure();
  }
};

} // namespace

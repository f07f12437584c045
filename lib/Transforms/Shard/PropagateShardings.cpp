//===- PropagateShardings.cpp - from a few shardings to all of them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with `pp.sharding` on some arguments. Out: `pp.shardings` on
// every op, `pp.sharding` on every argument and result. A fixed point over the
// factors of the ops' rules: every op chooses axes for its factors from what
// its results and operands have, and extends the open dimensions of all of them
// accordingly. Layouts only grow, so it ends; the rounds follow the priorities
// of the plan's seeds, so what a later round wants never undoes an earlier one.
// An updated parameter or state shares its argument's layout.
//
//===----------------------------------------------------------------------===//
#include "Factors.h"
#include "Seeds.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include <deque>
#include <set>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// What ties values together: an op's rule, or an argument and its update.
struct Node {
  Operation *op = nullptr;
  ShardingRule rule;
  /// Numbers of the values: results, then operands.
  SmallVector<int, 4> values;
};

struct ValueState {
  Value value;
  Layout layout;
  llvm::SmallBitVector closed; // per dimension
  SmallVector<int, 4> nodes;
};

class Propagation {
public:
  Propagation(func::FuncOp main, PlanAttr plan, MeshView mesh)
      : main(main), plan(plan), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult buildNodes();
  int numberOf(Value value);
  void connect(Node node);
  LogicalResult collectSeeds();
  void propagate();
  void visit(int node);
  void touch(int value);
  void writeShardings();

  /// Axes that become active in the round of a priority.
  struct Seed {
    int value;
    unsigned dim;
    AxisList axes;
  };

  func::FuncOp main;
  PlanAttr plan;
  MeshView mesh;
  std::vector<Node> nodes;
  std::vector<ValueState> states;
  DenseMap<Value, int> numbers;
  std::map<int64_t, SmallVector<Seed>> rounds;
  std::deque<int> queue;
  llvm::BitVector queued;
};

} // namespace

//===----------------------------------------------------------------------===//
// The graph of values and nodes
//===----------------------------------------------------------------------===//

int Propagation::numberOf(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, states.size());
  if (inserted) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    states.push_back({value, Layout(rank), llvm::SmallBitVector(rank),
                      SmallVector<int, 4>()});
  }
  return it->second;
}

void Propagation::connect(Node node) {
  for (int value : node.values)
    states[value].nodes.push_back(nodes.size());
  nodes.push_back(std::move(node));
}

LogicalResult Propagation::buildNodes() {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments())
    numberOf(argument);
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
  llvm::StringMap<unsigned> arguments = getArgsByName(main);
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    std::optional<Role> role = getResultRole(main, index);
    auto it = arguments.find(getResultName(main, index));
    bool isUpdate = role == Role::Param || role == Role::State;
    if (!isUpdate || it == arguments.end())
      continue;
    BlockArgument argument = body.getArgument(it->second);
    if (argument == value || argument.getType() != value.getType())
      continue;
    Node tie;
    TensorFactors factors;
    for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
      factors.push_back({tie.rule.addFactor(size)});
    tie.rule.results = tie.rule.operands = {factors};
    tie.values = {numberOf(argument), numberOf(value)};
    connect(std::move(tie));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

LogicalResult Propagation::collectSeeds() {
  auto close = [&](int value, ShardingAttr sharding, StringRef name) {
    Layout layout = mesh.toLayout(sharding);
    for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
      if (!attr.getIsOpen())
        states[value].closed.set(dim);
      if (!layout[dim].empty())
        rounds[getSeedPriority(plan, name, dim)].push_back(
            {value, static_cast<unsigned>(dim), layout[dim]});
    }
  };
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto sharding =
        main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding);
    if (!sharding)
      continue;
    StringRef name = getArgName(main, index);
    for (DimShardingAttr dim : sharding.getDims())
      for (StringAttr axis : dim.getAxes())
        if (!mesh.attr().lookup(axis))
          return main.emitError("argument \"")
                 << name << "\" expects axes of " << mesh.attr() << ", got "
                 << axis;
    if (!sharding.getPartial().empty() ||
        sharding.getRank() !=
            cast<RankedTensorType>(argument.getType()).getRank())
      return main.emitError("argument \"")
             << name << "\" of type " << argument.getType()
             << " expects a sharding of its rank that is not partial, got "
             << sharding;
    close(numberOf(argument), sharding, name);
  }
  for (auto constraint : main.getOps<ShardingConstraintOp>()) {
    if (!fits(constraint.getSharding(), constraint.getType(), mesh))
      return constraint.emitError("expects axes of ")
             << mesh.attr() << ", got " << constraint.getSharding();
    close(numberOf(constraint.getResult()), constraint.getSharding(), "");
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

void Propagation::visit(int number) {
  Node &node = nodes[number];
  size_t numResults = node.rule.results.size();
  SmallVector<const Layout *> layouts;
  for (int value : node.values)
    layouts.push_back(&states[value].layout);
  ArrayRef<const Layout *> all = layouts;
  Layout factors = chooseFactorAxes(node.rule, all.take_front(numResults),
                                    all.drop_front(numResults), mesh);
  for (auto [index, value] : llvm::enumerate(node.values)) {
    ValueState &state = states[value];
    const TensorFactors &tensor = index < numResults
                                      ? node.rule.results[index]
                                      : node.rule.operands[index - numResults];
    Layout wanted = layoutOf(node.rule, tensor, factors, mesh);
    bool changed = false;
    for (auto [dim, axes] : llvm::enumerate(wanted)) {
      AxisList &mine = state.layout[dim];
      if (state.closed.test(dim) || axes.size() <= mine.size() ||
          !isPrefix(mine, axes))
        continue;
      for (int axis : llvm::drop_begin(axes, mine.size())) {
        // An axis splits one dimension of a tensor only.
        if (llvm::any_of(state.layout, [&](const AxisList &other) {
              return llvm::is_contained(other, axis);
            }))
          break;
        mine.push_back(axis);
        changed = true;
      }
    }
    if (changed)
      touch(value);
  }
}

void Propagation::propagate() {
  queued.resize(nodes.size());
  for (auto &[priority, seeds] : rounds) {
    for (const Seed &seed : seeds) {
      Layout &layout = states[seed.value].layout;
      AxisList &mine = layout[seed.dim];
      // What an earlier round put there stays.
      auto isTaken = [&](int axis) {
        return !llvm::is_contained(mine, axis) &&
               llvm::any_of(layout, [&](const AxisList &other) {
                 return llvm::is_contained(other, axis);
               });
      };
      if (!isPrefix(mine, seed.axes) || llvm::any_of(seed.axes, isTaken))
        continue;
      mine = seed.axes;
      touch(seed.value);
    }
    while (!queue.empty()) {
      int node = queue.front();
      queue.pop_front();
      queued.reset(node);
      visit(node);
    }
  }
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void Propagation::writeShardings() {
  MLIRContext *context = main.getContext();
  auto shardingOf = [&](Value value) {
    return mesh.toSharding(states[numbers.lookup(value)].layout);
  };
  bool explains = context->getRemarkEngine() != nullptr;
  for (Node &node : nodes) {
    if (!node.op)
      continue;
    SmallVector<Attribute> shardings;
    for (Value result : node.op->getResults())
      shardings.push_back(shardingOf(result));
    node.op->setAttr(attrs::kShardings, ArrayAttr::get(context, shardings));
    if (!explains)
      continue;
    SmallVector<const Layout *> layouts;
    for (int value : node.values)
      layouts.push_back(&states[value].layout);
    ArrayRef<const Layout *> all = layouts;
    size_t numResults = node.rule.results.size();
    int loser = -1;
    chooseFactorAxes(node.rule, all.take_front(numResults),
                     all.drop_front(numResults), mesh, &loser);
    if (loser < static_cast<int>(numResults))
      continue;
    remark::missed(
        node.op->getLoc(),
        remark::RemarkOpts::name("conflict").category("pp-propagate-shardings"))
        << remark::metric("op", node.op->getName().getStringRef())
        << remark::metric("resharded_operand",
                          std::to_string(loser - numResults));
  }
  SmallVector<Attribute> ofArguments, ofResults;
  for (BlockArgument argument : main.getArguments())
    ofArguments.push_back(shardingOf(argument));
  setArgAttrs(main, attrs::kSharding, ofArguments);
  Operation *terminator = main.getBody().front().getTerminator();
  for (Value value : terminator->getOperands()) {
    Layout layout = states[numbers.lookup(value)].layout;
    // A result is one value a step: nothing of it stays split over time.
    for (AxisList &axes : layout)
      llvm::erase(axes, mesh.timeAxis());
    ofResults.push_back(mesh.toSharding(layout));
  }
  setResultAttrs(main, attrs::kSharding, ofResults);
}

LogicalResult Propagation::run() {
  if (failed(buildNodes()) || failed(collectSeeds()))
    return failure();
  propagate();
  writeShardings();
  return success();
}

namespace {

struct PropagateShardingsPass
    : pp::impl::PropagateShardingsBase<PropagateShardingsPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    FailureOr<MeshOp> mesh = requireMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    MeshView view(mesh->getMesh(),
                  FlatSymbolRefAttr::get(mesh->getSymNameAttr()));
    if (failed(Propagation(*main, *plan, view).run()))
      signalPassFailure();
  }
};

} // namespace

//===- ShardingJudge.cpp - a partitioned module against itself ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ShardingJudge.h"
#include "../../Random/RandomProgram.h"
#include "../../Random/RandomSeeds.h"
#include "../../Random/Shrink.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Reference/Spmd.h"
#include "pp/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <map>
#include <numeric>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

std::string pp::testing::toText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Largest difference relative to the tensor's largest element, or to what is
/// small beside the arguments, which are about 1: a sum that cancels leaves
/// their rounding.
static double distance(const reference::HostTensor &a,
                       const reference::HostTensor &b) {
  double largest = 1e-4, worst = 0;
  for (double value : b.values)
    largest = std::max(largest, std::abs(value));
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    if (!(std::abs(x - y) <= worst * largest) &&
        !(std::isnan(x) && std::isnan(y)))
      worst = std::abs(x - y) / largest;
    if (std::isnan(x) != std::isnan(y))
      return INFINITY;
  }
  return worst;
}

/// An update lies as its argument does, whatever is asked for.
static bool isUpdate(func::FuncOp main, unsigned result) {
  std::optional<Role> role = getResultRole(main, result);
  return role == Role::Param || role == Role::State;
}

/// A result has the axes asked for, or their parts, as many as it has elements
/// for, and more only where it is open.
static bool obeys(ShardingAttr actual, ShardingAttr wanted, MeshAttr mesh,
                  ArrayRef<int64_t> shape) {
  return llvm::all_of_zip(
      actual.getDims(), wanted.getDims(), shape,
      [&](DimShardingAttr mine, DimShardingAttr theirs, int64_t size) {
        SmallVector<StringAttr> axes;
        for (StringAttr axis : theirs.getAxes())
          for (StringAttr part : mesh.partsOf(axis))
            if (mesh.sizeOf(axes) < size)
              axes.push_back(part);
        return (theirs.getIsOpen() ? mine.getAxes().take_front(axes.size())
                                   : mine.getAxes()) == ArrayRef(axes);
      });
}

namespace {

/// Remembers of which sizes pp-pad-dimensions says that they share padding, and
/// whether nothing else can be had: no op works on it, or it lies over time.
class SharedRemarks : public remark::detail::MLIRRemarkStreamerBase {
public:
  using Sizes = std::map<std::pair<std::string, std::string>, bool>;
  explicit SharedRemarks(Sizes &sizes) : sizes(sizes) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (remark.getRemarkName() != "shared")
      return;
    std::map<std::string, std::string> values;
    for (const auto &argument : remark.getArgs())
      values[argument.key] = argument.val;
    sizes[{values["size"], values["padded_shared"]}] |=
        values["seconds_of_padding"] == "0.00E+00" ||
        llvm::StringRef(values["seconds_of_gathering"])
            .contains_insensitive("inf");
  }

private:
  Sizes &sizes;
};

/// What padding may cost: nothing where all dimensions that share a factor
/// divide, directly or by way of others. Else no more than the next multiple of
/// all shards of the dimensions that ops tie together without merging any,
/// unless a remark says that it would be dearer to pad these alone: never where
/// sending takes no time.
class PaddingJudge {
public:
  explicit PaddingJudge(func::FuncOp main);
  /// What is wrong, or nothing.
  std::string findFault(const SharedRemarks::Sizes &shared,
                        bool isSendingFree) const;

private:
  struct Dim {
    Value value;
    unsigned number;
    int64_t size;
    /// Of those that ops tie together, and without those that merge.
    int set, plain;
  };
  struct Set {
    bool isUneven = false;
    int64_t multiple = 1;
  };
  using Parents = std::vector<int>;

  static int find(const Parents &parents, int node) {
    return parents[node] == node ? node : find(parents, parents[node]);
  }
  static void unite(Parents &parents, int a, int b) {
    parents[find(parents, a)] = find(parents, b);
  }
  int addNode() {
    plain.push_back(all.size());
    all.push_back(all.size());
    return all.back();
  }
  /// The first of a value's dimensions.
  int nodeOf(Value value);
  void addOp(ShardingOpInterface op);
  void addLayout(Value value, ShardingAttr sharding);

  MeshAttr mesh;
  Parents all, plain;
  DenseMap<Value, int> nodes;
  std::map<int, Set> sets, plainSets;
  std::vector<Dim> dims;
};

} // namespace

int PaddingJudge::nodeOf(Value value) {
  auto [it, isNew] = nodes.try_emplace(value, all.size());
  if (isNew)
    for (int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
         rank > 0; --rank)
      addNode();
  return it->second;
}

void PaddingJudge::addOp(ShardingOpInterface op) {
  const ShardingRule rule = op.getShardingRule();
  const int first = all.size();
  for (size_t factor = 0; factor < rule.factors.size(); ++factor)
    addNode();
  auto add = [&](Value value, const TensorFactors &tensor) {
    const int node = nodeOf(value);
    for (auto [dim, factors] : llvm::enumerate(tensor))
      for (int64_t factor : factors) {
        unite(all, node + dim, first + factor);
        if (factors.size() == 1)
          unite(plain, node + dim, first + factor);
      }
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    add(value, tensor);
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    add(value, tensor);
}

void PaddingJudge::addLayout(Value value, ShardingAttr sharding) {
  const int node = nodeOf(value);
  for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
    const int64_t size =
        cast<RankedTensorType>(value.getType()).getDimSize(dim);
    const int64_t shards = mesh.sizeOf(axes.getAxes());
    dims.push_back({value, static_cast<unsigned>(dim), size,
                    find(all, node + dim), find(plain, node + dim)});
    sets[dims.back().set].isUneven |= size % shards != 0;
    Set &set = plainSets[dims.back().plain];
    set.multiple = std::lcm(set.multiple, shards);
  }
}

PaddingJudge::PaddingJudge(func::FuncOp main)
    : mesh(lookupMesh(main->getParentOfType<ModuleOp>()).getMesh()) {
  for (auto op : main.getOps<ShardingOpInterface>())
    addOp(op);
  ValueRange results = main.getBody().front().getTerminator()->getOperands();
  for (auto [value, argument] :
       llvm::zip_equal(results, getUpdatedArguments(main)))
    if (argument && argument.getType() == value.getType())
      for (int64_t dim :
           llvm::seq(cast<RankedTensorType>(value.getType()).getRank()))
        for (Parents *parents : {&all, &plain})
          unite(*parents, nodeOf(value) + dim, nodeOf(argument) + dim);
  for (BlockArgument argument : main.getArguments())
    addLayout(argument, main.getArgAttrOfType<ShardingAttr>(
                            argument.getArgNumber(), attrs::kSharding));
  for (auto op : main.getOps<ShardingOpInterface>())
    for (auto [result, sharding] : llvm::zip_equal(
             op->getResults(), op->getAttrOfType<ArrayAttr>(attrs::kShardings)
                                   .getAsRange<ShardingAttr>()))
      addLayout(result, sharding);
  for (auto [index, result] : llvm::enumerate(results))
    addLayout(result,
              main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
}

std::string PaddingJudge::findFault(const SharedRemarks::Sizes &shared,
                                    bool isSendingFree) const {
  for (const Dim &dim : dims) {
    const int64_t now =
        cast<RankedTensorType>(dim.value.getType()).getDimSize(dim.number);
    const bool isUneven = sets.at(dim.set).isUneven;
    const int64_t multiple = plainSets.at(dim.plain).multiple;
    const auto said =
        shared.find({std::to_string(dim.size), std::to_string(now)});
    const bool isShared =
        said != shared.end() && (!isSendingFree || said->second);
    if (!isUneven
            ? now == dim.size
            : isShared || now <= int64_t(llvm::alignTo(dim.size, multiple)))
      continue;
    std::string text;
    llvm::raw_string_ostream(text)
        << "dimension " << dim.number << " of " << dim.size
        << (isUneven ? "" : ", which divides,") << " is padded to " << now
        << " in " << dim.value << ", where multiples of " << multiple
        << " would do";
    return text;
  }
  return "";
}

/// Inputs, with states as an optimizer leaves them: squares and a step.
static std::vector<reference::HostTensor> makeInputs(func::FuncOp main,
                                                     unsigned seed) {
  auto inputs = makeRandomInputs(main, seed);
  for (auto [index, input] : llvm::enumerate(inputs))
    if (getArgRole(main, index) == Role::State)
      for (double &value : input.values)
        value = input.elementType().isInteger() ? 3 : std::abs(value);
  return inputs;
}

Verdict pp::testing::judgeFailure(StringRef message) {
  if (StringRef reason = findRefusal(message); !reason.empty())
    return {reason.str(), ""};
  return {"", message.empty() ? "fails without a word" : message.str()};
}

Verdict pp::testing::judgeShardings(ModuleOp module, unsigned seed,
                                    function_ref<void(ModuleOp)> onPropagated) {
  MLIRContext *context = module.getContext();
  std::string message;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  if (failed(verify(module)))
    return {"", "invalid module: " + message};
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto inputs = makeInputs(main, seed);
  auto expected = reference::evaluate(main, inputs);
  if (failed(expected))
    return {"", "not evaluated: " + message};

  SmallVector<ShardingAttr> wanted;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    wanted.push_back(
        main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
  PassManager propagate(context), split(context), pad(context), passes(context);
  propagate.addPass(createPropagateShardings());
  split.addPass(createSplitScans());
  pad.addPass(createPadDimensions());
  passes.addPass(createPartition());
  passes.addPass(createOptimizeCollectives());
  if (failed(propagate.run(module)))
    return judgeFailure(message);
  if (onPropagated)
    onPropagated(module);
  // With priorities, an earlier round may take an axis first.
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  for (auto [index, sharding] : llvm::enumerate(wanted))
    if (sharding && plan.getSeeds().empty() && !isUpdate(main, index) &&
        !obeys(main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding),
               sharding, lookupMesh(module).getMesh(),
               cast<RankedTensorType>(main.getResultTypes()[index]).getShape()))
      return {"", "result " + std::to_string(index) + " has another sharding"};
  if (failed(split.run(module)))
    return judgeFailure(message);
  const PaddingJudge padding(main);
  SharedRemarks::Sizes shared;
  (void)remark::enableOptimizationRemarks(
      *context, std::make_unique<SharedRemarks>(shared),
      std::make_unique<remark::RemarkEmittingPolicyAll>(),
      {/*all=*/{}, {}, {}, /*analysis=*/"pp-pad-dimensions", {}});
  const bool isPadded = succeeded(pad.run(module));
  context->setRemarkEngine(nullptr);
  if (!isPadded)
    return judgeFailure(message);
  if (std::string fault =
          padding.findFault(shared, plan.getWord(PlanKey::Links) == kFreeLinks);
      !fault.empty())
    return {"", fault};
  if (failed(passes.run(module)))
    return judgeFailure(message);
  auto actual =
      reference::evaluateSpmd(main, lookupMesh(module).getMesh(), inputs);
  if (failed(actual))
    return {"", "not evaluated on devices: " + message};
  for (size_t index = 0; index < actual->size(); ++index)
    if ((*actual)[index].type != (*expected)[index].type ||
        !(distance((*actual)[index], (*expected)[index]) <= 1e-10))
      return {"", "wrong result " + std::to_string(index)};
  return {};
}

std::string pp::testing::findFault(ModuleOp module, unsigned seed) {
  OwningOpRef<ModuleOp> copy = module.clone();
  const std::string fault = judgeShardings(*copy, seed).fault;
  if (fault.empty())
    return "";
  OwningOpRef<ModuleOp> small = shrink(module, [&](ModuleOp candidate) {
    return !judgeShardings(candidate, seed).fault.empty();
  });
  copy = small->clone();
  const std::string remains = judgeShardings(*copy, seed).fault;
  return fault + "\nshrunk to:\n" + toText(*small) + remains + "\n" +
         toText(*copy);
}

//===- FormKernels.cpp - groups graph ops into kernels --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: functions and fragments of graph ops on local shapes. Out: the same with
// a pp.launch per kernel, a private function. UnfoldWindows.cpp makes products
// of convolutions that the library lacks, PadRows.cpp pads rows of matrices for
// the library, DivideSums.cpp divides sums that are too long for a core,
// FormContractions.cpp makes the library calls, KernelClusters.cpp and
// ClustersBeside.cpp decide which of the other ops share a kernel,
// KernelBody.cpp the types in which it computes; this file orders and outlines
// the clusters.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "KernelBody.h"
#include "KernelClusters.h"
#include "mlir/IR/IRMapping.h"
#include "pp/Analysis/InPlace.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include <set>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_FORMKERNELS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

void eraseUnusedOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// `wide`: the values of narrow floats that memory holds as f32.
func::FuncOp outline(const KernelCluster &cluster, const ExactOps &exact,
                     const DenseSet<Value> &wide) {
  MLIRContext *context = cluster.live.front()->getContext();
  OpBuilder builder(context);
  auto typeOf = [&](Value value) -> Type {
    return wide.contains(value) ? ranked(value).clone(builder.getF32Type())
                                : value.getType();
  };
  SmallVector<Type> inputs = llvm::map_to_vector(cluster.inputs, typeOf);
  SmallVector<Type> outputs = llvm::map_to_vector(cluster.outputs, typeOf);
  auto kernel = func::FuncOp::create(cluster.live.front()->getLoc(), "kernel",
                                     builder.getFunctionType(inputs, outputs));
  kernel.setPrivate();
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(context, KernelKind::Loops));
  const RowOption &option = cluster.options.front();
  SmallVector<DenseI64ArrayAttr> layouts;
  for (Value output : cluster.outputs)
    layouts.push_back(encodeRowLayout(context, option.layouts.lookup(output)));
  kernel->setAttr(attrs::kRows, RowsAttr::get(context, option.rows, layouts));
  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  KernelBody body(builder, exact);
  for (auto [input, argument] :
       llvm::zip_equal(cluster.inputs, entry->getArguments()))
    body.addArgument(input, argument);
  for (Operation *op : cluster.live)
    body.add(op);
  if (!body.isExact())
    kernel->setAttr(attrs::kApproximate, builder.getUnitAttr());
  SmallVector<Value> results;
  for (Value output : cluster.outputs)
    results.push_back(body.get(output, wide.contains(output)));
  func::ReturnOp::create(builder, kernel.getLoc(), results);
  eraseUnusedOps(*entry); // narrow floats wanted as f32 only
  return kernel;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A part of a block: a kernel, or an op outside of kernels.
struct Step {
  KernelCluster *cluster = nullptr;
  func::FuncOp kernel; ///< in no module yet
  Operation *other = nullptr;
  llvm::SetVector<Value> reads;
  SmallVector<unsigned> users;
  unsigned numBefore = 0;

  Operation *position() const { return cluster ? cluster->live.back() : other; }
};

class BlockRewriter {
public:
  BlockRewriter(Block &block, KernelTable &table,
                const DenseMap<Value, Value> &replacements,
                const pprt::KernelTuning &tuning, const ExactOps &exact)
      : block(block), table(table), replacements(replacements), tuning(tuning),
        exact(exact), clusters(block, tuning) {}

  void run();

private:
  void chooseWide();
  void buildSteps();
  void addEdge(unsigned from, unsigned to) {
    steps[from].users.push_back(to);
    ++steps[to].numBefore;
  }
  bool reaches(unsigned from, unsigned to);
  bool mayOverwrite(Step &step, unsigned output, Value argument);
  void chooseInplace();
  SmallVector<unsigned> order();
  void launch(Step &step);

  Block &block;
  KernelTable &table;
  /// Block argument a value of the block takes the place of, for good.
  const DenseMap<Value, Value> &replacements;
  const pprt::KernelTuning &tuning;
  const ExactOps &exact;
  KernelClusters clusters;
  /// Values of narrow floats that memory holds as f32.
  DenseSet<Value> wide;
  std::vector<Step> steps;
  IRMapping rewritten;
};

/// Keeps small results of sums over many elements (averages, deviations,
/// maxima) in f32, because many elements are computed with each of them, and
/// that costs little memory. Values whose type is fixed elsewhere get it.
void BlockRewriter::chooseWide() {
  constexpr int64_t kFew = 16;
  DenseSet<Value> outside;
  for (Operation &op : block)
    if (!isKernelOp(&op))
      op.walk([&](Operation *nested) {
        outside.insert_range(nested->getOperands());
      });
  const DenseSet<Value> computed = exact.findWide(block);
  for (auto &cluster : clusters.getClusters()) {
    int64_t most = 0;
    for (Value input : cluster->inputs)
      most = std::max(most, ranked(input).getNumElements());
    for (Value output : cluster->outputs)
      if (computed.contains(output) && !outside.contains(output) &&
          ranked(output).getNumElements() * kFew <= most)
        wide.insert(output);
  }
}

void BlockRewriter::buildSteps() {
  DenseMap<KernelCluster *, unsigned> stepOf;
  DenseMap<Operation *, unsigned> stepOfOther;
  for (auto &cluster : clusters.getClusters()) {
    if (cluster->live.empty())
      continue;
    stepOf[cluster.get()] = steps.size();
    steps.emplace_back();
    steps.back().cluster = cluster.get();
    steps.back().kernel = outline(*cluster, exact, wide);
    steps.back().reads = cluster->inputs;
  }
  std::optional<unsigned> previous;
  for (Operation &op : block.without_terminator()) {
    if (isKernelOp(&op))
      continue;
    unsigned index = steps.size();
    stepOfOther[&op] = index;
    steps.emplace_back();
    steps.back().other = &op;
    op.walk([&](Operation *nested) {
      steps.back().reads.insert(nested->operand_begin(), nested->operand_end());
    });
    if (!isOrderedOp(&op))
      continue;
    if (previous)
      addEdge(*previous, index);
    previous = index;
  }
  for (unsigned index = 0; index < steps.size(); ++index)
    for (Value value : steps[index].reads) {
      Operation *producer = value.getDefiningOp();
      if (!producer || producer->getBlock() != &block)
        continue;
      KernelCluster *cluster = clusters.clusterOf(producer);
      addEdge(cluster ? stepOf.lookup(cluster) : stepOfOther.lookup(producer),
              index);
    }
}

bool BlockRewriter::reaches(unsigned from, unsigned to) {
  SmallVector<unsigned> work{from};
  DenseSet<unsigned> visited;
  while (!work.empty()) {
    unsigned next = work.pop_back_val();
    if (next == to)
      return true;
    if (visited.insert(next).second)
      llvm::append_range(work, steps[next].users);
  }
  return false;
}

/// True if every op of the cluster that reads `argument` sees it elementwise
/// under `layout`.
static bool isReadAlike(const KernelCluster &cluster, Value argument,
                        const RowLayout &layout, const FreeOps &free) {
  const RowOption &option = cluster.options.front();
  for (Operation *user : argument.getUsers()) {
    if (free.contains(user))
      return false;
    if (cluster.live.contains(user) &&
        (!user->hasTrait<OpTrait::Elementwise>() ||
         !(option.layouts.lookup(user->getResult(0)) == layout)))
      return false;
  }
  return true;
}

/// Whether the code of the step's kernel may store `output` where `argument`
/// is.
bool BlockRewriter::mayOverwrite(Step &step, unsigned output, Value argument) {
  const KernelCluster &cluster = *step.cluster;
  const RowOption &option = cluster.options.front();
  if (tuning.keepsRows)
    return isReadAlike(cluster, argument,
                       option.layouts.lookup(cluster.outputs[output]),
                       clusters.getFreeOps());
  KernelRows rows{option.rows, {}};
  for (Value value : cluster.outputs)
    rows.results.push_back(option.layouts.lookup(value));
  const int64_t position = std::distance(cluster.inputs.begin(),
                                         llvm::find(cluster.inputs, argument));
  return !findLateReader(step.kernel, rows, output, position);
}

/// An update overwrites the argument it replaces, once all others have read it.
/// This only spares copies: whether it may is decided by pp-share-slots.
void BlockRewriter::chooseInplace() {
  DenseMap<Value, SmallVector<unsigned>> readers;
  for (unsigned index = 0; index < steps.size(); ++index)
    for (Value value : steps[index].reads)
      readers[value].push_back(index);
  llvm::DenseSet<Value> returned;
  returned.insert_range(block.getTerminator()->getOperands());
  for (unsigned index = 0; index < steps.size(); ++index) {
    KernelCluster *cluster = steps[index].cluster;
    if (!cluster)
      continue;
    SmallVector<int64_t> pairs;
    for (auto [number, output] : llvm::enumerate(cluster->outputs)) {
      Value argument = replacements.lookup(output);
      if (!argument || !cluster->inputs.contains(argument) ||
          argument.getType() != output.getType() ||
          !mayOverwrite(steps[index], number, argument))
        continue;
      SmallVector<unsigned> others(readers.lookup(argument));
      llvm::erase(others, index);
      if (llvm::any_of(
              others,
              [&](unsigned reader) { return reaches(index, reader); }) ||
          returned.contains(argument))
        continue;
      for (unsigned reader : others)
        addEdge(reader, index);
      int64_t position = std::distance(cluster->inputs.begin(),
                                       llvm::find(cluster->inputs, argument));
      pairs.append({static_cast<int64_t>(number), position});
    }
    if (!pairs.empty())
      steps[index].kernel->setAttr(
          attrs::kInplace,
          DenseI64ArrayAttr::get(cluster->live.front()->getContext(), pairs));
  }
}

/// As near to the order of the block as dependences allow.
SmallVector<unsigned> BlockRewriter::order() {
  auto before = [&](unsigned a, unsigned b) {
    if (steps[a].position() == steps[b].position())
      return a < b;
    return steps[a].position()->isBeforeInBlock(steps[b].position());
  };
  std::set<unsigned, decltype(before)> ready(before);
  for (unsigned index = 0; index < steps.size(); ++index)
    if (steps[index].numBefore == 0)
      ready.insert(index);
  SmallVector<unsigned> result;
  while (!ready.empty()) {
    unsigned next = *ready.begin();
    ready.erase(ready.begin());
    result.push_back(next);
    for (unsigned user : steps[next].users)
      if (--steps[user].numBefore == 0)
        ready.insert(user);
  }
  return result;
}

void BlockRewriter::launch(Step &step) {
  KernelCluster &cluster = *step.cluster;
  OpBuilder builder(block.getTerminator());
  Location loc = cluster.live.back()->getLoc();
  func::FuncOp kernel = table.insert(step.kernel);
  SmallVector<Value> operands;
  for (Value input : cluster.inputs)
    operands.push_back(rewritten.lookupOrDefault(input));
  auto launch = LaunchOp::create(
      builder, loc, kernel.getResultTypes(),
      FlatSymbolRefAttr::get(kernel.getSymNameAttr()), operands);
  setKind(launch, getKind(cluster.live.back()));
  rewritten.map(cluster.outputs.getArrayRef(), launch.getResults());
}

void BlockRewriter::run() {
  clusters.clusterOps();
  clusters.joinBeside();
  clusters.recomputeCheapOps();
  clusters.finish();
  chooseWide();
  buildSteps();
  chooseInplace();
  SmallVector<Operation *> old;
  for (Operation &op : block)
    if (isKernelOp(&op))
      old.push_back(&op);
  Operation *end = block.getTerminator();
  auto rewire = [&](Operation *op) {
    op->walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        operand.set(rewritten.lookupOrDefault(operand.get()));
    });
  };
  for (unsigned index : order()) {
    Step &step = steps[index];
    if (step.cluster) {
      launch(step);
      continue;
    }
    step.other->moveBefore(end);
    rewire(step.other);
  }
  rewire(end);
  for (Operation *op : llvm::reverse(old))
    op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// True if anything reads `argument` of @main once `fragment` has run: another
/// fragment at its position, or the step's end.
bool isReadAfter(FragmentOp fragment, BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto other = dyn_cast<FragmentOp>(user);
    return !other ||
           (other != fragment && other.getHolder() == fragment.getHolder() &&
            other.getPhase() >= fragment.getPhase());
  });
}

/// Results of @main that are new values of its parameters and states, if the
/// old value is not needed any more.
DenseMap<Value, Value> findReplacements(func::FuncOp function) {
  DenseMap<Value, Value> replacements;
  Operation *end = function.getBody().front().getTerminator();
  for (auto [value, updated] :
       llvm::zip_equal(end->getOperands(), getUpdatedArguments(function))) {
    if (!updated)
      continue;
    BlockArgument argument = updated;
    auto fragment = value.getDefiningOp<FragmentOp>();
    if (!fragment) {
      replacements[value] = argument;
      continue;
    }
    if (isReadAfter(fragment, argument))
      continue;
    // The same inside the fragment that computes the new value.
    Block &body = fragment.getBody().front();
    Value inner = body.getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    for (auto [operand, entry] :
         llvm::zip_equal(fragment.getOperands(), body.getArguments()))
      if (operand == argument)
        replacements[inner] = entry;
  }
  return replacements;
}

/// The part of `slice`'s operand that this device keeps, by its coordinates.
void expandAllSlice(AllSliceOp slice) {
  OpBuilder builder(slice);
  Location loc = slice.getLoc();
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  auto literal = [&](int64_t value) -> Value {
    return ConstantOp::create(
        builder, loc, scalar,
        DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(value)));
  };
  auto type = cast<RankedTensorType>(slice.getType());
  Value part = AxisIndexOp::create(builder, loc, scalar, slice.getMesh(),
                                   slice.getAxes());
  SmallVector<Value> starts(type.getRank(), literal(0));
  starts[slice.getDimension()] = MulOp::create(
      builder, loc, part, literal(type.getDimSize(slice.getDimension())));
  auto box =
      DynamicSliceOp::create(builder, loc, type, slice.getOperand(), starts);
  setKind(box, getKind(slice));
  slice.replaceAllUsesWith(box.getResult());
  slice.erase();
}

/// Divides the long sums of a block, and returns the tuning for its kernels:
/// blocks of rows if there are sums over such blocks.
pprt::KernelTuning divideSums(Block &block, pprt::KernelTuning tuning) {
  bool hasBlocks = false;
  for (auto reduce : llvm::make_early_inc_range(block.getOps<ReduceOp>()))
    if (tuning.sumBlockRows > 0 && divideColumnSum(reduce, tuning))
      hasBlocks = true;
    else if (!divideFewSums(reduce, tuning) && tuning.dividesSums)
      divideSum(reduce, tuning);
  if (!hasBlocks)
    tuning.sumBlockRows = 0;
  return tuning;
}

struct FormKernelsPass : pp::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  /// Sharding rules tell rows apart.
  void getDependentDialects(DialectRegistry &registry) const override {
    FormKernelsBase::getDependentDialects(registry);
    registerShardingModels(registry);
  }

  /// Existing kernels stay as they are.
  void rewriteProducts(const pprt::KernelTuning &tuning) {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(attrs::kKernel))
        continue;
      function.walk([&](ConvolutionOp op) { unfoldWindows(op, tuning); });
      function.walk([&](DotGeneralOp dot) { divideFewProducts(dot, tuning); });
    }
  }

  void runOnModule() override {
    if (!target.empty())
      getOperation()->setAttr(attrs::kTarget,
                              StringAttr::get(&getContext(), target));
    const pprt::Target *asked = getTarget(getOperation());
    if (!asked)
      return signalPassFailure();
    const pprt::KernelTuning tuning = asked->kernelTuning();
    KernelTable table(getOperation());
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    unsigned threads = plan ? plan.getThreads() : 1;
    bool epilogues = !plan || plan.getWord(PlanKey::Epilogues) != "kernels";
    rewriteProducts(tuning);
    padRows(getOperation(), *asked);
    const bool isStrict = plan && plan.getWord(PlanKey::Numerics) == "strict";
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal() || function->hasAttr(attrs::kKernel))
        continue;
      DenseMap<Value, Value> replacements = findReplacements(function);
      SmallVector<Block *> blocks;
      SmallVector<pprt::KernelTuning> tunings;
      function.walk([&](FragmentOp fragment) {
        blocks.push_back(&fragment.getBody().front());
      });
      blocks.push_back(&function.getBody().front());
      for (Block *block : blocks) {
        for (auto slice :
             llvm::make_early_inc_range(block->getOps<AllSliceOp>()))
          expandAllSlice(slice);
        tunings.push_back(divideSums(*block, tuning));
        formContractions(*block, table, *asked, threads, epilogues);
        eraseUnusedOps(*block);
      }
      const ExactOps exact(function, isStrict);
      for (auto [block, ofBlock] : llvm::zip_equal(blocks, tunings))
        BlockRewriter(*block, table, replacements, ofBlock, exact).run();
    }
  }
};

} // namespace

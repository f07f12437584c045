//===- Factors.cpp - layouts of tensors and of factors --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Factors.h"
#include "pp/IR/Model.h"
#include <numeric>

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// MeshView
//===----------------------------------------------------------------------===//

MeshView::MeshView(MeshAttr mesh, FlatSymbolRefAttr symbol, PlanAttr plan)
    : mesh(mesh), meshSymbol(symbol) {
  llvm::SmallDenseMap<StringAttr, int64_t> bySeed;
  for (SeedAttr seed : plan ? plan.getSeeds() : ArrayRef<SeedAttr>()) {
    if (seed.getIsBarrier()) // competes with nothing
      continue;
    for (DimShardingAttr dim : seed.getDims())
      for (StringAttr axis : dim.getAxes()) {
        auto [it, isNew] = bySeed.try_emplace(axis, seed.getPriority());
        it->second = std::min(it->second, seed.getPriority());
      }
  }
  for (auto [index, axis] : llvm::enumerate(mesh.getAxes())) {
    axisSizes.push_back(axis.getSize());
    axisPriorities.push_back(bySeed.lookup(axis.getName()));
    if (axis.getKind() == AxisKind::Time)
      time = static_cast<int>(index);
  }
  distinctPriorities = axisPriorities;
  if (distinctPriorities.empty())
    distinctPriorities.push_back(0);
  llvm::sort(distinctPriorities);
  distinctPriorities.erase(llvm::unique(distinctPriorities),
                           distinctPriorities.end());
}

FailureOr<MeshView> MeshView::of(ModuleOp module) {
  FailureOr<MeshOp> mesh = requireMesh(module);
  if (failed(mesh))
    return failure();
  return MeshView(mesh->getMesh(),
                  FlatSymbolRefAttr::get(mesh->getSymNameAttr()),
                  module->getAttrOfType<PlanAttr>(attrs::kPlan));
}

int64_t MeshView::size(const AxisList &axes) const {
  int64_t product = 1;
  for (int axis : axes)
    product *= axisSizes[axis];
  return product;
}

SmallVector<int64_t> MeshView::shardsOf(const Layout &layout) const {
  return llvm::map_to_vector(layout,
                             [&](const AxisList &axes) { return size(axes); });
}

StringAttr MeshView::name(int axis) const {
  return mesh.getAxes()[axis].getName();
}

Layout MeshView::toLayout(ShardingAttr sharding) const {
  Layout layout;
  for (DimShardingAttr dim : sharding.getDims()) {
    AxisList &axes = layout.emplace_back();
    for (StringAttr axis : dim.getAxes())
      axes.push_back(mesh.indexOf(axis));
  }
  return layout;
}

SmallVector<StringAttr> MeshView::names(ArrayRef<int> axes) const {
  SmallVector<StringAttr> result;
  for (int axis : axes)
    result.push_back(name(axis));
  return result;
}

std::string MeshView::spell(const Layout &layout) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(layout, os, [&](const AxisList &axes) {
    os << "{";
    llvm::interleaveComma(names(axes), os);
    os << "}";
  });
  os << "]";
  return text;
}

ShardingAttr MeshView::toSharding(const Layout &layout) const {
  SmallVector<SmallVector<StringAttr>> dims;
  for (const AxisList &axes : layout)
    dims.push_back(names(axes));
  return ShardingAttr::fromAxes(meshSymbol, dims);
}

RankedTensorType MeshView::localType(RankedTensorType global,
                                     const Layout &layout) const {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, axes] : llvm::zip_equal(shape, layout))
    size /= this->size(axes);
  return RankedTensorType::get(shape, global.getElementType());
}

//===----------------------------------------------------------------------===//
// Layouts from propagation
//===----------------------------------------------------------------------===//

Layout pp::getLayout(Value value, const MeshView &mesh) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto shardings =
        result.getOwner()->getAttrOfType<ArrayAttr>(attrs::kShardings);
    return mesh.toLayout(
        cast<ShardingAttr>(shardings[result.getResultNumber()]));
  }
  auto argument = cast<BlockArgument>(value);
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return mesh.toLayout(main.getArgAttrOfType<ShardingAttr>(
      argument.getArgNumber(), attrs::kSharding));
}

bool pp::isLayoutChange(Operation *op) {
  auto constraint = dyn_cast<ShardingConstraintOp>(op);
  return constraint ? constraint.getBarrier() : isa<ReshardOp>(op);
}

bool pp::fits(ShardingAttr sharding, Type type, const MeshView &mesh) {
  return sharding.getRank() == cast<RankedTensorType>(type).getRank() &&
         llvm::all_of(sharding.getDims(), [&](DimShardingAttr dim) {
           return llvm::all_of(dim.getAxes(), [&](StringAttr axis) {
             return mesh.attr().indexOf(axis) >= 0;
           });
         });
}

static LogicalResult verifyShardings(func::FuncOp main, const MeshView &mesh) {
  auto isSharding = [&](Attribute attr, Type type) {
    auto sharding = dyn_cast_or_null<ShardingAttr>(attr);
    return sharding && fits(sharding, type, mesh);
  };
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    Type type = main.getArgumentTypes()[index];
    if (!isSharding(main.getArgAttr(index, attrs::kSharding), type))
      return main.emitError("argument \"")
             << getArgName(main, index)
             << "\" expects pp.sharding; pp-propagate-shardings writes it";
  }
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (!isSharding(main.getResultAttr(index, attrs::kSharding),
                    main.getResultTypes()[index]))
      return main.emitError("result ")
             << index
             << " expects pp.sharding; pp-propagate-shardings writes it";
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto shardings = op.getAttrOfType<ArrayAttr>(attrs::kShardings);
    if (!shardings || shardings.size() != op.getNumResults() ||
        !llvm::all_of_zip(shardings, op.getResultTypes(), isSharding))
      return op.emitError("expects a sharding per result (pp.shardings); "
                          "pp-propagate-shardings writes them");
  }
  return success();
}

FailureOr<ShardedMain> ShardedMain::of(ModuleOp module) {
  FailureOr<func::FuncOp> main = lookupMain(module);
  FailureOr<MeshView> mesh = MeshView::of(module);
  if (failed(main) || failed(mesh) || failed(verifyShardings(*main, *mesh)))
    return failure();
  return ShardedMain{*main, *mesh};
}

//===----------------------------------------------------------------------===//
// Dimensions and factors
//===----------------------------------------------------------------------===//

bool pp::splits(ArrayRef<AxisList> layout, int axis) {
  return llvm::any_of(layout, [&](const AxisList &ofDim) {
    return llvm::is_contained(ofDim, axis);
  });
}

bool pp::isPrefix(const AxisList &a, const AxisList &b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

SmallVector<int64_t> pp::mapDims(const TensorFactors &from,
                                 const TensorFactors &to,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> mapped;
  for (auto [dim, factors] : llvm::enumerate(to))
    if (llvm::is_contained(dims, llvm::find(from, factors) - from.begin()))
      mapped.push_back(dim);
  return mapped;
}

Layout pp::splitAxes(const AxisList &axes, ArrayRef<int64_t> sizes,
                     const MeshView &mesh) {
  Layout parts(sizes.size());
  const bool divides = llvm::product_of(sizes) % mesh.size(axes) == 0;
  const int *next = axes.begin(), *end = axes.end();
  for (size_t factor = 0; factor < sizes.size(); ++factor) {
    const int64_t size = sizes[factor];
    const bool isLast = factor + 1 == sizes.size();
    int64_t shards = 1;
    auto takesNext = [&] {
      const int64_t more = shards * mesh.size(*next);
      // Splits by micro-batches stay: nothing gathers over these.
      const bool isCut =
          std::find(next, end, mesh.timeAxis()) != end && more <= size;
      return divides ? isCut || size % more == 0 : isLast || more <= size;
    };
    while (next != end && takesNext()) {
      shards *= mesh.size(*next);
      parts[factor].push_back(*next++);
    }
    if (shards != size)
      break;
  }
  return parts;
}

Layout pp::layoutOf(const ShardingRule &rule, const TensorFactors &tensor,
                    const Layout &factorAxes, const MeshView &mesh) {
  Layout layout;
  for (const DimFactors &factors : tensor) {
    AxisList &axes = layout.emplace_back();
    for (int64_t factor : factors) {
      llvm::append_range(axes, factorAxes[factor]);
      if (mesh.size(factorAxes[factor]) != rule.factors[factor].size)
        break;
    }
  }
  return layout;
}

namespace {

/// One choice of factor axes in the making.
class FactorChoice {
public:
  FactorChoice(const ShardingRule &rule, const MeshView &mesh)
      : rule(rule), mesh(mesh), chosen(rule.factors.size()) {
    account.givers.assign(mesh.numAxes(), -1);
  }

  /// Axes of a later priority do not count yet.
  void admit(int64_t priority) { admitted = priority; }

  /// Takes the axes of every reduction over which all operands are split alike:
  /// their addends need no resharding, and partial results are cheap to
  /// scatter.
  void addReductions(ArrayRef<const Layout *> layouts) {
    for (auto [number, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != FactorKind::Reduction)
        continue;
      std::optional<AxisList> common;
      bool agrees = true;
      int first = -1;
      for (auto [index, layout] : llvm::enumerate(layouts))
        for (auto [factors, all] :
             llvm::zip_equal(rule.operands[index], *layout)) {
          if (!llvm::is_contained(factors, static_cast<int64_t>(number)))
            continue;
          AxisList axes = takeAdmitted(all);
          agrees &= factors.size() == 1 && (!common || *common == axes);
          common = axes;
          if (first < 0)
            first = index;
        }
      if (agrees && common)
        extend(number, *common, rule.results.size() + first);
    }
    // Losses count when tensors are added, of the last time: of all axes.
    account.loser = account.lost = account.kept = -1;
  }

  /// Adds the axes of a tensor's layout.
  void add(int number, const TensorFactors &tensor, const Layout &layout) {
    for (auto [factors, all] : llvm::zip_equal(tensor, layout)) {
      AxisList axes = takeAdmitted(all);
      if (axes.empty())
        continue;
      SmallVector<int64_t, 2> sizes;
      for (int64_t factor : factors)
        sizes.push_back(rule.factors[factor].size);
      Layout parts = splitAxes(axes, sizes, mesh);
      size_t dealt = 0;
      for (auto [factor, part] : llvm::zip_equal(factors, parts)) {
        extend(factor, part, number);
        dealt += part.size();
      }
      if (dealt == axes.size())
        continue;
      lose(number, axes[dealt], -1);
      if (llvm::product_of(sizes) % mesh.size(axes) == 0)
        noteDivisible(factors, parts, axes[dealt]);
    }
  }

  Layout take() { return std::move(chosen); }
  const AxisChoice &getAccount() const { return account; }

private:
  AxisList takeAdmitted(const AxisList &axes) const {
    const int *end = llvm::find_if(
        axes, [&](int axis) { return mesh.priority(axis) > admitted; });
    return AxisList(axes.begin(), end);
  }

  void extend(int64_t factor, const AxisList &axes, int tensor) {
    AxisList &mine = chosen[factor];
    if (isPrefix(axes, mine))
      return;
    if (!isPrefix(mine, axes)) {
      auto [kept, lost] =
          std::mismatch(mine.begin(), mine.end(), axes.begin(), axes.end());
      return lose(tensor, *lost, *kept);
    }
    for (int axis : llvm::drop_begin(axes, mine.size())) {
      if (!rule.factors[factor].mayBeSplit())
        return lose(tensor, axis, -1);
      const int64_t size = rule.factors[factor].size;
      if (mesh.size(mine) * mesh.size(axis) > size) {
        if (size > 0 && mesh.size(mine) * mesh.size(axis) % size == 0)
          noteDivisible(factor, mine, axis);
        return lose(tensor, axis, -1);
      }
      if (account.givers[axis] >= 0)
        return lose(tensor, axis, axis);
      account.givers[axis] = tensor;
      mine.push_back(axis);
    }
  }

  /// Notes the part of `axis` that a factor split by `present` could take.
  void noteDivisible(int64_t factor, const AxisList &present, int axis) {
    const int64_t size = rule.factors[factor].size, shards = mesh.size(present);
    if (size == 0 || size % shards || !rule.factors[factor].mayBeSplit())
      return;
    const int64_t part = std::gcd(size / shards, mesh.size(axis));
    if (part > 1 && part < mesh.size(axis))
      account.divisible.push_back({axis, part});
  }

  /// The same of the first factor that its part leaves something of.
  void noteDivisible(const DimFactors &factors, const Layout &parts, int axis) {
    for (auto [factor, part] : llvm::zip_equal(factors, parts))
      if (mesh.size(part) != rule.factors[factor].size)
        return noteDivisible(factor, part, axis);
  }

  void lose(int tensor, int axis, int kept) {
    if (account.loser >= 0)
      return;
    account.loser = tensor;
    account.lost = axis;
    account.kept = kept;
  }

  const ShardingRule &rule;
  const MeshView &mesh;
  Layout chosen;
  AxisChoice account;
  int64_t admitted = 0;
};

} // namespace

Layout pp::chooseFactorAxes(const ShardingRule &rule,
                            ArrayRef<const Layout *> results,
                            ArrayRef<const Layout *> operands,
                            const MeshView &mesh, AxisChoice *choice) {
  FactorChoice making(rule, mesh);
  for (int64_t priority : mesh.priorities()) {
    making.admit(priority);
    making.addReductions(operands);
    int tensor = 0;
    for (auto [factors, layout] : llvm::zip_equal(rule.results, results))
      making.add(tensor++, factors, *layout);
    for (auto [factors, layout] : llvm::zip_equal(rule.operands, operands))
      making.add(tensor++, factors, *layout);
  }
  if (choice)
    *choice = making.getAccount();
  Layout chosen = making.take();
  dropUnspeakable(rule, chosen, mesh);
  return chosen;
}

/// True if a dimension that walks `factor` does not divide, so that it will be
/// padded.
static bool willBePadded(int64_t factor, const ShardingRule &rule,
                         ArrayRef<TensorFactors> tensors,
                         ArrayRef<const Layout *> layouts,
                         const MeshView &mesh) {
  for (auto [tensor, layout] : llvm::zip_equal(tensors, layouts))
    for (auto [factors, axes] : llvm::zip_equal(tensor, *layout)) {
      int64_t size = 1;
      for (int64_t one : factors)
        size *= rule.factors[one].size;
      if (llvm::is_contained(factors, factor) && size % mesh.size(axes))
        return true;
    }
  return false;
}

Layout pp::chooseLocalAxes(Operation *op, const ShardingRule &rule,
                           ArrayRef<const Layout *> results,
                           ArrayRef<const Layout *> operands,
                           const MeshView &mesh) {
  if (isLayoutChange(op))
    operands = results;
  Layout chosen = chooseFactorAxes(rule, results, operands, mesh);
  for (auto [number, axes] : llvm::enumerate(chosen))
    while (rule.factors[number].size % mesh.size(axes) &&
           !willBePadded(number, rule, rule.results, results, mesh) &&
           !willBePadded(number, rule, rule.operands, operands, mesh))
      axes.pop_back();
  dropUnspeakable(rule, chosen, mesh);
  return chosen;
}

Layout pp::chooseLocalAxes(Operation *op, const ShardingRule &rule,
                           const MeshView &mesh) {
  SmallVector<Layout> layouts;
  for (ValueRange values :
       {ValueRange(op->getResults()), ValueRange(op->getOperands())})
    for (Value value : values)
      layouts.push_back(getLayout(value, mesh));
  SmallVector<const Layout *> pointers;
  for (const Layout &layout : layouts)
    pointers.push_back(&layout);
  ArrayRef<const Layout *> all = pointers;
  return chooseLocalAxes(op, rule, all.take_front(op->getNumResults()),
                         all.drop_front(op->getNumResults()), mesh);
}

void pp::dropUnspeakable(const ShardingRule &rule, Layout &factorAxes,
                         const MeshView &mesh) {
  // An axis dropped for one tensor may require more drops in another: [2, 2]
  // merged and split again takes a factor from both dimensions. Axes are only
  // removed, so it ends.
  auto dropOnce = [&](const DimFactors &factors) {
    bool isSplit = true, dropped = false;
    for (int64_t factor : factors) {
      AxisList &axes = factorAxes[factor];
      if (!isSplit && !axes.empty()) {
        axes.clear();
        dropped = true;
      }
      isSplit &= mesh.size(axes) == rule.factors[factor].size;
    }
    return dropped;
  };
  bool dropped = true;
  while (dropped) {
    dropped = false;
    for (const TensorFactors &tensor :
         llvm::concat<const TensorFactors>(rule.results, rule.operands))
      for (const DimFactors &factors : tensor)
        dropped |= dropOnce(factors);
  }
}

//===- SharedPadding.cpp - chooses shared or separate padding -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Dimensions are weighed that would be larger than the next multiple of their
// own axes because an op merges them with padded ones. The work on such a
// dimension is held against gathering it where it is merged.
//
//===----------------------------------------------------------------------===//
#include "PaddedSizes.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Planner/PaddingCosts.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace pp;

/// All dimensions that ops tie together if none of them merges any, of one of
/// these.
struct pp::PlainDim {
  Value value;
  int64_t dim = 0;
  int64_t size = 1, multiple = 1, padded = 1;
  double work = 0, gathers = 0;
  SmallVector<Merge *> merges;

  int64_t alone() const { return llvm::alignTo(size, multiple); }
  bool isTooLarge() const { return padded > alone(); }
};

/// Calls `visit` with the tensors of an op.
static void
forEachTensor(const PaddedOp &entry,
              function_ref<void(Value, const TensorFactors &)> visit) {
  for (auto [value, tensor] :
       llvm::zip_equal(entry.op->getOperands(), entry.rule.operands))
    visit(value, tensor);
  for (auto [value, tensor] :
       llvm::zip_equal(entry.op->getResults(), entry.rule.results))
    visit(value, tensor);
}

/// Adds the extra time of ops for the padding that dimensions would not have
/// alone.
void PaddedSizes::addWork(MutableArrayRef<PlainDim> dims,
                          const FactorClasses &plain, PaddingCosts &costs) {
  const auto growthOf = [](const DimPadding &padding) {
    return padding.size() ? double(padding.paddedSize()) / padding.size() : 1;
  };
  const auto ofValue = [&](Value value) {
    double growth = 1;
    for (const DimPadding &padding : paddingOf(value))
      growth *= growthOf(padding);
    return growth;
  };
  for (const PaddedOp &entry : ops) {
    llvm::SmallSet<int, 4> touched;
    forEachTensor(entry, [&](Value value, const TensorFactors &tensor) {
      for (unsigned dim = 0; dim < tensor.size(); ++dim)
        if (const int set = plain.classesOf(value, dim).front();
            dims[set].isTooLarge())
          touched.insert(set);
    });
    if (touched.empty() || isLayoutChange(entry.op))
      continue;
    double ofOp = 1;
    for (size_t factor = 0; factor < entry.rule.factors.size(); ++factor)
      ofOp *= growthOf(paddingOf(classes.classesOf(entry.op, factor)));
    const double seconds = costs.secondsOf(entry.op, entry.rule, ofOp, ofValue);
    for (int set : touched) {
      const double ratio = double(dims[set].alone()) / dims[set].padded;
      const auto ofValueAlone = [&](Value value) {
        double growth = ofValue(value);
        for (int64_t dim = 0; dim < ranked(value).getRank(); ++dim)
          if (plain.classesOf(value, dim).front() == set)
            growth *= ratio;
        return growth;
      };
      dims[set].work += seconds - costs.secondsOf(entry.op, entry.rule,
                                                  ofOp * ratio, ofValueAlone);
    }
  }
}

/// Adds the time of gathering at the ops that merge such dimensions.
void PaddedSizes::addGathers(MutableArrayRef<PlainDim> dims,
                             const FactorClasses &plain, PaddingCosts &costs) {
  for (PaddedOp &entry : ops)
    for (Merge &merge : entry.merges) {
      llvm::SmallSet<int, 4> touched;
      forEachTensor(entry, [&](Value value, const TensorFactors &tensor) {
        for (auto [dim, factors] : llvm::enumerate(tensor))
          if (const int set = plain.classesOf(value, dim).front();
              dims[set].isTooLarge() &&
              llvm::any_of(factors, [&](int64_t factor) {
                return merge.factors.test(factor);
              }))
            touched.insert(set);
      });
      if (merge.isParted || touched.empty())
        continue;
      const double seconds =
          costs.secondsToGather(entry.op, entry.rule, merge.factors,
                                [&](Value value) { return paddedType(value); });
      for (int set : touched) {
        dims[set].gathers += seconds;
        dims[set].merges.push_back(&merge);
      }
    }
}

/// Separates merges of a dimension whose padding costs more than gathering it.
/// True if there was one.
bool PaddedSizes::partCostly() {
  llvm::erase_if(shared, [](const SharedPadding &one) {
    return !one.isParted(); // weighed again
  });
  const FactorClasses plain = makeClasses(/*partsAll=*/true);
  std::vector<PlainDim> dims(plain.numClasses());
  SmallVector<int> order;
  forEachLayout([&](Value value, const Layout &layout) {
    for (auto [dim, axes] : llvm::enumerate(layout)) {
      const int set = plain.classesOf(value, dim).front();
      PlainDim &all = dims[set];
      if (!all.value) {
        order.push_back(set);
        all.value = value;
        all.dim = dim;
        all.size = ranked(value).getDimSize(dim);
      }
      all.multiple = std::lcm(all.multiple, mesh.size(axes));
      all.padded = std::max(
          all.padded, paddingOf(classes.classesOf(value, dim)).paddedSize());
    }
  });
  if (llvm::none_of(dims, [](const PlainDim &all) { return all.isTooLarge(); }))
    return false;
  PaddingCosts costs(
      main, mesh,
      main->getParentOfType<ModuleOp>()->getAttrOfType<PlanAttr>(attrs::kPlan));
  addWork(dims, plain, costs);
  addGathers(dims, plain, costs);
  bool parted = false;
  for (int set : order) {
    const PlainDim &all = dims[set];
    if (!all.isTooLarge() || all.merges.empty())
      continue;
    shared.push_back({all.value, all.dim, all.size, all.padded, all.alone(),
                      all.work, all.gathers});
    if (!shared.back().isParted())
      continue;
    parted = true;
    for (Merge *merge : all.merges)
      merge->isParted = true;
  }
  return parted;
}

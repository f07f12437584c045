//===- Sorts.cpp - sorted values and what is sorted with them -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A sort by one key is the indices of all largest elements, and what they pick:
// pp.top_k and pp.gather, which has the gradient. Equal keys keep their order,
// also where the smallest come first: then both input and result are reversed.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// The number that a constant is everywhere.
static std::optional<APFloat> getNumber(Value value) {
  Operation *maker = value.getDefiningOp();
  auto literal =
      maker && HloOp(maker).getName() == "constant"
          ? dyn_cast_or_null<DenseFPElementsAttr>(maker->getAttr("value"))
          : DenseFPElementsAttr();
  return literal && literal.isSplat()
             ? std::optional(literal.getSplatValue<APFloat>())
             : std::nullopt;
}

/// Whether `predicate` is x == 0 for `chosen` = 0, or x != x for NaN, where x
/// is one of `values`.
static bool makesAlike(Value predicate, Value chosen, ArrayRef<Value> values) {
  Operation *compare = predicate.getDefiningOp();
  const std::optional<APFloat> number = getNumber(chosen);
  if (!compare || HloOp(compare).getName() != "compare" ||
      compare->getNumOperands() != 2 || !number ||
      !llvm::is_contained(values, compare->getOperand(0)))
    return false;
  const std::string direction = HloOp(compare).getWord("comparison_direction");
  const Value other = compare->getOperand(1);
  if (number->isNaN())
    return direction == "NE" && other == compare->getOperand(0);
  const std::optional<APFloat> zero = getNumber(other);
  return direction == "EQ" && number->isZero() && zero && zero->isZero();
}

/// Whether `value` is `key`, of which JAX makes zeros and NaN alike:
/// select(key == 0, 0, key).
static bool isKey(Value value, Value key) {
  SmallVector<Value> values, predicates, chosen;
  for (;;) {
    values.push_back(value);
    Operation *maker = value.getDefiningOp();
    if (!maker || HloOp(maker).getName() != "select" ||
        maker->getNumOperands() != 3)
      break;
    predicates.push_back(maker->getOperand(0));
    chosen.push_back(maker->getOperand(1));
    value = maker->getOperand(2);
  }
  return value == key &&
         llvm::all_of(llvm::zip(predicates, chosen), [&](auto pair) {
           return makesAlike(std::get<0>(pair), std::get<1>(pair), values);
         });
}

/// Whether the largest come first; reports another order than that of the first
/// operand's elements.
static std::optional<bool> findOrder(HloOp op) {
  Region &region = op->getRegion(0);
  if (region.hasOneBlock() && region.front().getNumArguments() >= 2) {
    Block &block = region.front();
    Operation &last = block.back();
    Operation *compare = last.getNumOperands() == 1
                             ? last.getOperand(0).getDefiningOp()
                             : nullptr;
    if (compare && HloOp(compare).getName() == "compare" &&
        compare->getNumOperands() == 2 &&
        isKey(compare->getOperand(0), block.getArgument(0)) &&
        isKey(compare->getOperand(1), block.getArgument(1))) {
      const std::string word = HloOp(compare).getWord("comparison_direction");
      if (word == "LT" || word == "GT")
        return word == "GT";
    }
  }
  op->emitError("cannot import stablehlo.sort but by the first operand, "
                "smallest or largest first; sort by one key");
  return std::nullopt;
}

namespace {
/// Sorting along the last dimension.
struct Sorting {
  Ints order;   ///< brings the sorted dimension to the end
  Ints inverse; ///< and back
  int64_t last, size;
};
} // namespace

static Value reverseLast(Value value, const Sorting &sorting,
                         Conversion &graph) {
  return value
             ? graph.make<ReverseOp>(value.getType(), value, Ints{sorting.last})
             : Value();
}

/// Places of the elements, in the order of their keys.
static Value findPlaces(Value keys, const Sorting &sorting, bool largestFirst,
                        Conversion &graph) {
  Value sorted = graph.transpose(keys, sorting.order);
  if (!largestFirst)
    sorted = reverseLast(sorted, sorting, graph);
  if (!sorted)
    return {};
  auto type = RankedTensorType::get(graph.shapeOf(sorted),
                                    IntegerType::get(graph.getContext(), 32));
  Value places = graph.make<TopKOp>(type, sorted, sorting.last);
  if (largestFirst)
    return places;
  return graph.binary<SubOp>(graph.splatInt(sorting.size - 1, type),
                             reverseLast(places, sorting, graph));
}

static LogicalResult convertSort(HloOp op, Conversion &graph, Values &results) {
  if (op->getNumRegions() != 1 || op->getNumOperands() == 0)
    return op->emitOpError("expects operands and a region");
  const int64_t rank = op.getOperandType(0).getRank();
  FailureOr<int64_t> dim = op.getInt("dimension", rank - 1);
  std::optional<bool> largestFirst = findOrder(op);
  if (failed(dim) || !largestFirst)
    return failure();
  // Only the keys are compared.
  if (op.getOperandType(0).getElementType().isUnsignedInteger())
    return verifySigned(op);
  if (*dim < 0 || *dim >= rank)
    return op.failAt("dimension", "one of the operands'");
  for (Type type : op->getOperandTypes())
    if (cast<RankedTensorType>(type).getShape() !=
        op.getOperandType(0).getShape())
      return op->emitOpError("expects operands of one shape");
  Sorting sorting{llvm::to_vector<6>(llvm::seq<int64_t>(0, rank)),
                  llvm::to_vector<6>(llvm::seq<int64_t>(0, rank)), rank - 1,
                  op.getOperandType(0).getDimSize(*dim)};
  std::rotate(sorting.order.begin() + *dim, sorting.order.begin() + *dim + 1,
              sorting.order.end());
  std::rotate(sorting.inverse.begin() + *dim, sorting.inverse.end() - 1,
              sorting.inverse.end());
  Value places =
      findPlaces(graph.operand(op, 0), sorting, *largestFirst, graph);
  for (Value operand : graph.operands(op)) {
    Value moved = graph.transpose(operand, sorting.order);
    Value picked = moved ? graph.make<GatherOp>(moved.getType(), moved, places,
                                                sorting.last)
                         : Value();
    results.push_back(graph.transpose(picked, sorting.inverse));
  }
  return success(!llvm::is_contained(results, Value()));
}

void pp::hlo::addSorts(Handlers &handlers) {
  handlers["sort"] = {nullptr, convertSort, -1};
}

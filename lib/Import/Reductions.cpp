//===- Reductions.cpp - sums, maxima and where they are -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The region of a reduction is one op that combines its two arguments. The
// initial value is left out where it is the identity.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// What a region that combines two scalars computes; reports another one.
static FailureOr<Reduction> findReduction(HloOp op) {
  auto refuse = [&] {
    return op->emitError("cannot import ")
           << op->getName()
           << ": expects a region of one add, multiply, maximum, minimum, and "
              "or or; write the reduction with these";
  };
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return refuse();
  Block &block = op->getRegion(0).front();
  if (block.getOperations().size() != 2 || block.getNumArguments() != 2)
    return refuse();
  Operation &combiner = block.front(), &last = block.back();
  if (combiner.getNumOperands() != 2 || combiner.getNumResults() != 1 ||
      last.getNumOperands() != 1 || last.getOperand(0) != combiner.getResult(0))
    return refuse();
  Value a = combiner.getOperand(0), b = combiner.getOperand(1);
  if (a == b || a.getParentBlock() != &block || b.getParentBlock() != &block)
    return refuse();
  auto type = dyn_cast<RankedTensorType>(combiner.getResult(0).getType());
  const bool isBool = type && type.getElementType().isInteger(1);
  auto found =
      llvm::StringSwitch<std::optional<Reduction>>(HloOp(&combiner).getName())
          .Case("add", isBool ? Reduction::Or : Reduction::Sum)
          .Case("multiply", isBool ? Reduction::And : Reduction::Prod)
          .Case("maximum", isBool ? Reduction::Or : Reduction::Max)
          .Case("minimum", isBool ? Reduction::And : Reduction::Min)
          .Case("and", Reduction::And)
          .Case("or", Reduction::Or)
          .Default(std::nullopt);
  if (!found)
    return refuse();
  if ((found == Reduction::Max || found == Reduction::Min) &&
      failed(verifySigned(op)))
    return failure();
  return *found;
}

bool pp::hlo::isIdentity(Value value, Reduction reduction) {
  while (Operation *maker = value.getDefiningOp())
    if (isa<BroadcastOp, ReshapeOp>(maker))
      value = maker->getOperand(0);
    else
      break;
  DenseElementsAttr literal;
  if (!matchPattern(value, m_Constant(&literal)) || !literal.isSplat())
    return false;
  if (isa<FloatType>(literal.getElementType())) {
    const APFloat number = literal.getSplatValue<APFloat>();
    switch (reduction) {
    case Reduction::Sum:
      return number.isZero();
    case Reduction::Prod:
      return number.isExactlyValue(1.0);
    case Reduction::Max:
      return number.isInfinity() && number.isNegative();
    case Reduction::Min:
      return number.isInfinity() && !number.isNegative();
    default:
      return false;
    }
  }
  const APInt number = literal.getSplatValue<APInt>();
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Or:
    return number.isZero();
  case Reduction::Prod:
    return number.isOne();
  case Reduction::And:
    return number.isAllOnes();
  case Reduction::Max:
    return number.isMinSignedValue();
  case Reduction::Min:
    return number.isMaxSignedValue();
  }
  return false;
}

static Value combine(Reduction reduction, Value a, Value b, Conversion &graph) {
  switch (reduction) {
  case Reduction::Sum:
    return graph.binary<AddOp>(a, b);
  case Reduction::Prod:
    return graph.binary<MulOp>(a, b);
  case Reduction::Max:
    return graph.binary<MaxOp>(a, b);
  case Reduction::Min:
    return graph.binary<MinOp>(a, b);
  case Reduction::And:
    return graph.binary<AndOp>(a, b);
  case Reduction::Or:
    return graph.binary<OrOp>(a, b);
  }
  return {};
}

namespace {
/// A value and its index, and what a region makes of two of them.
using Pair = std::array<int64_t, 2>;
} // namespace

static bool isOfNumbers(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isIntOrFloat();
}

/// The results of a region of comparisons, selects and logic on four numbers;
/// nothing if it has other ops.
static std::optional<Pair> evaluate(Block &block, const Pair &a,
                                    const Pair &b) {
  DenseMap<Value, int64_t> numbers;
  const int64_t given[] = {a[0], a[1], b[0], b[1]};
  for (auto [argument, number] : llvm::zip(block.getArguments(), given))
    numbers[argument] = number;
  for (Operation &inner : block) {
    SmallVector<int64_t> operands;
    for (Value operand : inner.getOperands()) {
      auto found = numbers.find(operand);
      if (found == numbers.end())
        return std::nullopt;
      operands.push_back(found->second);
    }
    if (HloOp(&inner).getName() == "return" && operands.size() == 2)
      return Pair{operands[0], operands[1]};
    const bool isKnown = llvm::is_contained(
        {"compare", "select", "and", "or", "not"}, HloOp(&inner).getName());
    if (!isKnown || operands.empty() || inner.getNumResults() != 1 ||
        !llvm::all_of(inner.getOperandTypes(), isOfNumbers) ||
        !isOfNumbers(inner.getResult(0).getType()))
      return std::nullopt;
    std::optional<int64_t> number = computeNumber(&inner, operands);
    if (!number)
      return std::nullopt;
    numbers[inner.getResult(0)] = *number;
  }
  return std::nullopt;
}

/// Whether the region keeps the larger value (`isMax`) or the smaller one, and
/// of equal ones that whose index is less.
static bool keeps(Block &block, bool isMax) {
  for (int64_t value : {-1, 0, 1})
    for (int64_t index : {-1, 1}) {
      const Pair a{value, index}, b{0, 0};
      const bool isFirst = value == 0 ? index < 0 : (value > 0) == isMax;
      if (evaluate(block, a, b) != (isFirst ? a : b))
        return false;
    }
  return true;
}

/// The smallest becomes the largest. The smallest integer has no negative.
static Value reverseOrder(Value value, Conversion &graph) {
  RankedTensorType type = graph.typeOf(value);
  return isa<FloatType>(type.getElementType())
             ? graph.unary<NegOp>(value)
             : graph.binary<SubOp>(graph.splatInt(-1, type), value);
}

/// The largest or smallest element and its index, as jnp.argmax and argmin have
/// them: two results of one reduction over values and an iota.
static LogicalResult convertArgmax(HloOp op, Conversion &graph,
                                   ArrayRef<int64_t> dims, Values &results) {
  if (failed(verifySigned(op)))
    return failure();
  Value values = graph.operand(op, 0);
  auto iota = graph.operand(op, 1).getDefiningOp<IotaOp>();
  Region &region = op->getRegion(0);
  const bool isOfTwo =
      region.hasOneBlock() && region.front().getNumArguments() == 4;
  const bool isMax = isOfTwo && keeps(region.front(), /*isMax=*/true);
  if (!iota || dims.size() != 1 || int64_t(iota.getDimension()) != dims[0] ||
      !isOfTwo || (!isMax && !keeps(region.front(), /*isMax=*/false)) ||
      !isIdentity(graph.operand(op, 2),
                  isMax ? Reduction::Max : Reduction::Min) ||
      graph.known(graph.operand(op, 3)) != 0)
    return op->emitError("cannot import a reduction of two values but those of "
                         "jnp.argmax and jnp.argmin");
  Type i32 = IntegerType::get(graph.getContext(), 32);
  Value index = graph.make<ArgmaxOp>(
      RankedTensorType::get(graph.resultType(op, 1).getShape(), i32),
      isMax ? values : reverseOrder(values, graph), dims[0]);
  results = {graph.make<ReduceOp>(graph.resultType(op, 0),
                                  isMax ? Reduction::Max : Reduction::Min,
                                  values, dims),
             graph.convert(index, graph.resultType(op, 1).getElementType())};
  return success(results[0] && results[1]);
}

static LogicalResult convertReduce(HloOp op, Conversion &graph,
                                   Values &results) {
  FailureOr<Ints> dims = op.getInts("dimensions");
  if (failed(dims))
    return failure();
  llvm::sort(*dims);
  if (op->getNumOperands() == 4 && op->getNumResults() == 2 &&
      op->getNumRegions() == 1)
    return convertArgmax(op, graph, *dims, results);
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return op->emitError("cannot import a reduction of ")
           << op->getNumOperands() / 2 << " values at once; reduce one by one";
  FailureOr<Reduction> reduction = findReduction(op);
  if (failed(reduction))
    return failure();
  Value value = graph.operand(op, 0), init = graph.operand(op, 1);
  RankedTensorType type = graph.resultType(op);
  Value reduced = dims->empty()
                      ? value
                      : graph.make<ReduceOp>(type, *reduction, value, *dims);
  if (!isIdentity(init, *reduction))
    reduced = combine(*reduction, reduced,
                      graph.broadcast(init, {}, type.getShape()), graph);
  results.push_back(reduced);
  return success(bool(reduced));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions along which windows are larger than an element or move.
struct Windows {
  Ints dims, sizes, strides, dilations, low, high;
};
} // namespace

static FailureOr<Windows> findWindows(HloOp op) {
  const size_t rank = op.getOperandType(0).getRank();
  FailureOr<Ints> sizes = op.getIntsPer("window_dimensions", rank, 1);
  FailureOr<Ints> strides = op.getIntsPer("window_strides", rank, 1);
  FailureOr<Ints> base = op.getIntsPer("base_dilations", rank, 1);
  FailureOr<Ints> dilations = op.getIntsPer("window_dilations", rank, 1);
  FailureOr<Ints> padding = op.getIntsPer("padding", 2 * rank, 0);
  if (failed(sizes) || failed(strides) || failed(base) || failed(dilations) ||
      failed(padding))
    return failure();
  Windows windows;
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t low = (*padding)[2 * dim], high = (*padding)[2 * dim + 1];
    if ((*base)[dim] != 1)
      return op.failAt("base_dilations", "1 everywhere");
    if ((*sizes)[dim] == 1 && (*strides)[dim] == 1 && low == 0 && high == 0)
      continue;
    windows.dims.push_back(dim);
    windows.sizes.push_back((*sizes)[dim]);
    windows.strides.push_back((*strides)[dim]);
    windows.dilations.push_back((*dilations)[dim]);
    windows.low.push_back(low);
    windows.high.push_back(high);
  }
  return windows;
}

/// Whether the windows are all elements up to one's place, or from it on.
static bool isRunning(const Windows &windows, int64_t size, bool &reverse) {
  if (windows.dims.size() != 1 || windows.sizes[0] != size ||
      windows.strides[0] != 1 || windows.dilations[0] != 1)
    return false;
  reverse = windows.high[0] == size - 1;
  return (windows.low[0] == size - 1 && windows.high[0] == 0) ||
         (windows.low[0] == 0 && reverse);
}

static Value convertReduceWindow(HloOp op, Conversion &graph) {
  FailureOr<Windows> windows = findWindows(op);
  FailureOr<Reduction> reduction = findReduction(op);
  if (failed(windows) || failed(reduction))
    return {};
  Value x = graph.operand(op, 0);
  if (!isIdentity(graph.operand(op, 1), *reduction))
    return op->emitError("cannot import stablehlo.reduce_window whose initial "
                         "value is not the identity"),
           Value();
  if (windows->dims.empty())
    return x;
  bool reverse = false;
  if (*reduction == Reduction::Sum &&
      isRunning(*windows, graph.shapeOf(x)[windows->dims[0]], reverse))
    return graph.make<CumsumOp>(x.getType(), x, windows->dims[0], reverse);
  return graph.make<ReduceWindowOp>(
      graph.resultType(op), *reduction, x, windows->dims, windows->sizes,
      windows->strides, windows->dilations, windows->low, windows->high);
}

/// Whether a region returns the op `name` on its two arguments, in `direction`
/// if it compares.
static bool computes(Region &region, StringRef name, StringRef direction) {
  if (!region.hasOneBlock() || region.front().getOperations().size() != 2 ||
      region.front().getNumArguments() != 2)
    return false;
  Operation &only = region.front().front(), &last = region.front().back();
  return HloOp(&only).getName() == name && only.getNumResults() == 1 &&
         llvm::equal(only.getOperands(), region.front().getArguments()) &&
         llvm::equal(last.getOperands(), only.getResults()) &&
         (direction.empty() ||
          HloOp(&only).getWord("comparison_direction") == direction);
}

/// The gradient of a maximum over windows.
static Value convertSelectAndScatter(HloOp op, Conversion &graph) {
  FailureOr<Windows> windows = findWindows(op);
  if (failed(windows))
    return {};
  if (op->getNumRegions() != 2 ||
      !computes(op->getRegion(0), "compare", "GE") ||
      !computes(op->getRegion(1), "add", "") ||
      !isIdentity(graph.operand(op, 2), Reduction::Sum))
    return op->emitError("cannot import stablehlo.select_and_scatter but the "
                         "gradient of a maximum"),
           Value();
  return graph.make<SelectAndScatterOp>(
      graph.resultType(op), graph.operand(op, 0), graph.operand(op, 1),
      windows->dims, windows->sizes, windows->strides, windows->dilations,
      windows->low, windows->high);
}

void pp::hlo::addReductions(Handlers &handlers) {
  handlers["reduce"] = {nullptr, convertReduce, -1};
  handlers["reduce_window"] = {convertReduceWindow, nullptr, 2};
  handlers["select_and_scatter"] = {convertSelectAndScatter, nullptr, 3};
}

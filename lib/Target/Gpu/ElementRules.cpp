//===- ElementRules.cpp - elementwise ops, sources, and all rules attached ===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ElementRules.h"
#include "../Scalars.h"
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

namespace {

/// Divides by one number many times: by its reciprocal in two parts, without a
/// special-function instruction per dividend. The first part is the reciprocal
/// less a unit in the last place, so the second has its sign and is never zero:
/// an infinite dividend times each adds up to an infinity. Together they have
/// twice the digits, so a quotient is rounded once, except for one in millions
/// that lies very near the middle of two numbers; an exact quotient stays
/// exact. A divisor so far from 1 that a part would be subnormal is brought
/// nearer by a power of two, with which dividends are multiplied.
class SharedDivisor {
public:
  /// Equal divisors share one object.
  SharedDivisor(Elements &elements, Value divisor)
      : b(elements.b), loc(elements.loc), f32(b.getF32Type()) {
    Scalars parts = elements.once(
        divisor, [&] { return build(emitConvert(b, loc, divisor, f32)); });
    factor = parts[0];
    high = parts[1];
    low = parts[2];
  }

  Value divide(Value dividend) {
    Value near = arith::MulFOp::create(b, loc, dividend, factor);
    return math::FmaOp::create(b, loc, near, high,
                               arith::MulFOp::create(b, loc, near, low));
  }

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(f32, value));
  }

  Scalars build(Value divisor) {
    using P = arith::CmpFPredicate;
    Value size = math::AbsFOp::create(b, loc, divisor);
    Value isSmall =
        arith::CmpFOp::create(b, loc, P::OLT, size, number(0x1p-94));
    Value isLarge = arith::CmpFOp::create(b, loc, P::OGT, size, number(0x1p94));
    Value factor =
        arith::SelectOp::create(b, loc, isLarge, number(0x1p-32), number(1));
    factor = arith::SelectOp::create(b, loc, isSmall, number(0x1p32), factor);
    Value near = arith::MulFOp::create(b, loc, divisor, factor);
    Value whole = arith::DivFOp::create(b, loc, number(1), near);
    // Zeros and infinities have no less.
    Value isNumber = arith::CmpFOp::create(
        b, loc, P::OGT,
        arith::MulFOp::create(b, loc, size,
                              math::AbsFOp::create(b, loc, whole)),
        number(0));
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), whole);
    bits = arith::SubIOp::create(
        b, loc, bits,
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)));
    Value less = arith::BitcastOp::create(b, loc, f32, bits);
    Value rest = math::FmaOp::create(
        b, loc, arith::NegFOp::create(b, loc, near), less, number(1));
    rest = arith::MulFOp::create(b, loc, rest, whole);
    return {factor, arith::SelectOp::create(b, loc, isNumber, less, whole),
            arith::SelectOp::create(b, loc, isNumber, rest, whole)};
  }

  OpBuilder &b;
  Location loc;
  Type f32;
  Value factor, high, low;
};

} // namespace

/// Whether the op divides many elements by one number; every kernel with it
/// does.
static bool hasSharedDivisor(Operation *op) {
  auto division = dyn_cast<DivOp>(op);
  auto divisor =
      division ? division.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  return divisor &&
         getComputeType(divisor.getType().getElementType()).isF32() &&
         ranked(divisor.getOperand()).getNumElements() <
             divisor.getType().getNumElements();
}

static bool isApproximate(Operation *op) {
  return op->getParentOp()->hasAttr(attrs::kApproximate);
}

/// The divisor of `division` if it may be off by units in the last place: the
/// root of the first, and the second, which is so large that roots of subnormal
/// numbers are lost in it, and so small that a normal root gives a sum whose
/// reciprocal is not subnormal.
static std::optional<std::pair<SqrtOp, float>>
findRootDivisor(Operation *division) {
  if (!isa<DivOp>(division) || !isApproximate(division))
    return std::nullopt;
  auto sum = division->getOperand(1).getDefiningOp<AddOp>();
  if (!sum || !ranked(sum).getElementType().isF32())
    return std::nullopt;
  for (auto [root, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                             std::pair(sum.getRhs(), sum.getLhs())}) {
    std::optional<double> number = getSplat(other);
    auto op = root.getDefiningOp<SqrtOp>();
    if (op && number && *number >= 0x1p-38 && *number <= 0x1p64)
      return std::pair(op, float(*number));
  }
  return std::nullopt;
}

/// In two instructions of the unit for special functions and two others. An
/// infinite divisor gives 0, zeros and subnormal numbers give the number added.
static Scalars divideByRoot(const Question &q, SqrtOp root, float number) {
  OpBuilder &b = q.elements.b;
  Location loc = q.elements.loc;
  Type f32 = b.getF32Type();
  Value added = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(number));
  const RowLayout *layout =
      q.operandLayouts.empty() ? nullptr : &q.operandLayouts[1];
  Scalars result;
  for (auto [dividend, radicand] :
       llvm::zip_equal(q.ask(0, q.place),
                       q.elements.get(root.getOperand(), q.place, layout))) {
    Value divisor =
        LLVM::CallIntrinsicOp::create(
            b, loc, f32, b.getStringAttr("llvm.nvvm.sqrt.approx.ftz.f"),
            radicand)
            .getResult(0);
    divisor = arith::AddFOp::create(b, loc, divisor, added);
    result.push_back(arith::MulFOp::create(
        b, loc, dividend,
        NVVM::RcpApproxFtzF32Op::create(b, loc, f32, divisor)));
  }
  return result;
}

/// Whether elements are numbers of places: not negative, so that differences of
/// two do not wrap.
static bool areCounted(Value value) {
  while (auto op = value.getDefiningOp<BroadcastOp>())
    value = op.getOperand();
  return value.getDefiningOp<IotaOp>() &&
         ranked(value).getElementType().isInteger(32);
}

/// A number of places as a value and a literal.
static std::pair<Value, int64_t> splitLiteral(Value number) {
  Value inside = number;
  if (auto narrow = inside.getDefiningOp<arith::TruncIOp>())
    if (auto wide = narrow.getIn().getDefiningOp<arith::ExtUIOp>())
      if (wide.getIn().getType() == number.getType())
        inside = wide.getIn();
  auto sum = inside.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {number, 0};
  for (auto [value, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                              std::pair(sum.getRhs(), sum.getLhs())})
    if (auto literal = other.getDefiningOp<arith::ConstantOp>())
      return {value, cast<IntegerAttr>(literal.getValue()).getInt()};
  return {number, 0};
}

/// A run of counted numbers, compared with a constant one: as the difference
/// from the start of the lane's run, which is computed once, and literals.
/// Nothing for other comparisons.
static Scalars compareCounted(OpBuilder &b, CompareOp op,
                              ArrayRef<Scalars> operands) {
  if (!areCounted(op.getLhs()) || !areCounted(op.getRhs()) ||
      operands[0].size() == 1)
    return {};
  const bool runs[] = {!llvm::all_equal(operands[0]),
                       !llvm::all_equal(operands[1])};
  if (runs[0] == runs[1])
    return {};
  const Scalars &run = operands[runs[1]], &other = operands[runs[0]];
  Location loc = op.getLoc();
  Type type = run.front().getType();
  auto [start, before] = splitLiteral(run.front());
  Value rest = arith::SubIOp::create(b, loc, other.front(), start);
  Scalars result;
  for (size_t lane = 0; lane < run.size(); ++lane) {
    Value number = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type, before + lane));
    SmallVector<Value> sides{number, rest};
    if (runs[1])
      std::swap(sides[0], sides[1]);
    result.push_back(cast<ScalarOpInterface>(*op).emitScalar(b, sides));
  }
  return result;
}

static Scalars elementwise(const Question &q) {
  if (auto divisor = findRootDivisor(q.op))
    return divideByRoot(q, divisor->first, divisor->second);
  SmallVector<Scalars> operands;
  for (unsigned index = 0; index < q.op->getNumOperands(); ++index)
    operands.push_back(q.ask(index, q.place));
  OpBuilder &b = q.elements.b;
  Scalars result;
  if (hasSharedDivisor(q.op) && llvm::all_equal(operands[1])) {
    Type element = operands[0].front().getType(),
         compute = getComputeType(element);
    Location loc = q.elements.loc;
    SharedDivisor divisor(q.elements, operands[1].front());
    for (Value dividend : operands[0])
      result.push_back(emitConvert(
          b, loc, divisor.divide(emitConvert(b, loc, dividend, compute)),
          element));
    return result;
  }
  auto elementOf = [](Value value) { return ranked(value).getElementType(); };
  if (isa<ConvertOp>(q.op) && elementOf(q.op->getOperand(0)).isBF16() &&
      elementOf(q.op->getResult(0)).isF32()) {
    for (Value operand : operands[0])
      result.push_back(q.elements.widen(operand));
    return result;
  }
  if (auto comparison = dyn_cast<CompareOp>(q.op))
    if (Scalars all = compareCounted(b, comparison, operands); !all.empty())
      return all;
  for (int64_t lane = 0; lane < q.elements.count(q.place); ++lane) {
    SmallVector<Value> scalars;
    for (Scalars &operand : operands)
      scalars.push_back(operand[lane]);
    result.push_back(cast<ScalarOpInterface>(q.op).emitScalar(b, scalars));
    // A product and a sum may be one instruction.
    if (isa<AddOp, SubOp, MulOp>(q.op) && isApproximate(q.op))
      if (auto op =
              result.back().getDefiningOp<arith::ArithFastMathInterface>())
        op->setAttr(op.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(
                        b.getContext(), arith::FastMathFlags::contract));
  }
  return result;
}

static Scalars getElements(const Question &q, ConstantOp op) {
  auto value = cast<DenseElementsAttr>(op.getValue());
  if (value.isSplat())
    return q.spread({arith::ConstantOp::create(
        q.elements.b, q.elements.loc,
        cast<TypedAttr>(value.getSplatValue<Attribute>()))});
  return q.elements.load(q.elements.getTable(value),
                         op.getType().getElementType(), q.place);
}

/// Counted in integers, so that every type rounds each number once.
static Scalars getElements(const Question &q, IotaOp op) {
  if (q.place.crosses)
    return {};
  const int64_t dim = op.getDimension();
  Elements &e = q.elements;
  auto number = [&](const Index &index) {
    Type i64 = e.b.getI64Type();
    Value wide = e.indices.get(index);
    if (wide.getType() != i64)
      wide = arith::ExtUIOp::create(e.b, e.loc, i64, wide);
    return emitConvert(e.b, e.loc, wide, op.getType().getElementType());
  };
  Scalars result;
  const int64_t count = q.place.run == dim ? e.count(q.place) : 1;
  Type element = op.getType().getElementType();
  if (element.isInteger(32) && e.indices.getType().isInteger(32) && count > 1) {
    result.push_back(number(q.place.indices[dim]));
    for (int64_t lane = 1; lane < count; ++lane)
      result.push_back(arith::AddIOp::create(
          e.b, e.loc, result.front(),
          arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(lane))));
    return result;
  }
  for (int64_t lane = 0; lane < count; ++lane)
    result.push_back(
        number(e.indices.add(q.place.indices[dim], e.indices.literal(lane))));
  return q.spread(result);
}

static Scalars getElements(const Question &q, AxisIndexOp op) {
  return q.spread({emitAxisIndex(q.elements.b, op, [&](int64_t position) {
    return q.elements.getLaunchScalar(position);
  })});
}

static Scalars getElements(const Question &q, RandomBitsOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  auto placeAlong = [&](int64_t dim) {
    return emitConvert(e.b, e.loc, e.indices.get(q.place.indices[dim]),
                       e.b.getI64Type());
  };
  auto operand = [&](unsigned index) { return q.askScalar(index); };
  return {emitRandomBits(e.b, op, placeAlong, operand)};
}

void pp::registerGpuModels(DialectRegistry &registry) {
  registerScalarModels(registry);
  registerShardingModels(registry);
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    attachRule<ConstantOp, getElements>(context);
    attachRule<IotaOp, getElements>(context);
    attachRule<AxisIndexOp, getElements>(context);
    attachRule<RandomBitsOp, getElements>(context);
    attachShapeRules(context);
    attachIndexingRules(context);
    attachReduceRules(context);
    attachWindowRules(context);
  });
}

std::optional<Scalars> pp::gpu::applyRule(const Question &question) {
  if (isa<ScalarOpInterface>(question.op))
    return elementwise(question);
  if (auto op = dyn_cast<GpuOpInterface>(question.op))
    return op.getElements(question);
  return std::nullopt;
}

/// The arguments that results overwrite, and everything computed from them.
static DenseSet<Value> findOverwritten(func::FuncOp kernel) {
  DenseSet<Value> found;
  for (unsigned index = 0; index < kernel.getNumResults(); ++index)
    if (int64_t argument = getInplaceOperand(kernel, index); argument >= 0)
      found.insert(kernel.getArgument(argument));
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return found.contains(operand); }))
      found.insert_range(op.getResults());
  return found;
}

void pp::gpu::computeScalars(Elements &e) {
  const Place &place = e.at({}, ArrayRef<Index>());
  auto isScalar = [](Value value) { return ranked(value).getRank() == 0; };
  // Only the thread that overwrites an argument may read it.
  const DenseSet<Value> overwritten = findOverwritten(e.getKernel());
  for (Operation &op : e.getKernel().getBody().front().without_terminator()) {
    if (overwritten.contains(op.getResult(0)))
      continue;
    if (op.hasTrait<OpTrait::Elementwise>() && isScalar(op.getResult(0)))
      e.get(op.getResult(0), place);
    else if (isa<BroadcastOp>(op) && isScalar(op.getOperand(0)))
      e.get(op.getOperand(0), place);
    if (hasSharedDivisor(&op)) {
      Value divisor =
          op.getOperand(1).getDefiningOp<BroadcastOp>().getOperand();
      if (isScalar(divisor))
        SharedDivisor(e, e.get(divisor, place).front());
    }
  }
}

//===- Indices.cpp - index arithmetic -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers are neither negative nor too large for their type, and every
// operation says so: LLVM then computes addresses in one instruction.
//
//===----------------------------------------------------------------------===//
#include "Indices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace pp::gpu;

namespace {
enum Kind { Literal, Add, Multiply, Divide, Remainder, Mirror, Limit, Cast };
} // namespace

static arith::IntegerOverflowFlagsAttr neverWraps(OpBuilder &b) {
  using Flags = arith::IntegerOverflowFlags;
  return arith::IntegerOverflowFlagsAttr::get(b.getContext(),
                                              Flags::nsw | Flags::nuw);
}

Value IndexBuilder::once(int kind, Value x, Value y, int64_t number,
                         llvm::function_ref<Value()> build) {
  auto key = std::make_tuple(kind, x.getAsOpaquePointer(),
                             y.getAsOpaquePointer(), number);
  if (Value value = values.lookup(key))
    return value;
  Value value = build();
  values.insert(key, value);
  return value;
}

Value IndexBuilder::getLiteral(int64_t number) {
  return once(Literal, {}, {}, number, [&] {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, number));
  });
}

Value IndexBuilder::get(const Index &index) {
  return index.isLiteral() ? getLiteral(index.literal) : index.value;
}

Index IndexBuilder::literal(int64_t number) {
  return {Value(), number, number + 1, number};
}

Index IndexBuilder::known(Value value, int64_t bound, int64_t multiple) {
  if (bound == 1)
    return literal(0);
  if (value.getType() != type) {
    const unsigned from = value.getType().getIntOrFloatBitWidth(),
                   to = type.getIntOrFloatBitWidth();
    value = once(Cast, value, {}, 0, [&]() -> Value {
      if (from < to)
        return arith::ExtUIOp::create(b, loc, type, value);
      return arith::TruncIOp::create(b, loc, type, value);
    });
  }
  return {value, 0, bound, multiple};
}

Index IndexBuilder::clamped(Value scalar, int64_t bound) {
  Type from = scalar.getType();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(from, value));
  };
  const int64_t largest =
      std::min(bound - 1, from.getIntOrFloatBitWidth() == 64
                              ? bound - 1
                              : int64_t(std::numeric_limits<int32_t>::max()));
  Value inside = arith::MaxSIOp::create(b, loc, scalar, number(0));
  inside = arith::MinSIOp::create(b, loc, inside, number(largest));
  return known(inside, bound);
}

Index IndexBuilder::add(const Index &x, const Index &y) {
  if (x.isLiteral() && y.isLiteral())
    return literal(x.literal + y.literal);
  if (x == literal(0))
    return y;
  if (y == literal(0))
    return x;
  Value left = get(x), right = get(y);
  Value sum = once(Add, left, right, 0, [&] {
    return arith::AddIOp::create(b, loc, left, right, neverWraps(b));
  });
  return {sum, 0, x.bound + y.bound - 1, std::gcd(x.multiple, y.multiple)};
}

Index IndexBuilder::multiply(const Index &x, int64_t factor) {
  if (x.isLiteral() || factor == 0)
    return literal(x.literal * factor);
  if (factor == 1)
    return x;
  Value product = once(Multiply, x.value, {}, factor, [&] {
    return arith::MulIOp::create(b, loc, x.value, getLiteral(factor),
                                 neverWraps(b));
  });
  return {product, 0, (x.bound - 1) * factor + 1, x.multiple * factor};
}

Index IndexBuilder::divide(const Index &x, int64_t divisor) {
  if (x.isLiteral())
    return literal(x.literal / divisor);
  if (x.bound <= divisor)
    return literal(0);
  if (divisor == 1)
    return x;
  Value quotient = once(Divide, x.value, {}, divisor, [&] {
    return arith::DivUIOp::create(b, loc, x.value, getLiteral(divisor));
  });
  return {quotient, 0, (x.bound - 1) / divisor + 1,
          x.divides(divisor) ? x.multiple / divisor : 1};
}

Index IndexBuilder::remainder(const Index &x, int64_t divisor) {
  if (x.isLiteral())
    return literal(x.literal % divisor);
  if (x.bound <= divisor)
    return x;
  if (x.divides(divisor))
    return literal(0);
  Value rest = once(Remainder, x.value, {}, divisor, [&] {
    return arith::RemUIOp::create(b, loc, x.value, getLiteral(divisor));
  });
  return {rest, 0, divisor, std::gcd(x.multiple, divisor)};
}

Index IndexBuilder::mirror(const Index &x, int64_t size) {
  if (x.isLiteral())
    return literal(size - 1 - x.literal);
  Value place = once(Mirror, x.value, {}, size, [&] {
    return arith::SubIOp::create(b, loc, getLiteral(size - 1), x.value,
                                 neverWraps(b));
  });
  return {place, 0, size, 1};
}

Index IndexBuilder::limit(const Index &x, int64_t largest) {
  if (x.bound <= largest + 1)
    return x;
  if (x.isLiteral())
    return literal(std::min(x.literal, largest));
  Value smaller = once(Limit, x.value, {}, largest, [&] {
    return arith::MinUIOp::create(b, loc, x.value, getLiteral(largest));
  });
  return {smaller, 0, largest + 1, std::gcd(x.multiple, largest)};
}

Index IndexBuilder::linearize(ArrayRef<Index> indices,
                              ArrayRef<int64_t> shape) {
  Index linear = literal(0);
  for (auto [index, size] : llvm::zip_equal(indices, shape))
    linear = add(multiply(linear, size), index);
  return linear;
}

Indices IndexBuilder::delinearize(const Index &linear,
                                  ArrayRef<int64_t> shape) {
  Indices indices(shape.size(), literal(0));
  Index rest = linear;
  for (size_t dim = shape.size(); dim-- > 0;) {
    const int64_t size = std::max<int64_t>(shape[dim], 1); // 0: no threads
    indices[dim] = remainder(rest, size);
    rest = divide(rest, size);
  }
  return indices;
}

//===- HloWriter.cpp - writes ops of StableHLO as text --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One function per op whose syntax has parts of its own.
//
//===----------------------------------------------------------------------===//
#include "HloWriter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static std::string join(Ints values) {
  return llvm::join(
      llvm::map_range(values,
                      [](int64_t value) { return std::to_string(value); }),
      ", ");
}

std::string hlo::spell(Ints values) { return "[" + join(values) + "]"; }

std::string hlo::spellArray(Ints values) {
  return values.empty() ? "array<i64>" : "array<i64: " + join(values) + ">";
}

std::string hlo::spellRows(ArrayRef<SmallVector<int64_t>> rows) {
  std::string text;
  for (const SmallVector<int64_t> &row : rows)
    text += (text.empty() ? "" : ", ") + spell(row);
  return "dense<[" + text + "]> : tensor<" + std::to_string(rows.size()) + "x" +
         std::to_string(rows.front().size()) + "xi64>";
}

std::string hlo::quote(StringRef text) {
  std::string quoted = "\"";
  llvm::raw_string_ostream out(quoted);
  llvm::printEscapedString(text, out);
  return quoted + "\"";
}

std::string hlo::spell(Type type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  type.print(out);
  return text;
}

std::string hlo::names(ArrayRef<Hlo> values) {
  return llvm::join(
      llvm::map_range(values, [](const Hlo &value) { return value.name; }),
      ", ");
}

std::string hlo::types(ArrayRef<Hlo> values) {
  return llvm::join(
      llvm::map_range(values,
                      [](const Hlo &value) { return spell(value.type); }),
      ", ");
}

StringRef hlo::combine(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "add";
  case Reduction::Max:
    return "maximum";
  case Reduction::Min:
    return "minimum";
  case Reduction::Prod:
    return "multiply";
  case Reduction::And:
    return "and";
  case Reduction::Or:
    return "or";
  }
  llvm_unreachable("every reduction is listed");
}

void HloWriter::line(const Twine &content) {
  text.append(2 * depth, ' ');
  text += content.str();
  text += '\n';
}

Hlo HloWriter::pretty(const Twine &syntax, ArrayRef<Hlo> operands,
                      RankedTensorType type) {
  Hlo result{fresh(), type};
  std::string signature = operands.empty()
                              ? spell(type)
                              : "(" + types(operands) + ") -> " + spell(type);
  line(result.name + " = stablehlo." + syntax + " : " + signature +
       (location.empty() ? "" : " loc(" + quote(location) + ")"));
  return result;
}

Hlos HloWriter::generic(StringRef op, ArrayRef<Hlo> operands,
                        StringRef attributes, StringRef regions,
                        ArrayRef<RankedTensorType> resultTypes) {
  const std::string name = fresh();
  Hlos results;
  for (auto [index, type] : llvm::enumerate(resultTypes))
    results.push_back(
        {resultTypes.size() == 1 ? name : name + "#" + std::to_string(index),
         type});
  std::string count =
      results.size() == 1 ? "" : ":" + std::to_string(results.size());
  line(name + count + " = \"" + op + "\"(" + names(operands) + ")" +
       (attributes.empty() ? "" : " <{" + attributes.str() + "}>") +
       (regions.empty() ? "" : " (" + regions.str() + ")") + " : (" +
       types(operands) + ") -> (" + types(results) + ")" +
       (location.empty() ? "" : " loc(" + quote(location) + ")"));
  return results;
}

Hlo HloWriter::same(StringRef op, ArrayRef<Hlo> operands) {
  Hlo result{fresh(), operands.front().type};
  line(result.name + " = " + (op.contains('.') ? "" : "stablehlo.") + op + " " +
       names(operands) + " : " +
       (op.contains('.') ? spell(result.type) + " -> " : "") +
       spell(result.type) +
       (location.empty() ? "" : " loc(" + quote(location) + ")"));
  return result;
}

Hlo HloWriter::constant(ElementsAttr value) {
  std::string spelled;
  llvm::raw_string_ostream out(spelled);
  value.print(out, /*elideType=*/true);
  return pretty("constant " + spelled, {},
                cast<RankedTensorType>(value.getShapedType()));
}

Hlo HloWriter::constant(RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  if (auto real = dyn_cast<FloatType>(element))
    return constant(
        SplatElementsAttr::get(type, FloatAttr::get(real, double(value))));
  return constant(SplatElementsAttr::get(
      type, IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                            uint64_t(value), false, true))));
}

Hlo HloWriter::identity(RankedTensorType type, Reduction reduction) {
  Type element = type.getElementType();
  const bool isLargest = reduction == Reduction::Min;
  if (reduction == Reduction::Max || isLargest) {
    if (auto real = dyn_cast<FloatType>(element))
      return constant(SplatElementsAttr::get(
          type, FloatAttr::get(real, APFloat::getInf(real.getFloatSemantics(),
                                                     !isLargest))));
    unsigned bits = element.getIntOrFloatBitWidth();
    APInt bound = isLargest ? APInt::getSignedMaxValue(bits)
                            : APInt::getSignedMinValue(bits);
    return constant(
        SplatElementsAttr::get(type, IntegerAttr::get(element, bound)));
  }
  return constant(type, reduction == Reduction::Prod  ? 1
                        : reduction == Reduction::And ? -1
                                                      : 0);
}

Hlo HloWriter::compare(StringRef direction, const Hlo &lhs, const Hlo &rhs) {
  StringRef kind =
      isa<FloatType>(lhs.element()) ? "FLOAT"
      : lhs.element().isUnsignedInteger() || lhs.element().isInteger(1)
          ? "UNSIGNED"
          : "SIGNED";
  return pretty("compare " + direction + ", " + names({lhs, rhs}) + ", " + kind,
                {lhs, rhs}, withElement(lhs, integer(1)));
}

Hlo HloWriter::select(const Hlo &predicate, const Hlo &onTrue,
                      const Hlo &onFalse) {
  Hlo result{fresh(), onTrue.type};
  line(result.name + " = stablehlo.select " +
       names({predicate, onTrue, onFalse}) + " : " +
       types({predicate, onTrue}) +
       (location.empty() ? "" : " loc(" + quote(location) + ")"));
  return result;
}

Hlo HloWriter::convert(const Hlo &operand, Type element) {
  if (operand.element() == element)
    return operand;
  return pretty("convert " + operand.name, operand,
                withElement(operand, element));
}

Hlo HloWriter::bitcast(const Hlo &operand, Type element) {
  return pretty("bitcast_convert " + operand.name, operand,
                withElement(operand, element));
}

Hlo HloWriter::iota(RankedTensorType type, int64_t dimension) {
  return pretty("iota dim = " + Twine(dimension), {}, type);
}

Hlo HloWriter::broadcast(const Hlo &operand, Ints dimensions, Ints shape) {
  if (operand.shape() == shape)
    return operand;
  return pretty("broadcast_in_dim " + operand.name +
                    ", dims = " + spell(dimensions),
                operand, withShape(operand, shape));
}

Hlo HloWriter::reshape(const Hlo &operand, Ints shape) {
  if (operand.shape() == shape)
    return operand;
  return pretty("reshape " + operand.name, operand, withShape(operand, shape));
}

Hlo HloWriter::transpose(const Hlo &operand, Ints permutation) {
  if (llvm::is_sorted(permutation))
    return operand;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(operand.shape()[dim]);
  return pretty("transpose " + operand.name + ", dims = " + spell(permutation),
                operand, withShape(operand, shape));
}

Hlo HloWriter::slice(const Hlo &operand, Ints starts, Ints limits,
                     Ints strides) {
  std::string ranges;
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides)) {
    ranges += (ranges.empty() ? "" : ", ") + std::to_string(start) + ":" +
              std::to_string(limit);
    if (stride != 1)
      ranges += ":" + std::to_string(stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  return pretty("slice " + operand.name + " [" + ranges + "]", operand,
                withShape(operand, shape));
}

Hlo HloWriter::concatenate(ArrayRef<Hlo> operands, int64_t dimension) {
  SmallVector<int64_t> shape(operands.front().shape());
  shape[dimension] = 0;
  for (const Hlo &operand : operands)
    shape[dimension] += operand.shape()[dimension];
  return pretty("concatenate " + names(operands) +
                    ", dim = " + Twine(dimension),
                operands, withShape(operands.front(), shape));
}

static Hlos join(ArrayRef<Hlo> first, ArrayRef<Hlo> rest) {
  Hlos all(first);
  all.append(rest.begin(), rest.end());
  return all;
}

Hlo HloWriter::dynamicSlice(const Hlo &operand, ArrayRef<Hlo> starts,
                            Ints sizes) {
  Hlos all = join(operand, starts);
  return pretty("dynamic_slice " + names(all) + ", sizes = " + spell(sizes),
                all, withShape(operand, sizes));
}

Hlo HloWriter::dynamicUpdateSlice(const Hlo &operand, const Hlo &update,
                                  ArrayRef<Hlo> starts) {
  Hlos all = join({operand, update}, starts);
  return pretty("dynamic_update_slice " + names(all), all, operand.type);
}

Hlo HloWriter::reduce(const Hlo &operand, Reduction reduction,
                      Ints dimensions) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(operand.shape()))
    if (!llvm::is_contained(dimensions, int64_t(dim)))
      shape.push_back(size);
  Hlo initial =
      identity(RankedTensorType::get({}, operand.element()), reduction);
  return pretty("reduce(" + operand.name + " init: " + initial.name +
                    ") applies stablehlo." + combine(reduction) +
                    " across dimensions = " + spell(dimensions),
                {operand, initial}, withShape(operand, shape));
}

Hlo HloWriter::pad(const Hlo &operand, const Hlo &value, Ints low, Ints high,
                   Ints interior, Ints shape) {
  return pretty("pad " + names({operand, value}) + ", low = " + spell(low) +
                    ", high = " + spell(high) +
                    ", interior = " + spell(interior),
                {operand, value}, withShape(operand, shape));
}

Hlo HloWriter::reduceWindow(Hlo operand, Reduction reduction, Windows windows,
                            Ints shape) {
  Hlo initial =
      identity(RankedTensorType::get({}, operand.element()), reduction);
  auto isNegative = [](int64_t by) { return by < 0; };
  if (llvm::any_of(windows.low, isNegative) ||
      llvm::any_of(windows.high, isNegative)) {
    // XLA (of 2026) fails on windows of one element that leave some out.
    SmallVector<int64_t> padded(operand.shape()), none(padded.size(), 0);
    for (auto [size, low, high] :
         llvm::zip_equal(padded, windows.low, windows.high))
      size += low + high;
    operand = pad(operand, initial, windows.low, windows.high, none, padded);
    windows.low = windows.high = none;
  }
  SmallVector<SmallVector<int64_t>> padding;
  for (auto [low, high] : llvm::zip_equal(windows.low, windows.high))
    padding.push_back({low, high});
  return generic("stablehlo.reduce_window", {operand, initial},
                 "padding = " + spellRows(padding) +
                     ", window_dilations = " + spellArray(windows.dilations) +
                     ", window_dimensions = " + spellArray(windows.sizes) +
                     ", window_strides = " + spellArray(windows.strides),
                 combiner(reduction, operand.element()),
                 withShape(operand, shape))
      .front();
}

std::string HloWriter::region(ArrayRef<Type> elements,
                              llvm::function_ref<Hlos(ArrayRef<Hlo>)> body) {
  Hlos arguments;
  std::string list;
  for (Type element : elements) {
    arguments.push_back({fresh(), RankedTensorType::get({}, element)});
    list += (list.empty() ? "" : ", ") + arguments.back().name + ": " +
            spell(arguments.back().type);
  }
  std::string outer = std::move(text);
  text.clear();
  line("^bb0(" + list + "):");
  depth += 1;
  Hlos results = body(arguments);
  line("stablehlo.return " + names(results) + " : " + types(results));
  depth -= 1;
  std::string inner = std::move(text);
  text = std::move(outer);
  return "{\n" + inner + std::string(2 * depth, ' ') + "}";
}

std::string HloWriter::combiner(Reduction reduction, Type element) {
  return region({element, element}, [&](ArrayRef<Hlo> values) {
    return Hlos{same(combine(reduction), values)};
  });
}

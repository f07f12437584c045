//===- HloOp.cpp - an op of StableHLO, by its name ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "HloOp.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp::hlo;

static std::string print(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

std::string pp::hlo::printInts(ArrayRef<int64_t> values) {
  return "[" +
         llvm::join(llvm::map_range(
                        values, [](int64_t v) { return std::to_string(v); }),
                    ", ") +
         "]";
}

std::optional<Ints> pp::hlo::readInts(Attribute attribute) {
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return Ints(array.asArrayRef());
  if (auto array = dyn_cast_or_null<DenseBoolArrayAttr>(attribute))
    return Ints(array.asArrayRef());
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute)) {
    if (integer.getValue().getBitWidth() > 64)
      return std::nullopt;
    return Ints{integer.getType().isSignedInteger() ? integer.getSInt()
                : integer.getType().isInteger(1)
                    ? int64_t(!integer.getValue().isZero())
                    : integer.getValue().getSExtValue()};
  }
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute)) {
    const bool isBool = dense.getElementType().isInteger(1);
    if (dense.getNumElements() > 4096 ||
        dense.getElementType().getIntOrFloatBitWidth() > 64)
      return std::nullopt;
    Ints values;
    for (const APInt &value : dense.getValues<APInt>())
      values.push_back(isBool ? int64_t(value.getZExtValue())
                              : value.getSExtValue());
    return values;
  }
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!list)
    return std::nullopt;
  Ints values;
  for (Attribute entry : list) {
    std::optional<Ints> inner = readInts(entry);
    if (!inner)
      return std::nullopt;
    values.append(*inner);
  }
  return values;
}

StringRef HloOp::getName() const {
  StringRef name = op->getName().getStringRef();
  name.consume_front("stablehlo.");
  return name;
}

RankedTensorType HloOp::getOperandType(unsigned index) const {
  return cast<RankedTensorType>(op->getOperand(index).getType());
}
RankedTensorType HloOp::getResultType(unsigned index) const {
  return cast<RankedTensorType>(op->getResult(index).getType());
}

Attribute HloOp::get(StringRef name) const {
  if (Attribute found = op->getAttr(name))
    return found;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

InFlightDiagnostic HloOp::failAt(StringRef name, const Twine &expected) const {
  InFlightDiagnostic error = op->emitOpError("expects ")
                             << name << " to be " << expected << ", got ";
  if (Attribute found = get(name))
    error << print(found);
  else
    error << "none";
  return error;
}

FailureOr<Ints> HloOp::getInts(StringRef name, Ints fallback) const {
  Attribute found = get(name);
  if (!found)
    return fallback;
  if (std::optional<Ints> values = readInts(found))
    return *values;
  return failAt(name, "a list of integers");
}

FailureOr<int64_t> HloOp::getInt(StringRef name, int64_t fallback) const {
  FailureOr<Ints> values = getInts(name, {fallback});
  if (failed(values))
    return failure();
  if (values->size() != 1)
    return failAt(name, "an integer");
  return values->front();
}

FailureOr<Ints> HloOp::getIntsPer(StringRef name, size_t count,
                                  int64_t fallback) const {
  FailureOr<Ints> values = getInts(name, Ints(count, fallback));
  if (succeeded(values) && values->size() != count)
    return failAt(name, Twine(count) + " integers");
  return values;
}

std::string HloOp::getWord(StringRef name) const {
  Attribute found = get(name);
  if (!found)
    return "";
  if (auto text = dyn_cast<StringAttr>(found))
    return text.getValue().str();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(found))
    return symbol.getValue().str();
  const std::string text = print(found);
  return StringRef(text).rtrim('>').rsplit(' ').second.str();
}

/// What stands in the brackets of an attribute of a dialect.
static StringRef getBody(StringRef text) {
  text = text.substr(std::min(text.find('<'), text.size()))
             .drop_front(text.contains('<'));
  return text.substr(0, text.rfind('>'));
}

/// Parses `text`, whose errors are told by the caller.
static Attribute parseQuietly(StringRef text, MLIRContext *context) {
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  return mlir::parseAttribute(text, context);
}

FailureOr<DictionaryAttr> HloOp::getDictionary(StringRef name) const {
  Attribute found = get(name);
  if (!found)
    return DictionaryAttr::get(op->getContext());
  auto numbers = dyn_cast<DictionaryAttr>(found);
  const std::string text = print(found);
  if (!numbers)
    numbers = dyn_cast_or_null<DictionaryAttr>(
        parseQuietly(("{" + getBody(text) + "}").str(), op->getContext()));
  if (!numbers || !llvm::all_of(numbers, [](NamedAttribute entry) {
        return readInts(entry.getValue()).has_value();
      }))
    return failAt(name, "numbers of dimensions");
  return numbers;
}

Ints pp::hlo::getEntry(DictionaryAttr numbers, StringRef name) {
  return readInts(numbers.get(name)).value_or(Ints());
}

//===----------------------------------------------------------------------===//
// Dimensions of a convolution
//===----------------------------------------------------------------------===//

/// `[b, 0, f]`
static SmallVector<std::string> splitLabels(StringRef text) {
  SmallVector<StringRef> parts;
  text.trim().trim("[]").split(parts, ',', -1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(parts,
                             [](StringRef part) { return part.trim().str(); });
}

static SmallVector<std::string> readLabels(Attribute list) {
  SmallVector<std::string> labels;
  for (Attribute entry : dyn_cast<ArrayAttr>(list))
    if (auto text = dyn_cast<StringAttr>(entry))
      labels.push_back(text.str());
    else if (std::optional<Ints> number = readInts(entry))
      labels.push_back(std::to_string(number->front()));
  return labels;
}

FailureOr<ConvolutionLabels> HloOp::getConvolutionLabels() const {
  constexpr StringLiteral name = "dimension_numbers";
  Attribute found = get(name);
  ConvolutionLabels labels;
  if (auto lists = dyn_cast_or_null<ArrayAttr>(found);
      lists && lists.size() == 3 &&
      llvm::all_of(lists, llvm::IsaPred<ArrayAttr>)) {
    labels = {readLabels(lists[0]), readLabels(lists[1]), readLabels(lists[2])};
    return labels;
  }
  const std::string text = found ? print(found) : "";
  auto [operands, result] = getBody(text).split("->");
  auto [lhs, rhs] = operands.split("]x[");
  if (lhs.empty() || rhs.empty() || result.empty())
    return failAt(name, "numbers of dimensions");
  labels = {splitLabels(lhs), splitLabels(rhs), splitLabels(result)};
  return labels;
}

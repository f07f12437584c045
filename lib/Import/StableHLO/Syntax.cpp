//===- Syntax.cpp - the custom form that most ops share -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Lenient: what an op may have is left to the conversion, which knows the op.
//
//===----------------------------------------------------------------------===//
#include "Syntax.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pp::hlo;
using Operand = OpAsmParser::UnresolvedOperand;

/// Deeper lists and brackets are no StableHLO.
static constexpr int kMostNested = 32;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static FailureOr<Attribute> parseValue(OpAsmParser &parser, int depth);

/// Behind the opening bracket. A list of numbers is an array.
static FailureOr<Attribute> parseList(OpAsmParser &parser, int depth) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> values;
  if (failed(parser.parseOptionalRSquare())) {
    do {
      FailureOr<Attribute> value = parseValue(parser, depth + 1);
      if (failed(value))
        return failure();
      values.push_back(*value);
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRSquare())
      return failure();
  }
  if (!llvm::all_of(values, llvm::IsaPred<IntegerAttr>))
    return Attribute(builder.getArrayAttr(values));
  return Attribute(builder.getDenseI64ArrayAttr(
      llvm::map_to_vector(values, [](Attribute value) {
        return cast<IntegerAttr>(value).getInt();
      })));
}

static FailureOr<Attribute> parseValue(OpAsmParser &parser, int depth) {
  Builder &builder = parser.getBuilder();
  if (depth > kMostNested)
    return parser.emitError(parser.getCurrentLocation(),
                            "expects fewer nested lists");
  if (succeeded(parser.parseOptionalLSquare()))
    return parseList(parser, depth);
  int64_t number = 0;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(number);
      parsed.has_value())
    return failed(*parsed) ? FailureOr<Attribute>()
                           : Attribute(builder.getI64IntegerAttr(number));
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    if (word == "true" || word == "false")
      return Attribute(builder.getI64IntegerAttr(word == "true"));
    return Attribute(builder.getStringAttr(word));
  }
  std::string text;
  if (succeeded(parser.parseOptionalString(&text)))
    return Attribute(builder.getStringAttr(text));
  FailureOr<StringRef> bracketed = parseBracketed(parser);
  if (failed(bracketed))
    return failure();
  return Attribute(builder.getStringAttr(*bracketed));
}

FailureOr<Attribute> pp::hlo::parseValue(OpAsmParser &parser) {
  return ::parseValue(parser, 0);
}

/// A token that is no bracket.
static bool skipToken(OpAsmParser &parser) {
  StringRef word;
  std::string text;
  int64_t number = 0;
  StringAttr symbol;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(number);
      parsed.has_value())
    return succeeded(*parsed);
  return succeeded(parser.parseOptionalComma()) ||
         succeeded(parser.parseOptionalColon()) ||
         succeeded(parser.parseOptionalEqual()) ||
         succeeded(parser.parseOptionalQuestion()) ||
         succeeded(parser.parseOptionalArrow()) ||
         succeeded(parser.parseOptionalStar()) ||
         succeeded(parser.parseOptionalPlus()) ||
         succeeded(parser.parseOptionalKeyword(&word)) ||
         succeeded(parser.parseOptionalString(&text)) ||
         succeeded(parser.parseOptionalSymbolName(symbol));
}

namespace {

/// Skips a text in brackets.
class BracketSkipper {
public:
  explicit BracketSkipper(OpAsmParser &parser) : parser(parser) {}

  /// False if there was none, or if it did not end.
  bool skip(int depth = 0);
  /// Behind the last bracket.
  const char *getEnd() const { return end; }

private:
  /// Closes what `opener` opened, if it ends here.
  bool close(char opener);
  std::optional<char> open();

  OpAsmParser &parser;
  const char *end = nullptr;
  bool hasFailed = false;
};

std::optional<char> BracketSkipper::open() {
  if (succeeded(parser.parseOptionalLess()))
    return '<';
  if (succeeded(parser.parseOptionalLSquare()))
    return '[';
  if (succeeded(parser.parseOptionalLBrace()))
    return '{';
  if (succeeded(parser.parseOptionalLParen()))
    return '(';
  return std::nullopt;
}

bool BracketSkipper::close(char opener) {
  const char *here = parser.getCurrentLocation().getPointer();
  const bool isClosed =
      succeeded(opener == '<'   ? parser.parseOptionalGreater()
                : opener == '[' ? parser.parseOptionalRSquare()
                : opener == '{' ? parser.parseOptionalRBrace()
                                : parser.parseOptionalRParen());
  if (isClosed)
    end = here + 1;
  return isClosed;
}

bool BracketSkipper::skip(int depth) {
  std::optional<char> opener = open();
  if (!opener)
    return false;
  while (!close(*opener)) {
    const bool isSkipped =
        depth < kMostNested &&
        (skip(depth + 1) || (!hasFailed && skipToken(parser)));
    if (!isSkipped) {
      hasFailed = true;
      return false;
    }
  }
  return true;
}

} // namespace

FailureOr<StringRef> pp::hlo::parseBracketed(OpAsmParser &parser) {
  const char *begin = parser.getCurrentLocation().getPointer();
  BracketSkipper skipper(parser);
  if (!skipper.skip())
    return parser.emitError(parser.getCurrentLocation(),
                            "expects a value or a text in brackets");
  return StringRef(begin, skipper.getEnd() - begin);
}

ParseResult pp::hlo::parseAttributes(OpAsmParser &parser,
                                     OperationState &state) {
  NamedAttrList attributes;
  if (parser.parseOptionalAttrDict(attributes))
    return failure();
  for (NamedAttribute attribute : attributes)
    state.attributes.set(attribute.getName(), attribute.getValue());
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Types behind an arrow, in parentheses or without.
static ParseResult parseResultTypes(OpAsmParser &parser,
                                    OperationState &state) {
  if (failed(parser.parseOptionalLParen()))
    return parser.parseTypeList(state.types);
  if (succeeded(parser.parseOptionalRParen()))
    return success();
  return failure(parser.parseTypeList(state.types) || parser.parseRParen());
}

/// The element of a complex tensor.
static Type getPart(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? Type(tensor.clone(complex.getElementType())) : type;
}

/// Completes `types`, which stand for operands and results, where the op says
/// no more.
static ParseResult spreadTypes(OpAsmParser &parser, OperationState &state,
                               size_t operands, SmallVector<Type> &types) {
  const StringRef name = state.name.getStringRef();
  if (name.ends_with(".return"))
    return success();
  if (name.ends_with(".optimization_barrier") || operands == 0) {
    state.addTypes(types);
    if (operands == 0)
      types.clear();
    return success();
  }
  state.addTypes(types.back());
  if (name.ends_with(".select") && types.size() == 2 && operands == 3)
    types.push_back(types.back());
  else if (types.size() == 1)
    types.assign(operands,
                 name.ends_with(".complex") ? getPart(types[0]) : types[0]);
  return success();
}

ParseResult pp::hlo::parseTypes(OpAsmParser &parser, OperationState &state,
                                ArrayRef<Operand> operands) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseTypeList(types))
      return failure();
    auto function = dyn_cast<FunctionType>(types[0]);
    if (function && types.size() == 1) {
      state.addTypes(function.getResults());
      types.assign(function.getInputs().begin(), function.getInputs().end());
    } else if (succeeded(parser.parseOptionalArrow())) {
      if (parseResultTypes(parser, state))
        return failure();
    } else if (spreadTypes(parser, state, operands.size(), types))
      return failure();
  }
  return parser.resolveOperands(operands, types, loc, state.operands);
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

/// How the generic form of an op calls a value of the pretty form.
static StringRef getAttributeName(StringRef op, StringRef key) {
  return llvm::StringSwitch<StringRef>((op + "." + key).str())
      .Case("broadcast.sizes", "broadcast_sizes")
      .Cases({"broadcast_in_dim.dims", "dynamic_broadcast_in_dim.dims"},
             "broadcast_dimensions")
      .Case("transpose.dims", "permutation")
      .Case("reverse.dims", "dimensions")
      .Cases({"iota.dim", "dynamic_iota.dim"}, "iota_dimension")
      .Cases({"concatenate.dim", "get_dimension_size.dim"}, "dimension")
      .Case("dynamic_slice.sizes", "slice_sizes")
      .Case("pad.low", "edge_padding_low")
      .Case("pad.high", "edge_padding_high")
      .Case("pad.interior", "interior_padding")
      .Cases({"dot.precision", "dot_general.precision"}, "precision_config")
      .Case("rng_bit_generator.algorithm", "rng_algorithm")
      .Case("rng.distribution", "rng_distribution")
      .Default(key);
}

/// `batching_dims = [0] x [1]` is two attributes of the dimension numbers.
static void addPair(Builder &builder, StringRef key, Attribute lhs,
                    Attribute rhs, NamedAttrList &numbers) {
  key.consume_back("_dims");
  numbers.set(("lhs_" + key + "_dimensions").str(), lhs);
  numbers.set(("rhs_" + key + "_dimensions").str(), rhs);
}

namespace {
/// What stands between the op's name and its types.
struct Items {
  SmallVector<Operand> operands;
  SmallVector<StringRef> words;
  NamedAttrList numbers;
};
} // namespace

/// `key = value`, or a word alone.
static ParseResult parseWord(OpAsmParser &parser, OperationState &state,
                             StringRef word, Items &items) {
  if (failed(parser.parseOptionalEqual())) {
    items.words.push_back(word);
    return success();
  }
  FailureOr<Attribute> value = parseValue(parser);
  if (failed(value))
    return failure();
  if (failed(parser.parseOptionalKeyword("x"))) {
    state.attributes.set(getAttributeName(state.name.stripDialect(), word),
                         *value);
    return success();
  }
  FailureOr<Attribute> other = parseValue(parser);
  if (failed(other))
    return failure();
  addPair(parser.getBuilder(), word, *value, *other, items.numbers);
  return success();
}

static ParseResult parseItems(OpAsmParser &parser, OperationState &state,
                              Items &items) {
  do {
    Operand operand;
    StringRef word;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      items.operands.push_back(operand);
    } else if (failed(parser.parseOptionalKeyword(&word)))
      return success();
    else if (parseWord(parser, state, word, items))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

ParseResult pp::hlo::parsePlain(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  Items items;
  const bool isCall = succeeded(parser.parseOptionalLParen());
  if (parseItems(parser, state, items) || (isCall && parser.parseRParen()) ||
      parseAttributes(parser, state))
    return failure();
  static constexpr StringLiteral ofWords[] = {"comparison_direction",
                                              "compare_type"};
  for (auto [index, word] : llvm::enumerate(items.words)) {
    if (index >= std::size(ofWords))
      return parser.emitError(parser.getCurrentLocation(), "expects no '")
             << word << "'";
    state.attributes.set(ofWords[index], builder.getStringAttr(word));
  }
  if (!items.numbers.empty())
    state.attributes.set("dot_dimension_numbers",
                         items.numbers.getDictionary(builder.getContext()));
  return parseTypes(parser, state, items.operands);
}

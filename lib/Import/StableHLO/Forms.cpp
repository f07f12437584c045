//===- Forms.cpp - custom forms of single ops -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the text behind the op's name, as StableHLO's printer writes it. That of
// regions and of shardings is here as well.
//
//===----------------------------------------------------------------------===//
#include "Syntax.h"

using namespace mlir;
using namespace pp::hlo;
using Operand = OpAsmParser::UnresolvedOperand;
using Argument = OpAsmParser::Argument;

/// `dense<0.0> : tensor<f32>`
static ParseResult parseConstant(OpAsmParser &parser, OperationState &state) {
  Attribute value;
  if (parseAttributes(parser, state))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value))
    return failure();
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed)
    return parser.emitError(loc, "expects a literal with a type");
  state.attributes.set("value", value);
  state.addTypes(typed.getType());
  return success();
}

/// `%x [0:4, 1:8:2] : (...) -> ...`
static ParseResult parseSlice(OpAsmParser &parser, OperationState &state) {
  Operand operand;
  SmallVector<int64_t> starts, limits, strides;
  auto parseRange = [&]() -> ParseResult {
    strides.push_back(1);
    if (parser.parseInteger(starts.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limits.emplace_back()))
      return failure();
    return failure(succeeded(parser.parseOptionalColon()) &&
                   parser.parseInteger(strides.back()));
  };
  if (parser.parseOperand(operand) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange) ||
      parseAttributes(parser, state))
    return failure();
  Builder &builder = parser.getBuilder();
  state.attributes.set("start_indices", builder.getDenseI64ArrayAttr(starts));
  state.attributes.set("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.attributes.set("strides", builder.getDenseI64ArrayAttr(strides));
  return parseTypes(parser, state, operand);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// `window = {stride = [2, 2], pad = [[1, 1], [1, 1]]}`
static ParseResult parseWindow(OpAsmParser &parser, OperationState &state) {
  static constexpr std::pair<StringLiteral, StringLiteral> kNames[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Braces, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef key;
        if (parser.parseKeyword(&key) || parser.parseEqual())
          return failure();
        const auto *name = llvm::find_if(
            kNames, [&](const auto &entry) { return entry.first == key; });
        if (name == std::end(kNames))
          return parser.emitError(loc, "expects stride, pad, lhs_dilate, "
                                       "rhs_dilate or reverse, got ")
                 << key;
        FailureOr<Attribute> value = parseValue(parser);
        if (failed(value))
          return failure();
        state.attributes.set(name->second, *value);
        return success();
      });
}

/// `(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {...}`
static ParseResult parseConvolution(OpAsmParser &parser,
                                    OperationState &state) {
  SmallVector<Operand> operands;
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dim_numbers") || parser.parseEqual())
    return failure();
  FailureOr<Attribute> lhs = parseValue(parser);
  if (failed(lhs) || parser.parseKeyword("x"))
    return failure();
  FailureOr<Attribute> rhs = parseValue(parser);
  if (failed(rhs) || parser.parseArrow())
    return failure();
  FailureOr<Attribute> result = parseValue(parser);
  if (failed(result) || parser.parseComma() || parser.parseKeyword("window") ||
      parser.parseEqual() || parseWindow(parser, state) ||
      parseAttributes(parser, state))
    return failure();
  state.attributes.set("dimension_numbers",
                       parser.getBuilder().getArrayAttr({*lhs, *rhs, *result}));
  return parseTypes(parser, state, operands);
}

//===----------------------------------------------------------------------===//
// Ops with regions
//===----------------------------------------------------------------------===//

/// A region that applies the op `name` to two scalars.
static ParseResult addReducer(OpAsmParser &parser, OperationState &state,
                              StringRef name) {
  auto tensor = dyn_cast<RankedTensorType>(state.operands.back().getType());
  if (!tensor)
    return parser.emitError(parser.getNameLoc(), "expects tensors");
  auto scalar = RankedTensorType::get({}, tensor.getElementType());
  Block &block = state.addRegion()->emplaceBlock();
  Location loc = state.location;
  block.addArguments({scalar, scalar}, {loc, loc});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  OperationState reducer(loc, name, block.getArguments(), {scalar});
  Value result = builder.create(reducer)->getResult(0);
  builder.create(OperationState(loc, "stablehlo.return", {result}, {}));
  return success();
}

/// `reducer(%a: T, %b: U) (%c: T, %d: U) {...}`: pairs of left and right sides.
static ParseResult parseReducer(OpAsmParser &parser, OperationState &state) {
  SmallVector<Argument> lhs, rhs, group;
  if (parser.parseKeyword("reducer"))
    return failure();
  while (true) {
    group.clear();
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseArgumentList(group, OpAsmParser::Delimiter::OptionalParen,
                                 /*allowType=*/true))
      return failure();
    if (group.empty())
      break;
    if (group.size() != 2)
      return parser.emitError(loc, "expects two arguments, got ")
             << group.size();
    lhs.push_back(group[0]);
    rhs.push_back(group[1]);
  }
  lhs.append(rhs);
  return parser.parseRegion(*state.addRegion(), lhs);
}

/// `(%x init: %c), ... applies stablehlo.add across dimensions = [0] : ...`
static ParseResult parseReduce(OpAsmParser &parser, OperationState &state) {
  SmallVector<Operand> operands, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  operands.append(inits);
  StringRef name;
  if (succeeded(parser.parseOptionalKeyword("applies")) &&
      parser.parseKeyword(&name))
    return failure();
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual())
    return failure();
  FailureOr<Attribute> dimensions = parseValue(parser);
  if (failed(dimensions) || parseAttributes(parser, state))
    return failure();
  state.attributes.set("dimensions", *dimensions);
  if (parseTypes(parser, state, operands))
    return failure();
  return name.empty() ? parseReducer(parser, state)
                      : addReducer(parser, state, name);
}

/// `(%a = %x, %b = %y) : T, U attributes {...} cond {...} do {...}`
static ParseResult parseWhile(OpAsmParser &parser, OperationState &state) {
  SmallVector<Argument> arguments;
  SmallVector<Operand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePair))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(loc, "expects ")
           << operands.size() << " types, got " << types.size();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  state.addTypes(types);
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.resolveOperands(operands, types, loc, state.operands) ||
                 parser.parseKeyword("cond") ||
                 parser.parseRegion(*state.addRegion(), arguments) ||
                 parser.parseKeyword("do") ||
                 parser.parseRegion(*state.addRegion(), arguments));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// `@name(%x, %y) {...} : ...`
static ParseResult parseCustomCall(OpAsmParser &parser, OperationState &state) {
  StringAttr target;
  SmallVector<Operand> operands;
  if (parser.parseSymbolName(target) ||
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parseAttributes(parser, state))
    return failure();
  state.attributes.set("call_target_name", target);
  return parseTypes(parser, state, operands);
}

/// `"name" %x, %y {decomposition = @f} : ...`
static ParseResult parseComposite(OpAsmParser &parser, OperationState &state) {
  std::string name;
  SmallVector<Operand> operands;
  if (parser.parseString(&name) || parser.parseOperandList(operands) ||
      parseAttributes(parser, state))
    return failure();
  state.attributes.set("name", parser.getBuilder().getStringAttr(name));
  return parseTypes(parser, state, operands);
}

//===----------------------------------------------------------------------===//
// Shardy
//===----------------------------------------------------------------------===//

/// `key = <...>` as text.
static ParseResult parseText(OpAsmParser &parser, OperationState &state,
                             StringRef name) {
  FailureOr<StringRef> text = parseBracketed(parser);
  if (failed(text))
    return failure();
  state.attributes.set(name, parser.getBuilder().getStringAttr(*text));
  return success();
}

/// `@mesh = <["x"=2]>`
static ParseResult parseMesh(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  if (parser.parseSymbolName(name) || parser.parseEqual())
    return failure();
  state.attributes.set("sym_name", name);
  return failure(parseText(parser, state, "mesh") ||
                 parseAttributes(parser, state));
}

/// `%x <@mesh, [{"x"}, {}]> : T`
static ParseResult parseConstraint(OpAsmParser &parser, OperationState &state) {
  Operand operand;
  if (parser.parseOperand(operand) || parseText(parser, state, "sharding") ||
      parseAttributes(parser, state))
    return failure();
  return parseTypes(parser, state, operand);
}

/// `(%x) in_shardings=[...] out_shardings=[...] manual_axes={...} (%a: T) {...}
/// : ...`
static ParseResult parseManual(OpAsmParser &parser, OperationState &state) {
  SmallVector<Operand> operands;
  SmallVector<Argument> arguments;
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
    return failure();
  for (StringRef key : {"in_shardings", "out_shardings", "manual_axes"})
    if (parser.parseKeyword(key) || parser.parseEqual() ||
        parseText(parser, state, key))
      return failure();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments) ||
      parseAttributes(parser, state))
    return failure();
  return parseTypes(parser, state, operands);
}

const ParseOp *pp::hlo::findForm(StringRef name) {
  static constexpr std::pair<StringLiteral, ParseOp> kForms[] = {
      {"stablehlo.constant", parseConstant},
      {"chlo.constant", parseConstant},
      {"stablehlo.slice", parseSlice},
      {"stablehlo.convolution", parseConvolution},
      {"stablehlo.reduce", parseReduce},
      {"stablehlo.while", parseWhile},
      {"stablehlo.custom_call", parseCustomCall},
      {"stablehlo.composite", parseComposite},
      {"sdy.mesh", parseMesh},
      {"sdy.sharding_constraint", parseConstraint},
      {"sdy.manual_computation", parseManual}};
  const auto *form = llvm::find_if(
      kForms, [&](const auto &entry) { return entry.first == name; });
  return form == std::end(kForms) ? nullptr : &form->second;
}

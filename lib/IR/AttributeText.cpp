//===- AttributeText.cpp - the spelling that attributes share -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "AttributeText.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

void pp::printReal(AsmPrinter &printer, double value) {
  printer.printFloat(llvm::APFloat(value));
}

ParseResult pp::parseName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

ParseResult pp::parseAxes(AsmParser &parser,
                          SmallVectorImpl<MeshAxisAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        StringAttr name;
        int64_t size = 0;
        AxisKind kind = AxisKind::Space;
        if (parseName(parser, name) || parser.parseEqual() ||
            parser.parseInteger(size))
          return failure();
        if (succeeded(parser.parseOptionalColon()) &&
            parseKeyword<AxisKind>(parser, kind, "space, stage or time",
                                   symbolizeAxisKind))
          return failure();
        axes.push_back(
            MeshAxisAttr::get(parser.getContext(), name, size, kind));
        return success();
      });
}

void pp::printAxes(raw_ostream &os, ArrayRef<MeshAxisAttr> axes) {
  os << "[";
  llvm::interleaveComma(axes, os, [&](MeshAxisAttr axis) {
    os << axis.getName() << "=" << axis.getSize();
    if (axis.getKind() != AxisKind::Space)
      os << " : " << stringifyAxisKind(axis.getKind());
  });
  os << "]";
}

ParseResult pp::parseDims(AsmParser &parser,
                          SmallVectorImpl<DimShardingAttr> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SmallVector<StringAttr> axes;
        bool isOpen = false;
        if (parser.parseCommaSeparatedList(
                AsmParser::Delimiter::Braces, [&]() -> ParseResult {
                  if (succeeded(parser.parseOptionalQuestion())) {
                    isOpen = true;
                    return success();
                  }
                  return parseName(parser, axes.emplace_back());
                }))
          return failure();
        dims.push_back(DimShardingAttr::get(parser.getContext(), axes, isOpen));
        return success();
      });
}

void pp::printDims(AsmPrinter &printer, ArrayRef<DimShardingAttr> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer, [&](DimShardingAttr dim) {
    printer << "{";
    llvm::interleaveComma(dim.getAxes(), printer);
    if (dim.getIsOpen())
      printer << (dim.getAxes().empty() ? "?" : ", ?");
    printer << "}";
  });
  printer << "]";
}

ParseResult
pp::parseEntries(AsmParser &parser,
                 llvm::function_ref<ParseResult(StringRef, SMLoc)> parseValue,
                 StringRef first) {
  llvm::StringSet<> seen;
  seen.insert(first);
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (!seen.insert(key).second)
      return parser.emitError(loc) << "expects " << key << " once";
    if (parseValue(key, loc))
      return failure();
  }
  return parser.parseGreater();
}

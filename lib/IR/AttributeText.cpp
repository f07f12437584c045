//===- AttributeText.cpp - shared syntax of attributes --------------------===//
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

static StringAttr namePart(StringAttr whole, size_t number) {
  return StringAttr::get(whole.getContext(),
                         whole.getValue() + "." + Twine(number));
}

/// `4, 2]`: the parts of an axis.
static ParseResult parseParts(AsmParser &parser, StringAttr whole,
                              SmallVectorImpl<MeshAxisAttr> &axes) {
  size_t number = 0;
  do {
    int64_t size = 0;
    if (parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(
        parser.getContext(), namePart(whole, number++), size, AxisKind::Space));
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRSquare();
}

ParseResult pp::parseAxes(AsmParser &parser,
                          SmallVectorImpl<MeshAxisAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        const SMLoc loc = parser.getCurrentLocation();
        StringAttr name;
        int64_t size = 0;
        AxisKind kind = AxisKind::Space;
        if (parseName(parser, name))
          return failure();
        if (const StringRef whole = MeshAxisAttr::getWhole(name);
            whole != name.getValue())
          return parser.emitError(loc)
                 << "expects an axis, got " << name
                 << ", as parts of an axis are called: write \"" << whole
                 << "\"=[2, 2] for the parts, or another name";
        if (parser.parseEqual())
          return failure();
        if (succeeded(parser.parseOptionalLSquare()))
          return parseParts(parser, name, axes);
        if (parser.parseInteger(size))
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

/// How many of `axes`, from the first one on, are the parts of one.
static size_t countParts(ArrayRef<MeshAxisAttr> axes) {
  auto whole = StringAttr::get(axes.front().getContext(),
                               MeshAxisAttr::getWhole(axes.front().getName()));
  size_t count = 0;
  while (count < axes.size() && axes[count].getName() == namePart(whole, count))
    ++count;
  return count;
}

void pp::printAxes(raw_ostream &os, ArrayRef<MeshAxisAttr> axes) {
  os << "[";
  for (bool isFirst = true; !axes.empty(); isFirst = false) {
    const MeshAxisAttr axis = axes.front();
    os << (isFirst ? "" : ", ");
    // The mesh has all parts of an axis, but messages may name one alone.
    if (const size_t count = countParts(axes); count > 1) {
      os << '"' << MeshAxisAttr::getWhole(axis.getName()) << "\"=[";
      llvm::interleaveComma(axes.take_front(count), os,
                            [&](MeshAxisAttr part) { os << part.getSize(); });
      os << "]";
      axes = axes.drop_front(count);
      continue;
    }
    os << axis.getName() << "=" << axis.getSize();
    if (axis.getKind() != AxisKind::Space)
      os << " : " << stringifyAxisKind(axis.getKind());
    axes = axes.drop_front();
  }
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

ParseResult pp::parseKey(AsmParser &parser, StringRef &key) {
  if (parser.parseKeyword(&key))
    return failure();
  while (succeeded(parser.parseOptionalMinus())) {
    StringRef part;
    if (parser.parseKeyword(&part))
      return failure();
    key = StringRef(key.begin(), part.end() - key.begin()); // of one text
  }
  return parser.parseEqual();
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
    if (parseKey(parser, key))
      return failure();
    if (!seen.insert(key).second)
      return parser.emitError(loc) << "expects " << key << " once";
    if (parseValue(key, loc))
      return failure();
  }
  return parser.parseGreater();
}

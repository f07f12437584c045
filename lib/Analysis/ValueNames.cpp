//===- ValueNames.cpp - names of values inside a model --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ValueNames.h"
#include "pp/Analysis/Seeds.h"
#include "pprt/LayerName.h"

using namespace mlir;
using namespace pp;

StringRef pp::getOpName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : StringRef();
}

StringRef pp::findLayerName(StringRef name) {
  return StringRef(pprt::layerName(name));
}

StringRef pp::findLayerName(Operation *op) {
  return findLayerName(getOpName(op));
}

ValuePatterns::ValuePatterns(StringRef text) {
  SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, ','); // an empty part names nothing
  for (StringRef part : parts) {
    auto [name, op] = part.trim().split(' ');
    patterns.push_back({part.trim(), name, op.trim()});
  }
}

/// True if `pattern` is the name, or that of something it lies in.
static bool matchesName(StringRef pattern, StringRef name) {
  if (matchesPattern(pattern, name))
    return true;
  for (size_t end = name.rfind('.'); end != StringRef::npos;
       end = name.take_front(end).rfind('.'))
    if (matchesPattern(pattern, name.take_front(end)))
      return true;
  return false;
}

bool ValuePatterns::match(Operation *op) {
  bool isFound = false;
  for (Pattern &pattern : patterns)
    if ((pattern.op.empty() ||
         matchesPattern(pattern.op, op->getName().stripDialect())) &&
        matchesName(pattern.name, getOpName(op)))
      isFound = pattern.hasMatched = true;
  return isFound;
}

std::optional<StringRef> ValuePatterns::findUnmatched() const {
  for (const Pattern &pattern : patterns)
    if (!pattern.hasMatched)
      return pattern.text;
  return std::nullopt;
}

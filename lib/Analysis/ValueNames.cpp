//===- ValueNames.cpp - names of values inside a model --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ValueNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

StringRef pp::getOpName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : StringRef();
}

StringRef pp::findLayerName(StringRef name) {
  size_t end = 0;
  while (end < name.size()) {
    const size_t begin = end;
    end = std::min(name.find('.', begin), name.size());
    const StringRef part = name.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return name.take_front(end);
    ++end;
  }
  return {};
}

StringRef pp::findLayerName(Operation *op) {
  return findLayerName(getOpName(op));
}

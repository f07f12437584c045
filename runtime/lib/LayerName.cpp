//===- LayerName.cpp - the layer in the name of a value -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Any text is a name; bytes other than dots and digits have no meaning.
//
//===----------------------------------------------------------------------===//
#include "pprt/LayerName.h"

#include <algorithm>

/// The end of the part of a dotted name that begins at `begin`.
static size_t endOfPart(std::string_view name, size_t begin) {
  return std::min(name.find('.', begin), name.size());
}

static bool isNumber(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

std::string_view pprt::layerName(std::string_view name) {
  for (size_t begin = 0, end; begin < name.size(); begin = end + 1) {
    end = endOfPart(name, begin);
    if (isNumber(name.substr(begin, end - begin)))
      return name.substr(0, end);
  }
  return {};
}

std::string pprt::anyLayer(std::string_view name) {
  std::string text;
  for (size_t begin = 0, end; begin <= name.size(); begin = end + 1) {
    end = endOfPart(name, begin);
    const std::string_view part = name.substr(begin, end - begin);
    text += (begin == 0 ? "" : ".");
    text += isNumber(part) ? "*" : part;
  }
  return text;
}

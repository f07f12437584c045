//===- Topology.cpp - links and rates of a machine ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Topology.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

using namespace pp::schedule;

std::string_view pp::schedule::wholeAxisOf(std::string_view name) {
  const size_t dot = name.rfind('.');
  const bool isPart =
      dot != name.npos && dot > 0 && dot + 1 < name.size() &&
      name.find_first_not_of("0123456789", dot + 1) == name.npos;
  return isPart ? name.substr(0, dot) : name;
}

std::vector<std::string_view>
pp::schedule::joinParts(const std::vector<std::string_view> &axes,
                        const std::vector<std::string_view> &mesh) {
  std::vector<std::string_view> joined;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string_view whole = wholeAxisOf(axes[axis]);
    std::vector<std::string_view> parts;
    for (std::string_view other : mesh)
      if (wholeAxisOf(other) == whole)
        parts.push_back(other);
    const bool areAll =
        parts.size() > 1 && parts.size() <= axes.size() - axis &&
        std::equal(parts.begin(), parts.end(), axes.begin() + axis);
    joined.push_back(areAll ? whole : axes[axis]);
    axis += areAll ? parts.size() - 1 : 0;
  }
  return joined;
}

const Link &
Topology::linkAlong(const std::vector<std::string_view> &axes) const {
  size_t behind = 0;
  for (size_t axis = 1; axis < axes.size(); ++axis)
    behind += wholeAxisOf(axes[axis]) != wholeAxisOf(axes[axis - 1]);
  return linkAt(behind);
}

/// A finite number that ends where the text does.
static std::optional<double> parseNumber(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.e+-") != text.npos)
    return std::nullopt;
  const std::string digits(text);
  char *end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::optional<std::vector<Link>>
pp::schedule::parseLinks(std::string_view text) {
  std::vector<Link> links;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const size_t colon = entry.find(':');
    if (colon == entry.npos)
      return std::nullopt;
    const std::optional<double> bytes = parseNumber(entry.substr(0, colon)),
                                latency = parseNumber(entry.substr(colon + 1));
    if (!bytes || !latency || *bytes <= 0 || *latency < 0)
      return std::nullopt;
    links.push_back({*bytes, *latency});
    if (entry.size() == text.size())
      return links;
    text.remove_prefix(entry.size() + 1);
  }
}

std::optional<Rates> pp::schedule::parseRates(std::string_view text) {
  double numbers[3];
  for (size_t index = 0; index < 3; ++index) {
    const std::string_view entry = text.substr(0, text.find(':'));
    const std::optional<double> number = parseNumber(entry);
    const bool isLast = entry.size() == text.size();
    if (!number || *number < 0 || isLast != (index == 2))
      return std::nullopt;
    numbers[index] = *number;
    if (!isLast)
      text.remove_prefix(entry.size() + 1);
  }
  if (numbers[0] == 0 || numbers[1] == 0)
    return std::nullopt;
  return Rates{numbers[0], numbers[1], numbers[2]};
}

//===- NarrowBars.cpp - many bars in little text --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "NarrowBars.h"
#include "pp/Schedule/Looks.h"
#include "pp/Schedule/Svg.h"

#include <algorithm>
#include <cmath>

using namespace pp::schedule;

void Strokes::add(const std::string &fill, double x, double y, double width) {
  paths[fill] += "M" + svg::coordinate(x) + " " + svg::coordinate(y) + "h" +
                 svg::coordinate(width);
}

std::string Strokes::draw(double height) const {
  std::string text;
  for (const auto &[fill, path] : paths)
    text += "<path stroke=\"" + fill + "\" stroke-width=\"" +
            svg::coordinate(height) + "\" d=\"" + path + "\"/>\n";
  return text;
}

void Columns::add(const std::string &fill, double begin, double end) {
  for (size_t column = size_t(begin); double(column) < end; ++column) {
    if (column >= columns.size())
      columns.resize(column + 1);
    columns[column][fill] +=
        std::min(end, double(column + 1)) - std::max(begin, double(column));
  }
}

void Columns::draw(double left, double y, Strokes &strokes) const {
  for (size_t i = 0; i < columns.size();) {
    const std::string fill = mixtureOf(columns[i]);
    size_t end = i + 1;
    while (end < columns.size() && mixtureOf(columns[end]) == fill)
      ++end;
    if (!columns[i].empty())
      strokes.add(fill, left + double(i), y, double(end - i));
    i = end;
  }
}

/// Shares are rounded, so that neighbours are often equal.
std::string Columns::mixtureOf(const Column &column) {
  std::string mixture = idleFill;
  double sum = 1;
  for (const auto &[fill, share] : column)
    sum -= share;
  sum = std::max(0.0, sum);
  for (const auto &[fill, share] : column) {
    sum += share;
    mixture = mix(mixture, fill, std::round(8 * share / sum) / 8);
  }
  return mixture;
}

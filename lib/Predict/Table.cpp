//===- Table.cpp - tables for people --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/Table.h"

#include <algorithm>
#include <cstdio>

using namespace pp::predict;

std::string Table::print() const {
  std::vector<size_t> widths(rows.front().size());
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += i == 0 ? "" : "  ";
      line += i < leftColumns ? row[i] + blanks : blanks + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string pp::predict::printSeconds(double seconds) {
  const char *unit = "s";
  if (seconds < 1e-3) {
    seconds *= 1e6;
    unit = "us";
  } else if (seconds < 1) {
    seconds *= 1e3;
    unit = "ms";
  }
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 1000 ? "%.3g %s" : "%.0f %s",
                seconds, unit);
  return text;
}

std::string pp::predict::printRanks(std::vector<uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (text.empty() ? "" : " ") + std::to_string(ranks[i]);
    if (last > i)
      text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string pp::predict::printCount(double value, const char *space) {
  const char *unit = "";
  for (const char *next : {"k", "M", "G", "T"}) {
    if (value < 999.5)
      break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g%s%s", value, space, unit);
  return text;
}

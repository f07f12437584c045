//===- PlanText.cpp - the keys of a plan as text --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/PlanText.h"

std::map<std::string, std::string>
pp::predict::keysOfPlan(const std::string &plan) {
  std::map<std::string, std::string> keys;
  const size_t begin = plan.find('<');
  std::string word;
  int depth = 0;
  bool isQuoted = false;
  for (size_t i = begin; i < plan.size(); ++i) {
    const char c = plan[i];
    isQuoted ^= c == '"';
    if (isQuoted) {
      word += c;
      continue;
    }
    depth += c == '<' || c == '[' ? 1 : c == '>' || c == ']' ? -1 : 0;
    const bool ends = depth == 0 || (depth == 1 && c == ',');
    if (!ends && i > begin && (c != ' ' || !word.empty()))
      word += c;
    if (const size_t equals = word.find(" = "); ends && equals != word.npos)
      keys[word.substr(0, equals)] = word.substr(equals + 3);
    if (ends)
      word.clear();
  }
  return keys;
}

/// MLIR writes other than printable ASCII as `\C3`, and `\` as `\\`.
static std::string unescape(const std::string &text) {
  const auto digitOf = [&](size_t at) {
    const char c = at < text.size() ? text[at] : ' ';
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = digitOf(i + 1), low = digitOf(i + 2);
    if (text[i] != '\\') {
      result += text[i];
    } else if (high >= 0 && low >= 0) {
      result += char(16 * high + low);
      i += 2;
    } else if (i + 1 < text.size()) {
      result += text[++i];
    }
  }
  return result;
}

std::string pp::predict::quotedInPlan(const std::string &plan,
                                      const std::string &key) {
  const std::map<std::string, std::string> keys = keysOfPlan(plan);
  const auto found = keys.find(key);
  if (found == keys.end() || found->second.size() < 2 ||
      found->second.front() != '"')
    return "";
  return unescape(found->second.substr(1, found->second.size() - 2));
}

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

std::string pp::predict::quotedInPlan(const std::string &plan,
                                      const std::string &key) {
  const std::map<std::string, std::string> keys = keysOfPlan(plan);
  const auto found = keys.find(key);
  if (found == keys.end() || found->second.size() < 2 ||
      found->second.front() != '"')
    return "";
  return found->second.substr(1, found->second.size() - 2);
}

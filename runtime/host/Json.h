//===- Json.h - JSON without exceptions -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library's exceptions are off: an error ends the process.
// So texts from outside go through these functions.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_JSON_H
#define PPRT_HOST_JSON_H

#define JSON_NOEXCEPTION
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace pprt::host {

/// Returns the text of `json`; on one line unless `indent` is given. Replaces
/// bytes that are not UTF-8, for which the library aborts by default.
template <typename Json>
std::string dumpJson(const Json &json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

/// Parses `text` as JSON in which no object has a key twice (a reader that
/// keeps the last one and a reader that keeps the first would see different
/// files) and nothing is nested deeper than the format needs (so that recursion
/// over the result is bounded). Returns a discarded value on failure.
template <typename Json>
Json parseStrictly(const std::string &text, int maxDepth) {
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> keys;
  bool isStrict = true;
  Json json = Json::parse(
      text,
      [&](int depth, Event event, Json &parsed) {
        if (event == Event::object_start)
          keys.emplace_back();
        else if (event == Event::object_end)
          keys.pop_back();
        else if (event == Event::key)
          isStrict &=
              keys.back().insert(parsed.template get<std::string>()).second;
        isStrict &= depth <= maxDepth;
        return isStrict;
      },
      /*allow_exceptions=*/false);
  return isStrict ? json : Json(Json::value_t::discarded);
}

} // namespace pprt::host

#endif // PPRT_HOST_JSON_H

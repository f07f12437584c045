//===- Json.h - JSON without exceptions -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library's exceptions are off: an error ends the process.
// So texts from outside go through this function.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_JSON_H
#define PPRT_HOST_JSON_H

#define JSON_NOEXCEPTION
#include <nlohmann/json.hpp>
#include <string>

namespace pprt::host {

/// Returns the text of `json`; on one line unless `indent` is given. Replaces
/// bytes that are not UTF-8, for which the library aborts by default.
template <typename Json>
std::string dumpJson(const Json &json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

} // namespace pprt::host

#endif // PPRT_HOST_JSON_H

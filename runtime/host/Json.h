//===- Json.h - JSON without exceptions -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library's exceptions are off, as everywhere: what would throw ends the
// process. So texts of other people's making go through here.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_JSON_H
#define PPRT_HOST_JSON_H

#include <nlohmann/json.hpp>
#include <string>

namespace pprt::host {

/// The text of `json`; on one line unless `indent` is given. Bytes that are no
/// UTF-8 are replaced, where the library's default is to abort.
template <typename Json>
std::string dumpJson(const Json &json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

} // namespace pprt::host

#endif // PPRT_HOST_JSON_H

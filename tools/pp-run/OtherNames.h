//===- OtherNames.h - names that other tools give to options ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What users of other trainers would type, and what it is called here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_OTHERNAMES_H
#define PP_RUN_OTHERNAMES_H

#include <string>
#include <string_view>

namespace pp::run {

/// What to write in place of `--name`, in words; empty: unknown. Underscores
/// count as dashes.
std::string findOtherName(std::string_view name);

} // namespace pp::run

#endif // PP_RUN_OTHERNAMES_H

//===- OptionTable.h - the options of pp-run --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An option is one entry: its name, its help and its reader. What several
// options forbid each other is in Options.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_OPTIONTABLE_H
#define PP_RUN_OPTIONTABLE_H

#include "Options.h"

#include <string_view>
#include <vector>

namespace pp::run {

/// Sets a field; returns what was expected, or null if `value` is valid.
using Reader = const char *(*)(std::string_view value, Options &options);

struct Option {
  std::string_view name;
  /// The text after `=`; empty for a switch. In brackets it may be left out.
  std::string_view value;
  bool mayLackValue() const {
    return !value.empty() && value.front() == '[' && value.back() == ']';
  }
  std::string_view help;
  Reader read;
  /// An option that this one requires.
  unsigned needs = 0;
};

inline constexpr unsigned needsRun = 1;      ///< --dry-run runs nothing
inline constexpr unsigned needsValues = 2;   ///< --device=null has none
inline constexpr unsigned needsCompiler = 4; ///< a build may lack it

/// All options, in the order of the help.
const std::vector<Option> &optionTable();

} // namespace pp::run

#endif // PP_RUN_OPTIONTABLE_H

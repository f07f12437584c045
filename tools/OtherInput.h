//===- OtherInput.h - recognizes files that are not modules -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The parser of MLIR complains of the first character that it cannot read. Of
// what was never meant to be a module that says nothing, so it is told apart
// before.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_OTHERINPUT_H
#define PP_TOOLS_OTHERINPUT_H

#include <string>
#include <string_view>

namespace pp {

/// A message for a file that is not a module: its kind, and what a module looks
/// like. Empty if it begins like a module, as text or bytecode; then the parser
/// decides.
std::string findOtherInput(std::string_view content);

} // namespace pp

#endif // PP_TOOLS_OTHERINPUT_H

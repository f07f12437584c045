//===- OtherInput.h - recognizes files that are not modules -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For a file that was never a module, MLIR's parser only complains about the
// first character. So it is recognized before.
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

/// Whether it is a module with ops of StableHLO, as text or bytecode.
bool isStableHLO(std::string_view content);

} // namespace pp

#endif // PP_TOOLS_OTHERINPUT_H

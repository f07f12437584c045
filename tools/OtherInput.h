//===- OtherInput.h - files that are no module ------------------*- C++ -*-===//
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

/// What a file of this content is instead of a module, in a message that says
/// what one looks like. Empty if the parser is to judge: it begins as modules
/// do, as text or as bytecode.
std::string findOtherInput(std::string_view content);

} // namespace pp

#endif // PP_TOOLS_OTHERINPUT_H

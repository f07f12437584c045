//===- Version.h - the text of --version ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by all tools and by the artifacts that they write.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_VERSION_H
#define PP_IR_VERSION_H

#include <string>

namespace pp {

/// One line: the versions of pp and of LLVM, on which machine code and the text
/// of modules depend.
///
///   pp 0.1.0 (LLVM 22.1.8)
std::string describeVersion();

} // namespace pp

#endif // PP_IR_VERSION_H

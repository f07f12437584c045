//===- Version.cpp - the text of --version --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// PP_VERSION is the project's version in CMakeLists.txt.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Version.h"
#include "llvm/Config/llvm-config.h"

std::string pp::describeVersion() {
  return "pp " PP_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

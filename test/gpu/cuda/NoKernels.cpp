//===- NoKernels.cpp - no code of kernels is understood -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In a build without an interpreter of PTX: every module is refused.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

std::unique_ptr<standin::Kernels> standin::parseKernels(const std::string &text,
                                                        std::string &error) {
  error = "there is no interpreter of PTX in this build";
  return nullptr;
}

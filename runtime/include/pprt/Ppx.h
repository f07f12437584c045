//===- Ppx.h - an artifact in memory ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What flatc makes of runtime/schema/ppx.fbs, and what a program works with:
// the head of a file and one of its images. So whoever checks, predicts or
// executes an artifact knows of one target.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PPX_H
#define PPRT_PPX_H

#include "pprt/ppx_generated.h"

#pragma GCC visibility push(default)
namespace pprt::ppx {

struct ArtifactT : HeadT, ImageT {
  std::string target;    ///< as compilers name it
  std::string processor; ///< what `object` needs
};

} // namespace pprt::ppx
#pragma GCC visibility pop

#endif // PPRT_PPX_H

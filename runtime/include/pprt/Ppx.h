//===- Ppx.h - an artifact in memory ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The types that flatc generates from runtime/schema/ppx.fbs, and the form that
// programs use: the head of a file and one of its images. Code that checks,
// predicts or executes an artifact thus knows one target.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PPX_H
#define PPRT_PPX_H

#include "pprt/ppx_generated.h"

#pragma GCC visibility push(default)
namespace pprt::ppx {

struct ArtifactT : HeadT, ImageT {
  std::string target;    ///< name that compilers use
  std::string processor; ///< processor that `object` needs
};

} // namespace pprt::ppx
#pragma GCC visibility pop

#endif // PPRT_PPX_H

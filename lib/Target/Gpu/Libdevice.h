//===- Libdevice.h - functions of mathematics for GPUs ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's libdevice, as the CUDA toolkit of the build had it. It may be
// distributed with programs (Attachment A of the CUDA Toolkit's licence).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_LIBDEVICE_H
#define PP_LIB_TARGET_GPU_LIBDEVICE_H

#include "llvm/ADT/StringRef.h"

namespace pp::gpu {

/// LLVM bitcode; empty if the build had no toolkit.
llvm::StringRef getLibdevice();

/// Which file of which version of CUDA it was, and the begin of its digest.
llvm::StringRef getLibdeviceOrigin();

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_LIBDEVICE_H

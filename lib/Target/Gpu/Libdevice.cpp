//===- Libdevice.cpp - functions of mathematics for GPUs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The file becomes a part of this one when it is assembled.
//
//===----------------------------------------------------------------------===//
#include "Ptx.h"

#ifdef PP_LIBDEVICE
asm(".section .rodata\n"
    ".balign 16\n"
    ".global pp_libdevice, pp_libdevice_end\n"
    "pp_libdevice: .incbin \"" PP_LIBDEVICE "\"\n"
    "pp_libdevice_end: .byte 0\n"
    ".previous\n");
extern "C" const char pp_libdevice[], pp_libdevice_end[];

llvm::StringRef pp::gpu::getLibdevice() {
  return llvm::StringRef(pp_libdevice, pp_libdevice_end - pp_libdevice);
}
llvm::StringRef pp::gpu::getLibdeviceOrigin() { return PP_LIBDEVICE_ORIGIN; }
#else
llvm::StringRef pp::gpu::getLibdevice() { return {}; }
llvm::StringRef pp::gpu::getLibdeviceOrigin() { return {}; }
#endif

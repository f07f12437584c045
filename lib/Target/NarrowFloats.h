//===- NarrowFloats.h - floats of 16 bits on any processor ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_NARROWFLOATS_H
#define PP_LIB_TARGET_NARROWFLOATS_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace pp {

/// Keeps bf16 and f16 as bits. For a value of such a type, even one that only
/// lives from one block to another, a processor that lacks it would need
/// library functions. Conversions of bf16 are integer arithmetic by now; those
/// of f16 become so if the processor has none.
void keepNarrowFloatsAsBits(llvm::Module &module,
                            const llvm::TargetMachine &machine);

} // namespace pp

#endif // PP_LIB_TARGET_NARROWFLOATS_H

//===- Arithmetic.h - what PTX computes of scalars --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Registers hold 64 bits; of those an instruction's type says how many count.
// The PTX ISA's manual, version 8.8, defines each.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_ARITHMETIC_H
#define PP_TEST_GPU_PTX_ARITHMETIC_H

#include "Program.h"

namespace ptx {

/// Of one lane, in and out by addc, subc and madc.
struct Carry {
  uint64_t flag = 0;
};

/// The result of an instruction that computes a value of up to three others;
/// false if it is none of these. `errors` draws how far approximations are off.
bool compute(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c,
             Carry &carry, uint64_t errors, uint64_t &result);
bool compare(const Instruction &instruction, uint64_t a, uint64_t b);
uint64_t convert(const Instruction &instruction, uint64_t value);
/// To two numbers of 16 bits from two, the first of them on top.
uint64_t convertPair(const Instruction &instruction, uint64_t high,
                     uint64_t low);
/// The bits that count, sign-extended where the type is signed.
uint64_t extend(Type type, uint64_t bits);

} // namespace ptx

#endif // PP_TEST_GPU_PTX_ARITHMETIC_H

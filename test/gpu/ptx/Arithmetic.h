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

/// What approximate instructions return is within the error that is documented,
/// and anywhere within: which depends on the input and this.
struct Approximation {
  uint64_t seed;
};

/// Of one lane, in and out by addc, subc and madc.
struct Carry {
  uint64_t flag = 0;
};

/// The result of an instruction that computes a value of up to three others;
/// false if it is none of these.
bool compute(const Instruction &instruction, uint64_t a, uint64_t b, uint64_t c,
             Carry &carry, const Approximation &approximation,
             uint64_t &result);
bool compare(const Instruction &instruction, uint64_t a, uint64_t b);
uint64_t convert(const Instruction &instruction, uint64_t value);
/// To two numbers of 16 bits from two, the first of them on top.
uint64_t convertPair(const Instruction &instruction, uint64_t high,
                     uint64_t low);
uint64_t approximate(const Instruction &instruction, uint64_t a,
                     const Approximation &approximation);

float toFloat(uint64_t bits);
double toDouble(uint64_t bits);
uint64_t fromFloat(float value);
uint64_t fromDouble(double value);
/// Of bf16; to the nearest one.
double fromSmall(uint64_t bits);
uint16_t toSmall(double value);
/// The bits that count, sign-extended where the type is signed.
uint64_t extend(Type type, uint64_t bits);

} // namespace ptx

#endif // PP_TEST_GPU_PTX_ARITHMETIC_H

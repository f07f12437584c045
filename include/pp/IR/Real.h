//===- Real.h - a double as an attribute parameter --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Attributes are uniqued by hash and equality; plain doubles have no hash in
// LLVM. A Real compares by value (NaN never occurs: the verifiers refuse it).
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_REAL_H
#define PP_IR_REAL_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"

namespace pp {

struct Real {
  double value = 0.0;
  Real(double value = 0.0) : value(value) {}
  operator double() const { return value; }
  friend bool operator==(Real a, Real b) { return a.value == b.value; }
  friend llvm::hash_code hash_value(Real real) {
    return llvm::hash_value(llvm::bit_cast<uint64_t>(real.value + 0.0));
  }
};

} // namespace pp

#endif // PP_IR_REAL_H

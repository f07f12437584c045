//===- Dimensions.h - attributes that speak of dimensions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What an op that is made again on tensors with fewer or smaller dimensions has
// to change in its attributes: DimensionOpInterface lists them op by op.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_DIMENSIONS_H
#define PP_IR_DIMENSIONS_H

#include "llvm/ADT/StringRef.h"

namespace pp {

/// An attribute of an op, an i64 or an array of i64, that speaks of the
/// dimensions of one operand or of the result.
struct DimensionAttr {
  enum Kind {
    Names,        ///< it names dimensions, or counts the leading ones
    PerDimension, ///< an entry for each dimension
    Ends,         ///< an entry for each: where it ends
  };
  static constexpr int kResult = -1;

  llvm::StringLiteral name;
  Kind kind;
  int tensor; ///< the operand's index, or kResult
};

} // namespace pp

#endif // PP_IR_DIMENSIONS_H

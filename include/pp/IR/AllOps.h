//===- AllOps.h - visits all ops --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Visits all ops of the dialect, so that a file that attaches an aspect needs
// no list of ops.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_ALLOPS_H
#define PP_IR_ALLOPS_H

#include "pp/IR/PP.h"

namespace pp {

template <typename OpTy> struct OpTag {
  using Type = OpTy;
};

template <typename... OpTys> struct OpList {
  template <typename Visitor> static void visit(Visitor visitor) {
    (visitor(OpTag<OpTys>()), ...);
  }
};

/// Calls `visitor(OpTag<OpTy>())` for every op of the dialect.
template <typename Visitor> void visitAllOps(Visitor visitor) {
  OpList<
#define GET_OP_LIST
#include "pp/IR/PPOps.cpp.inc"
      >::visit(visitor);
}

} // namespace pp

#endif // PP_IR_ALLOPS_H

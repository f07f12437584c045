//===- AllOps.h - one aspect for many ops -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Goes over the dialect's ops, so that a file that attaches an aspect needs no
// list of those that a trait tells.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_ALLOPS_H
#define PP_IR_ALLOPS_H

#include "pp/IR/PP.h"

namespace pp {

template <typename OpTy> struct OpTag {
  using Type = OpTy;
};

/// Calls `visit(OpTag<OpTy>())` for every op of the list.
template <typename... OpTys, typename Visitor> void visitOps(Visitor visit) {
  (visit(OpTag<OpTys>()), ...);
}

/// The same for every op of the dialect. An aspect that an op has already is
/// not attached to it again.
template <typename Visitor> void visitAllOps(Visitor visit) {
  visitOps<
#define GET_OP_LIST
#include "pp/IR/PPOps.cpp.inc"
      >(visit);
}

} // namespace pp

#endif // PP_IR_ALLOPS_H

//===- Edit.h - one change to a module --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a user does to a module in an editor, drawn at random: an attribute is
// removed, changed or exchanged, an operand or a type becomes another, an op is
// moved, removed or repeated, a word of the text is replaced. The result may be
// a module, or none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_EDITS_EDIT_H
#define PP_TEST_EDITS_EDIT_H

#include "mlir/IR/BuiltinOps.h"
#include <random>
#include <string>

namespace pp::testing {

/// The text of `module` after one edit; `what` says which.
std::string drawEdit(mlir::ModuleOp module, std::mt19937 &random,
                     std::string &what);

/// `attribute` with one part changed; null if it shall be removed.
mlir::Attribute editAttribute(mlir::Attribute attribute, mlir::ModuleOp module,
                              std::mt19937 &random);

/// `type` with one part changed.
mlir::Type editType(mlir::Type type, mlir::ModuleOp module,
                    std::mt19937 &random);

/// `text` with one word of it changed.
std::string editText(const std::string &text, std::mt19937 &random,
                     std::string &what);

} // namespace pp::testing

#endif // PP_TEST_EDITS_EDIT_H

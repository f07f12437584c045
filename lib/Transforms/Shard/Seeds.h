//===- Seeds.h - which seed a plan has for an argument ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_SEEDS_H
#define PP_LIB_TRANSFORMS_SHARD_SEEDS_H

#include "pp/IR/PP.h"

namespace pp {

/// True if `name` is `pattern` with every `*` replaced by some text.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// Priority of the axes on one dimension of the argument `name`: that of the
/// seed which put them there, 0 for what the user wrote on the argument.
int64_t getSeedPriority(PlanAttr plan, llvm::StringRef name, unsigned dim);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_SEEDS_H

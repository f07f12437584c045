//===- FoldedRemarks.h - joins equal remarks --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A model of many layers, with a backward pass, repeats findings. Remarks that
// differ only in the place, and perhaps in one detail, are one remark, at the
// first place, with their number (`times`) if there are several.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_FOLDEDREMARKS_H
#define PP_LIB_TRANSFORMS_SHARD_FOLDEDREMARKS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

class FoldedRemarks {
public:
  using Metric = std::pair<llvm::StringRef, std::string>;

  /// For remarks of `category`.
  explicit FoldedRemarks(llvm::StringRef category) : category(category) {}

  /// Enters a missed remark `name`. The values of `detail` of equal remarks are
  /// listed, each once.
  void add(mlir::Location at, llvm::StringRef name,
           llvm::ArrayRef<Metric> metrics, Metric detail = {});

  /// Makes the remarks, those that were entered first before the others.
  void emit() const;

private:
  struct Remark {
    mlir::Location at;
    llvm::StringRef name;
    llvm::SmallVector<Metric> metrics;
    llvm::StringRef detail; ///< its key; empty if there is none
    llvm::SmallVector<std::string, 2> details;
    int64_t times = 0;
  };

  llvm::StringRef category;
  std::vector<Remark> remarks;
  llvm::StringMap<size_t> numbers; ///< of remarks, by all that they share
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_FOLDEDREMARKS_H

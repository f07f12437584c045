//===- Experts.h - a mixture of experts in a block --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The mixture of experts, which replaces a transformer block's feed-forward
// part in `moe`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_MODELS_EXPERTS_H
#define PP_LIB_MODELS_EXPERTS_H

#include "GraphBuilder.h"
#include "pp/Models/Models.h"

namespace pp {

/// The experts of all blocks that have them, in a model of one configuration.
class Experts {
public:
  Experts(GraphBuilder &graph, const MoeConfig &config);

  /// Adds those of the block called `prefix`, on x: [batch, seq, hidden].
  mlir::Value add(mlir::Value x, const std::string &prefix);

  /// Adds the metrics, once all blocks are there; `loss` with the weighted
  /// auxiliary losses.
  mlir::Value finish(mlir::Value loss);

private:
  /// The tokens that chose an expert as their n-th, [batch, seq] each.
  struct Choice {
    mlir::Value expert, gate;
    mlir::Value isPlaced;
    /// The place among all places of all experts; one behind the last of them
    /// if the token has none.
    mlir::Value place;
  };

  llvm::SmallVector<Choice> route(mlir::Value x, const std::string &prefix);
  /// [batch, seq, experts]: 1 where the token chose the expert.
  mlir::Value oneHot(mlir::Value expert);
  void addAuxiliaryLoss(mlir::Value probabilities, mlir::Value firstChoices);
  mlir::Value dispatch(mlir::Value x, llvm::ArrayRef<Choice> choices);
  mlir::Value apply(mlir::Value x, const std::string &prefix);
  mlir::Value combine(mlir::Value x, llvm::ArrayRef<Choice> choices);

  GraphBuilder &graph;
  const MoeConfig &config;
  mlir::Type routing; ///< in which probabilities are computed
  int64_t capacity;
  /// Over all blocks so far: of auxiliary losses, and of choices dropped.
  mlir::Value auxiliary, dropped;
  int64_t numBlocks = 0;
};

} // namespace pp

#endif // PP_LIB_MODELS_EXPERTS_H

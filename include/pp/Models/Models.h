//===- Models.h - builders of the example models ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each builder returns a level 1 module with one function `main`. They are also
// the example of how a compiler that embeds pp writes a graph.
//
//===----------------------------------------------------------------------===//
#ifndef PP_MODELS_MODELS_H
#define PP_MODELS_MODELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pp {

/// Pre-norm GPT-2: learned positions, tanh GELU, biases. Parameter names and
/// checkpoint shapes are those of Hugging Face GPT-2.
struct GptConfig {
  int64_t layers = 4;
  int64_t hidden = 256;
  int64_t heads = 8; ///< divides `hidden`
  int64_t seq = 128;
  int64_t batch = 16;
  int64_t vocab = 256;
  bool tied = true; ///< the output projection is the token embedding
  /// Dropout rate of embeddings, attention probabilities and the output of each
  /// block; below 1.
  double dropout = 0;
  /// Divides `heads`: each key-value head serves as many queries (grouped-query
  /// attention, Ainslie et al. 2023). 0: equal to `heads`.
  int64_t keyValueHeads = 0;
};

/// GPT with experts in place of some feed-forward parts.
struct MoeConfig : GptConfig {
  int64_t experts = 8;
  int64_t topK = 2;  ///< experts of a token
  int64_t every = 2; ///< the last of so many blocks has experts
  /// Places of an expert in a sequence, relative to an even distribution of
  /// tokens; tokens beyond are dropped.
  double capacityFactor = 1.25;
  /// Weight of the auxiliary loss, which balances the load of experts.
  double auxWeight = 0.01;
};

/// tanh layers and a softmax classifier.
struct MlpConfig {
  int64_t layers = 3; ///< linear layers, the last one yields the logits
  int64_t input = 32;
  int64_t hidden = 64;
  int64_t classes = 10;
  int64_t batch = 16;
};

/// A residual network on square images, with torchvision's names and shapes.
struct ResNetConfig {
  int64_t depth = 18; ///< 18, 34 or 50
  bool batchNorm = true;
  int64_t image = 32;
  int64_t classes = 10;
  int64_t batch = 32;
  int64_t width = 64;  ///< channels of the first layers
  int64_t groups = 32; ///< of group norm; they divide `width`
};

/// Classifies every pixel of an image.
struct UNetConfig {
  int64_t depth = 3; ///< how often the image is halved
  int64_t image = 64;
  int64_t channels = 3;
  int64_t classes = 4;
  int64_t batch = 8;
  int64_t width = 32; ///< channels at full resolution
  int64_t groups = 8; ///< they divide `width`
};

/// Inputs `tokens` and `labels`, i32 [batch, seq]; the loss is the mean cross
/// entropy over all tokens. `element` is the type of every parameter. An
/// impossible configuration is reported at the context.
mlir::OwningOpRef<mlir::ModuleOp> buildGpt(mlir::MLIRContext &context,
                                           const GptConfig &config,
                                           mlir::Type element);

/// The same; the auxiliary loss is added to the loss. Metrics `aux_loss`,
/// summed over blocks, before its weight, and `dropped`, the share of choices
/// without a place.
mlir::OwningOpRef<mlir::ModuleOp> buildMoe(mlir::MLIRContext &context,
                                           const MoeConfig &config,
                                           mlir::Type element);

/// Inputs `x`, [batch, input], and `labels`, i32 [batch]; the loss is the mean
/// cross entropy over samples.
mlir::OwningOpRef<mlir::ModuleOp> buildMlp(mlir::MLIRContext &context,
                                           const MlpConfig &config,
                                           mlir::Type element);

/// Inputs `images`, [batch, image, image, 3], and `labels`, i32 [batch]; the
/// loss is the mean cross entropy over images. Running statistics of batch norm
/// are states.
mlir::OwningOpRef<mlir::ModuleOp> buildResNet(mlir::MLIRContext &context,
                                              const ResNetConfig &config,
                                              mlir::Type element);

/// Inputs `images`, [batch, image, image, channels], and `labels`, i32 [batch,
/// image, image]; the loss is the mean cross entropy over pixels.
mlir::OwningOpRef<mlir::ModuleOp> buildUNet(mlir::MLIRContext &context,
                                            const UNetConfig &config,
                                            mlir::Type element);

} // namespace pp

#endif // PP_MODELS_MODELS_H

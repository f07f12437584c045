//===- ImageLayers.h - layers of networks on images -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Images are [batch, height, width, channels], so that a convolution's products
// read rows of channels. Kernels are [height, width, in, out] for the same
// reason, and [out, in, height, width] in checkpoints, as PyTorch has them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_MODELS_IMAGELAYERS_H
#define PP_LIB_MODELS_IMAGELAYERS_H

#include "GraphBuilder.h"

namespace pp {

/// Square windows: as high as wide, and padded alike on all sides.
struct SquareWindow {
  int64_t size = 1, stride = 1, padding = 0;
};

enum class ImageNorm { Batch, Group };

class ImageLayers {
public:
  ImageLayers(GraphBuilder &graph, ImageNorm norm, int64_t groups,
              mlir::Type element)
      : graph(graph), norm(norm), groups(groups), element(element) {}

  mlir::Value convolution(mlir::Value x, const std::string &name,
                          int64_t channels, SquareWindow window);
  mlir::Value normalize(mlir::Value x, const std::string &name);
  mlir::Value relu(mlir::Value x);
  mlir::Value maxPool(mlir::Value x, SquareWindow window);
  /// Every pixel becomes `factor` times `factor`.
  mlir::Value upsample(mlir::Value x, int64_t factor);
  /// x weight^T + bias, as PyTorch stores linear layers.
  mlir::Value linear(mlir::Value x, const std::string &name, int64_t outputs);

private:
  mlir::Value batchNorm(mlir::Value x, const std::string &name,
                        mlir::Value weight, mlir::Value bias);
  mlir::Value groupNorm(mlir::Value x, mlir::Value weight, mlir::Value bias);

  GraphBuilder &graph;
  ImageNorm norm;
  int64_t groups;
  mlir::Type element;
};

} // namespace pp

#endif // PP_LIB_MODELS_IMAGELAYERS_H

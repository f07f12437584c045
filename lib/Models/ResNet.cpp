//===- ResNet.cpp - residual networks -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// He et al., "Deep Residual Learning for Image Recognition" (2015), with the
// names, shapes and initial values of torchvision: strides in the 3x3
// convolution of a bottleneck, projections where shapes change.
//
//===----------------------------------------------------------------------===//
#include "ImageLayers.h"
#include "mlir/IR/Diagnostics.h"
#include "pp/Models/Models.h"

using namespace mlir;
using namespace pp;

namespace {

struct ResNet {
  GraphBuilder &graph;
  ImageLayers layers;

  Value basicBlock(Value x, const std::string &name, int64_t width,
                   int64_t stride);
  Value bottleneck(Value x, const std::string &name, int64_t width,
                   int64_t stride);
  /// `x` in the shape of the other addend.
  Value shortcut(Value x, const std::string &name, int64_t channels,
                 int64_t stride);
  Value convNorm(Value x, const std::string &prefix, int64_t number,
                 int64_t channels, SquareWindow window) {
    const std::string which = std::to_string(number);
    return layers.normalize(
        layers.convolution(x, prefix + ".conv" + which, channels, window),
        prefix + ".bn" + which);
  }
};

Value ResNet::shortcut(Value x, const std::string &name, int64_t channels,
                       int64_t stride) {
  if (stride == 1 && graph.shapeOf(x).back() == channels)
    return x;
  const std::string prefix = name + ".downsample.";
  return layers.normalize(
      layers.convolution(x, prefix + "0", channels, {1, stride, 0}),
      prefix + "1");
}

Value ResNet::basicBlock(Value x, const std::string &name, int64_t width,
                         int64_t stride) {
  Value y = layers.relu(convNorm(x, name, 1, width, {3, stride, 1}));
  y = convNorm(y, name, 2, width, {3, 1, 1});
  return layers.relu(graph.binary<AddOp>(y, shortcut(x, name, width, stride)));
}

Value ResNet::bottleneck(Value x, const std::string &name, int64_t width,
                         int64_t stride) {
  Value y = layers.relu(convNorm(x, name, 1, width, {1, 1, 0}));
  y = layers.relu(convNorm(y, name, 2, width, {3, stride, 1}));
  y = convNorm(y, name, 3, 4 * width, {1, 1, 0});
  return layers.relu(
      graph.binary<AddOp>(y, shortcut(x, name, 4 * width, stride)));
}

} // namespace

static LogicalResult verifyConfig(MLIRContext &context,
                                  const ResNetConfig &config) {
  if (failed(verifySizes(context, "resnet",
                         {{"image", config.image},
                          {"classes", config.classes},
                          {"batch", config.batch},
                          {"width", config.width},
                          {"groups", config.groups}})))
    return failure();
  if (!llvm::is_contained({18, 34, 50}, config.depth))
    return refuseConfig(context, "resnet")
           << "depth 18, 34 or 50, got " << config.depth;
  if (config.batchNorm)
    return success();
  return verifyDivides(context, "resnet", {"groups", config.groups},
                       {"width", config.width});
}

OwningOpRef<ModuleOp> pp::buildResNet(MLIRContext &context,
                                      const ResNetConfig &config,
                                      Type element) {
  if (failed(verifyConfig(context, config)))
    return {};
  const bool isDeep = config.depth == 50;
  SmallVector<int64_t> blocks{3, 4, 6, 3};
  if (config.depth == 18)
    blocks = {2, 2, 2, 2};
  GraphBuilder graph(context, element);
  ResNet net{graph,
             ImageLayers(graph,
                         config.batchNorm ? ImageNorm::Batch : ImageNorm::Group,
                         config.groups, element)};
  Value x = graph.input("images", {config.batch, config.image, config.image, 3},
                        Role::Input, element, /*bound=*/0,
                        {"batch", "height", "width", "channel"});
  Value labels =
      graph.input("labels", {config.batch}, Role::Label,
                  IntegerType::get(&context, 32), config.classes, {"batch"});
  x = net.layers.convolution(x, "conv1", config.width, {7, 2, 3});
  x = net.layers.relu(net.layers.normalize(x, "bn1"));
  x = net.layers.maxPool(x, {3, 2, 1});
  for (auto [stage, count] : llvm::enumerate(blocks))
    for (int64_t block = 0; block < count; ++block) {
      const std::string name =
          "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const int64_t width = config.width << stage,
                    stride = stage > 0 && block == 0 ? 2 : 1;
      x = isDeep ? net.bottleneck(x, name, width, stride)
                 : net.basicBlock(x, name, width, stride);
    }
  graph.enter("avgpool");
  ArrayRef<int64_t> shape = graph.shapeOf(x);
  const double pixels = double(shape[1] * shape[2]);
  x = graph.scale(graph.reduce(Reduction::Sum, x, {1, 2}), 1.0 / pixels);
  Value logits = net.layers.linear(x, "fc", config.classes);
  graph.name(logits, "logits", {"batch", ""});
  graph.enter("loss");
  return graph.finish(graph.meanCrossEntropy(logits, labels));
}

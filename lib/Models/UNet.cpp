//===- UNet.cpp - an encoder, a decoder, and what skips between -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ronneberger et al., "U-Net" (2015), with padded convolutions, group norm, and
// nearest neighbours instead of transposed convolutions. It gives every pixel a
// class.
//
//===----------------------------------------------------------------------===//
#include "ImageLayers.h"
#include "mlir/IR/Diagnostics.h"
#include "pp/Models/Models.h"

using namespace mlir;
using namespace pp;

static LogicalResult verifyConfig(MLIRContext &context,
                                  const UNetConfig &config) {
  if (failed(verifySizes(context, "unet",
                         {{"depth", config.depth, 16},
                          {"image", config.image},
                          {"channels", config.channels},
                          {"classes", config.classes},
                          {"batch", config.batch},
                          {"width", config.width},
                          {"groups", config.groups}})) ||
      failed(verifyDivides(context, "unet", {"groups", config.groups},
                           {"width", config.width})))
    return failure();
  if (config.image % (int64_t(1) << config.depth) == 0)
    return success();
  return refuseConfig(context, "unet")
         << "an image that can be halved depth times, got image "
         << config.image << " and depth " << config.depth;
}

OwningOpRef<ModuleOp> pp::buildUNet(MLIRContext &context,
                                    const UNetConfig &config, Type element) {
  if (failed(verifyConfig(context, config)))
    return {};
  GraphBuilder graph(context, element);
  ImageLayers layers(graph, ImageNorm::Group, config.groups, element);
  SmallVector<int64_t> pixels{config.batch, config.image, config.image};
  Value x = graph.input(
      "images", {config.batch, config.image, config.image, config.channels},
      Role::Input, element, /*bound=*/0,
      {"batch", "height", "width", "channel"});
  Value labels =
      graph.input("labels", pixels, Role::Label, IntegerType::get(&context, 32),
                  config.classes, {"batch", "height", "width"});
  // Two convolutions at one resolution.
  auto block = [&](Value from, const std::string &name, int64_t channels) {
    for (const char *which : {"1", "2"})
      from = layers.relu(layers.normalize(
          layers.convolution(from, name + ".conv" + which, channels, {3, 1, 1}),
          name + ".norm" + which));
    return from;
  };
  SmallVector<Value> skips;
  for (int64_t level = 0; level < config.depth; ++level) {
    skips.push_back(
        block(x, "encoder." + std::to_string(level), config.width << level));
    x = layers.maxPool(skips.back(), {2, 2, 0});
  }
  x = block(x, "bottom", config.width << config.depth);
  for (int64_t level = config.depth; level-- > 0;) {
    const std::string name = "decoder." + std::to_string(level);
    const int64_t channels = config.width << level;
    Value up = layers.convolution(layers.upsample(x, 2), name + ".up", channels,
                                  {3, 1, 1});
    x = block(graph.concatenate({skips[level], up}, 3), name, channels);
  }
  Value logits = layers.convolution(x, "head", config.classes, {1, 1, 0});
  graph.name(logits, "logits", {"batch", "", "", ""});
  graph.enter("loss");
  return graph.finish(graph.meanCrossEntropy(logits, labels));
}

//===- Mlp.cpp - a multilayer perceptron ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with tanh between them and the mean cross entropy of a softmax:
// the smallest example of how a frontend writes a model.
//
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"
#include "mlir/IR/Diagnostics.h"
#include "pp/Models/Models.h"
#include <cmath>

using namespace mlir;
using namespace pp;

OwningOpRef<ModuleOp> pp::buildMlp(MLIRContext &context,
                                   const MlpConfig &config, Type element) {
  if (failed(verifySizes(context, "mlp",
                         {{"layers", config.layers, kMaxLayers},
                          {"input", config.input},
                          {"hidden", config.hidden},
                          {"classes", config.classes},
                          {"batch", config.batch}})))
    return {};
  GraphBuilder graph(context, element);
  Value x =
      graph.input("x", {config.batch, config.input}, Role::Input, element);
  Value labels = graph.input("labels", {config.batch}, Role::Label,
                             IntegerType::get(&context, 32), config.classes);
  int64_t width = config.input;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    bool isLast = layer + 1 == config.layers;
    int64_t next = isLast ? config.classes : config.hidden;
    std::string name = "layers." + std::to_string(layer);
    graph.enter(name);
    Value weight =
        graph.param(name + ".weight", {width, next},
                    graph.normal(1.0 / std::sqrt(static_cast<double>(width))));
    Value bias = graph.param(name + ".bias", {next}, graph.zeros());
    x = graph.addTrailing(graph.dot(x, weight, {}, {}, {1}, {0}), bias);
    if (!isLast)
      x = graph.unary<TanhOp>(x);
    width = next;
  }
  graph.name(x, "logits", {"batch", ""});
  graph.enter("loss");
  return graph.finish(graph.meanCrossEntropy(x, labels));
}

//===- ImageLayers.cpp - layers of networks on images ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Norms are sums and elementwise ops: over a sharded batch they are
// synchronised as any sum is.
//
//===----------------------------------------------------------------------===//
#include "ImageLayers.h"
#include <cmath>

using namespace mlir;
using namespace pp;

static constexpr double kEpsilon = 1e-5;
/// Share of the new batch in running statistics.
static constexpr double kMomentum = 0.1;

static int64_t positions(int64_t size, SquareWindow window) {
  return (size + 2 * window.padding - window.size) / window.stride + 1;
}

Value ImageLayers::convolution(Value x, const std::string &name,
                               int64_t channels, SquareWindow window) {
  graph.enter(name);
  ArrayRef<int64_t> shape = graph.shapeOf(x);
  const int64_t size = window.size, inputs = shape[3];
  // He et al. (2015), by outputs, as in torchvision.
  Value weight = graph.orderedParam(
      name + ".weight", {size, size, inputs, channels},
      graph.normal(std::sqrt(2.0 / double(size * size * channels))),
      /*storedOrder=*/{3, 2, 0, 1});
  SmallVector<int64_t> strides(2, window.stride), padding(2, window.padding),
      ones(2, 1), none, image{1, 2}, kernel{0, 1};
  return graph.make<ConvolutionOp>(
      {shape[0], positions(shape[1], window), positions(shape[2], window),
       channels},
      element, x, weight, none, none, SmallVector<int64_t>{3},
      SmallVector<int64_t>{2}, image, kernel, image, strides, padding, padding,
      ones, ones, /*reverse=*/false);
}

Value ImageLayers::normalize(Value x, const std::string &name) {
  graph.enter(name);
  int64_t channels = graph.shapeOf(x).back();
  Value weight = graph.param(name + ".weight", {channels}, graph.constant(1.0));
  Value bias = graph.param(name + ".bias", {channels}, graph.zeros());
  return norm == ImageNorm::Batch ? batchNorm(x, name, weight, bias)
                                  : groupNorm(x, weight, bias);
}

/// While it trains, the batch's own mean and variance, of which the running
/// ones take note; in evaluation the running ones.
Value ImageLayers::batchNorm(Value x, const std::string &name, Value weight,
                             Value bias) {
  ArrayRef<int64_t> shape = graph.shapeOf(x);
  const double count = double(shape[0] * shape[1] * shape[2]);
  auto mean = [&](Value value) {
    return graph.scale(graph.reduce(Reduction::Sum, value, {0, 1, 2}),
                       1.0 / count);
  };
  auto running = [&](const char *what, InitAttr start) {
    return graph.state(name + what, {shape[3]}, element, start);
  };
  auto run = [&](const char *what, Value old, Value fresh) {
    graph.result(Role::State, name + what,
                 graph.binary<AddOp>(graph.scale(old, 1.0 - kMomentum),
                                     graph.scale(fresh, kMomentum)));
  };
  Value oldMean = running(".running_mean", graph.zeros()),
        oldVariance = running(".running_var", graph.constant(1.0));
  Value average = mean(x);
  Value centred = graph.binary<SubOp>(
      x, graph.broadcast(graph.ifTraining(average, oldMean), {3}, x));
  Value variance = mean(graph.binary<MulOp>(centred, centred));
  Value used = graph.ifTraining(variance, oldVariance);
  Value inverse = graph.unary<RsqrtOp>(
      graph.binary<AddOp>(used, graph.splat(kEpsilon, used)));
  Value scale = graph.binary<MulOp>(inverse, weight);

  run(".running_mean", oldMean, average);
  // An unbiased estimate, unlike the variance of this batch.
  run(".running_var", oldVariance,
      graph.scale(variance, count / std::max(1.0, count - 1)));
  const std::string counter = name + ".num_batches_tracked";
  Value old = graph.state(
      counter, {}, IntegerType::get(element.getContext(), 64), graph.zeros());
  graph.result(Role::State, counter,
               graph.binary<AddOp>(old, graph.splat(1.0, old)));

  return graph.addTrailing(
      graph.binary<MulOp>(centred, graph.broadcast(scale, {3}, x)), bias);
}

/// Images are summed up channel by channel before channels meet in groups: so
/// devices that have some channels each exchange a number for each, whether or
/// not they have whole groups.
Value ImageLayers::groupNorm(Value x, Value weight, Value bias) {
  ArrayRef<int64_t> shape = graph.shapeOf(x);
  const SmallVector<int64_t> ofChannels{shape[0], shape[3]},
      ofGroups{shape[0], groups, shape[3] / groups};
  const double count = double(shape[1] * shape[2] * ofGroups[2]);
  auto mean = [&](Value value) {
    Value sums =
        graph.reshape(graph.reduce(Reduction::Sum, value, {1, 2}), ofGroups);
    return graph.scale(graph.reduce(Reduction::Sum, sums, {2}), 1.0 / count);
  };
  auto perChannel = [&](Value value) {
    return graph.reshape(graph.make<BroadcastOp>(ofGroups, element, value,
                                                 SmallVector<int64_t>{0, 1}),
                         ofChannels);
  };
  Value average = perChannel(mean(x));
  Value centred = graph.binary<SubOp>(x, graph.broadcast(average, {0, 3}, x));
  Value variance = mean(graph.binary<MulOp>(centred, centred));
  Value inverse = perChannel(graph.unary<RsqrtOp>(
      graph.binary<AddOp>(variance, graph.splat(kEpsilon, variance))));
  Value scale =
      graph.binary<MulOp>(inverse, graph.broadcast(weight, {1}, inverse));
  return graph.addTrailing(
      graph.binary<MulOp>(centred, graph.broadcast(scale, {0, 3}, x)), bias);
}

/// Not max: at 0 that would share its gradient with the constant.
Value ImageLayers::relu(Value x) {
  Value zero = graph.splat(0.0, x);
  return graph.select(graph.compare(Direction::GT, x, zero), x, zero);
}

Value ImageLayers::maxPool(Value x, SquareWindow window) {
  ArrayRef<int64_t> shape = graph.shapeOf(x);
  SmallVector<int64_t> image{1, 2}, sizes(2, window.size),
      strides(2, window.stride), ones(2, 1), padding(2, window.padding);
  return graph.make<ReduceWindowOp>({shape[0], positions(shape[1], window),
                                     positions(shape[2], window), shape[3]},
                                    element, Reduction::Max, x, image, sizes,
                                    strides, ones, padding, padding);
}

Value ImageLayers::upsample(Value x, int64_t factor) {
  SmallVector<int64_t> shape(graph.shapeOf(x));
  SmallVector<int64_t> dims{0, 1, 3, 5};
  Value repeated = graph.make<BroadcastOp>(
      {shape[0], shape[1], factor, shape[2], factor, shape[3]}, element, x,
      dims);
  return graph.reshape(
      repeated, {shape[0], shape[1] * factor, shape[2] * factor, shape[3]});
}

Value ImageLayers::linear(Value x, const std::string &name, int64_t outputs) {
  graph.enter(name);
  const int64_t last = graph.shapeOf(x).size() - 1,
                inputs = graph.shapeOf(x)[last];
  const double bound = 1 / std::sqrt(double(inputs));
  const InitAttr init = graph.uniform(-bound, bound);
  Value weight = graph.param(name + ".weight", {outputs, inputs}, init);
  Value bias = graph.param(name + ".bias", {outputs}, init);
  return graph.addTrailing(graph.dot(x, weight, {}, {}, {last}, {1}), bias);
}

//===- convolutions.cpp - the floor: a step's convolutions alone ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: convolutions, one a line on stdin. Out: a table of oneDNN's times for
// each forward and for both gradients, then one line of JSON with the total
// time. Images, kernels and results have the layouts that the library prefers;
// reordering is not counted.
//
//===----------------------------------------------------------------------===//
#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

using dnnl::memory;

namespace {

struct Shape {
  int count; ///< in a step
  memory::dim batch, image, in, out, size, stride, padding;

  memory::dim positions() const {
    return (image + 2 * padding - size) / stride + 1;
  }
  double flops() const {
    return 2.0 * double(batch * positions() * positions()) *
           double(out * in * size * size);
  }
};

memory::desc any(memory::dims dims) {
  return {std::move(dims), memory::data_type::f32, memory::format_tag::any};
}

/// Returns the median milliseconds of many calls.
double timeOf(const dnnl::primitive &primitive,
              const std::vector<std::pair<int, memory::desc>> &operands,
              const dnnl::engine &engine) {
  std::unordered_map<int, memory> arguments;
  for (const auto &[index, desc] : operands)
    arguments.emplace(index, memory(desc, engine));
  dnnl::stream stream(engine);
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::milliseconds(200);
  while (Clock::now() < end || times.size() < 5) {
    const auto start = Clock::now();
    primitive.execute(stream, arguments);
    stream.wait();
    times.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start)
            .count());
  }
  const auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Returns the times of forward, gradient of the image, gradient of the kernel.
std::vector<double> timesOf(const Shape &s, const dnnl::engine &engine) {
  using dnnl::algorithm;
  const memory::desc image = any({s.batch, s.in, s.image, s.image}),
                     kernel = any({s.out, s.in, s.size, s.size}),
                     result =
                         any({s.batch, s.out, s.positions(), s.positions()});
  const memory::dims strides{s.stride, s.stride}, padding{s.padding, s.padding};
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm::convolution_auto, image,
       kernel, result, strides, padding, padding},
      engine);
  const dnnl::convolution_backward_data::primitive_desc byImage(
      {algorithm::convolution_auto, image, kernel, result, strides, padding,
       padding},
      engine, forward);
  const dnnl::convolution_backward_weights::primitive_desc byKernel(
      {algorithm::convolution_auto, image, kernel, result, strides, padding,
       padding},
      engine, forward);
  return {timeOf(dnnl::convolution_forward(forward),
                 {{DNNL_ARG_SRC, forward.src_desc()},
                  {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                  {DNNL_ARG_DST, forward.dst_desc()}},
                 engine),
          timeOf(dnnl::convolution_backward_data(byImage),
                 {{DNNL_ARG_DIFF_SRC, byImage.diff_src_desc()},
                  {DNNL_ARG_WEIGHTS, byImage.weights_desc()},
                  {DNNL_ARG_DIFF_DST, byImage.diff_dst_desc()}},
                 engine),
          timeOf(dnnl::convolution_backward_weights(byKernel),
                 {{DNNL_ARG_SRC, byKernel.src_desc()},
                  {DNNL_ARG_DIFF_WEIGHTS, byKernel.diff_weights_desc()},
                  {DNNL_ARG_DIFF_DST, byKernel.diff_dst_desc()}},
                 engine)};
}

} // namespace

int main() {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::printf("| convolution | times a step | forward ms | image ms | kernel "
              "ms |\n|---|---|---|---|---|\n");
  double total = 0, flops = 0;
  Shape s;
  int isFirst; // its image is an input, without a gradient
  while (std::scanf("%d %d %ld %ld %ld %ld %ld %ld %ld", &s.count, &isFirst,
                    &s.batch, &s.image, &s.in, &s.out, &s.size, &s.stride,
                    &s.padding) == 9) {
    std::vector<double> times = timesOf(s, engine);
    if (isFirst)
      times[1] = 0;
    std::printf("| %ldx%ldx%ldx%ld, %ldx%ld, %ld channels, stride %ld | %d | "
                "%.3f | %.3f | %.3f |\n",
                s.batch, s.image, s.image, s.in, s.size, s.size, s.out,
                s.stride, s.count, times[0], times[1], times[2]);
    for (double time : times) {
      total += s.count * time;
      flops += time > 0 ? s.count * s.flops() : 0;
    }
  }
  std::printf("{\"median_ms\": %.3f, \"gflop\": %.3f}\n", total, flops / 1e9);
  return total > 0 ? 0 : 2;
}

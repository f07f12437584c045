//===- contractions.cpp - the floor: a GPT step's contractions alone ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the model's dimensions as --key=value, and the shape of one rank's share
// (--batch, --heads and so on may be divided by the caller). Out: one line of
// JSON with the median time of all contractions of a training step, run one by
// one, each with its operands where a step would leave them: transposed ones
// are read transposed, in the layout of their producer. Nothing but matrix
// products runs, so no step that calls the same library can be faster. The
// floor is oneDNN's time; pp's own contractions, blocks of which go to oneDNN
// or OpenBLAS, take turns with it on the same operands and as many threads.

#include "backends/cpu/Contraction.h"

#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using dnnl::memory;
using pprt::cpu::Team;
namespace ppx = pprt::ppx;
using Dims = memory::dims;

namespace {

struct Options {
  std::map<std::string, int64_t> values{
      {"layers", 4}, {"hidden", 256}, {"heads", 8},    {"seq", 128},
      {"batch", 16}, {"vocab", 256},  {"repeats", 15},
  };
  int64_t operator[](const std::string &key) const { return values.at(key); }

  bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      size_t equals = argument.find('=');
      if (argument.rfind("--", 0) != 0 || equals == std::string::npos)
        return complain(argument);
      auto it = values.find(argument.substr(2, equals - 2));
      char *end = nullptr;
      int64_t value = std::strtoll(argument.c_str() + equals + 1, &end, 10);
      if (it == values.end() || *end || value <= 0)
        return complain(argument);
      it->second = value;
    }
    return true;
  }

private:
  bool complain(const std::string &argument) const {
    std::fprintf(stderr, "error: expects --key=number with a key of");
    for (const auto &[key, value] : values)
      std::fprintf(stderr, " %s", key.c_str());
    std::fprintf(stderr, ", got '%s'\n", argument.c_str());
    return false;
  }
};

/// A matrix, or a batch of them, as it lies in memory: strides count elements.
struct View {
  Dims shape, strides;

  View transposed() const {
    View view = *this;
    std::swap(view.shape.end()[-1], view.shape.end()[-2]);
    std::swap(view.strides.end()[-1], view.strides.end()[-2]);
    return view;
  }
  memory::desc desc() const { return {shape, memory::data_type::f32, strides}; }

  std::unique_ptr<ppx::MatrixViewT> matrix() const {
    auto view = std::make_unique<ppx::MatrixViewT>();
    view->batch.assign(strides.begin(), strides.end() - 2);
    view->row_stride = uint64_t(strides.end()[-2]);
    view->column_stride = uint64_t(strides.end()[-1]);
    return view;
  }
};

/// As many as oneDNN's OpenMP takes.
unsigned threads() {
  const char *wanted = std::getenv("OMP_NUM_THREADS");
  return wanted ? unsigned(std::max(1, std::atoi(wanted)))
                : std::thread::hardware_concurrency();
}

/// A row-major matrix.
View dense(int64_t rows, int64_t columns) {
  return {{rows, columns}, {columns, 1}};
}

/// Memory as aligned as a workspace has to be.
struct alignas(64) Line {
  std::byte bytes[64];
};

/// One contraction with operands of its own; `run` executes it once.
class Contraction {
public:
  Contraction(const dnnl::engine &engine, const View &lhs, const View &rhs,
              const View &out)
      : flops(2 * lhs.shape.back()), primitive(describe(engine, lhs, rhs, out)),
        arguments{{DNNL_ARG_SRC, filled(engine, lhs)},
                  {DNNL_ARG_WEIGHTS, filled(engine, rhs)},
                  {DNNL_ARG_DST, filled(engine, out)}},
        ours(create(lhs, rhs, out)),
        workspace(ours->workspaceBytes() / sizeof(Line)) {
    for (int64_t size : out.shape)
      flops *= size;
  }

  void run(dnnl::stream &stream) {
    primitive.execute(stream, arguments);
    stream.wait();
  }
  void run(Team &team) {
    void *operands[] = {arguments[DNNL_ARG_SRC].get_data_handle(),
                        arguments[DNNL_ARG_WEIGHTS].get_data_handle(),
                        arguments[DNNL_ARG_DST].get_data_handle(),
                        workspace.data()};
    ours->run(operands, team);
  }
  int64_t flops;

private:
  static dnnl::matmul::primitive_desc describe(const dnnl::engine &engine,
                                               const View &lhs, const View &rhs,
                                               const View &out) {
    return {{lhs.desc(), rhs.desc(), out.desc()}, engine};
  }

  static memory filled(const dnnl::engine &engine, const View &view) {
    memory buffer(view.desc(), engine);
    auto *data = static_cast<float *>(buffer.get_data_handle());
    std::fill_n(data, buffer.get_desc().get_size() / sizeof(float), 0.5f);
    return buffer;
  }

  static std::unique_ptr<pprt::cpu::Contraction>
  create(const View &lhs, const View &rhs, const View &out) {
    ppx::ContractionT contraction;
    contraction.batch.assign(out.shape.begin(), out.shape.end() - 2);
    contraction.m = uint64_t(out.shape.end()[-2]);
    contraction.n = uint64_t(out.shape.end()[-1]);
    contraction.k = uint64_t(lhs.shape.back());
    contraction.lhs = lhs.matrix();
    contraction.rhs = rhs.matrix();
    contraction.out = out.matrix();
    contraction.out_parameter = 2;
    return pprt::cpu::Contraction::create(contraction, threads());
  }

  dnnl::matmul primitive;
  std::unordered_map<int, memory> arguments;
  std::unique_ptr<pprt::cpu::Contraction> ours;
  std::vector<Line> workspace;
};

/// The list of a step: every forward contraction Y = X W with the two that its
/// gradient needs, dX = dY W^T and dW = X^T dY.
class Step {
public:
  Step(const dnnl::engine &engine, const Options &o) : engine(engine) {
    int64_t rows = o["batch"] * o["seq"], hidden = o["hidden"];
    for (int64_t i = 0; i < o["layers"]; ++i) {
      add(dense(rows, hidden), dense(hidden, 3 * hidden));
      addAttention(o);
      add(dense(rows, hidden), dense(hidden, hidden));
      add(dense(rows, hidden), dense(hidden, 4 * hidden));
      add(dense(rows, 4 * hidden), dense(4 * hidden, hidden));
    }
    // The output projection is stored [vocab, hidden] and used transposed.
    add(dense(rows, hidden), dense(o["vocab"], hidden).transposed());
  }

  std::vector<Contraction> contractions;

private:
  void add(const View &x, const View &w) {
    addWithGradients(x, w, dense(x.shape[0], w.shape[1]));
  }

  void addWithGradients(const View &x, const View &w, const View &y) {
    emplace(x, w, y);
    emplace(y, w.transposed(), x);
    emplace(x.transposed(), y, w);
  }

  /// oneDNN is fast for row-major results only: a transposed one is computed
  /// as out^T = rhs^T lhs^T.
  void emplace(const View &lhs, const View &rhs, const View &out) {
    if (out.strides.back() == 1)
      contractions.emplace_back(engine, lhs, rhs, out);
    else
      contractions.emplace_back(engine, rhs.transposed(), lhs.transposed(),
                                out.transposed());
  }

  /// Scores and weighted values. The heads of q, k and v are read inside the
  /// [batch, seq, 3, heads, size] that the qkv projection wrote.
  void addAttention(const Options &o) {
    int64_t batch = o["batch"], seq = o["seq"], heads = o["heads"];
    int64_t size = o["hidden"] / heads, row = 3 * o["hidden"];
    View head{{batch, heads, seq, size}, {seq * row, size, row, 1}};
    View scores{{batch, heads, seq, seq},
                {heads * seq * seq, seq * seq, seq, 1}};
    View out{{batch, heads, seq, size},
             {seq * o["hidden"], size, o["hidden"], 1}};
    addWithGradients(head, head.transposed(), scores);
    addWithGradients(scores, head, out);
  }

  const dnnl::engine &engine;
};

/// `on` is a dnnl::stream or a Team.
template <typename Executor>
double milliseconds(std::vector<Contraction> &contractions, Executor &on) {
  auto start = std::chrono::steady_clock::now();
  for (Contraction &contraction : contractions)
    contraction.run(on);
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> &times) {
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The rate of one square product, the best of some: what the peers report.
double squareRate(const dnnl::engine &engine, dnnl::stream &stream) {
  View square = dense(1024, 1024);
  std::vector<Contraction> one;
  one.emplace_back(engine, square, square, square);
  double best = milliseconds(one, stream);
  for (int i = 0; i < 20; ++i)
    best = std::min(best, milliseconds(one, stream));
  return one[0].flops / best / 1e6;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!options.parse(argc, argv))
    return 2;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  Step step(engine, options);
  int64_t flops = 0;
  for (const Contraction &contraction : step.contractions)
    flops += contraction.flops;

  Team team(threads(), /*spins=*/4000); // as a rank with cores of its own
  std::vector<double> theirs, ours;
  milliseconds(step.contractions, stream); // generates the library's kernels
  for (int64_t i = 0; i < options["repeats"]; ++i) {
    theirs.push_back(milliseconds(step.contractions, stream));
    ours.push_back(milliseconds(step.contractions, team));
  }
  const double floor = median(theirs);
  const dnnl_version_t *version = dnnl_version();
  std::printf("{\"median_ms\": %.3f, \"gflops\": %.1f, \"gflop\": %.3f, "
              "\"contractions\": %zu, \"matmul_gflops\": %.1f, "
              "\"ours_ms\": %.3f, \"version\": \"oneDNN %d.%d.%d\"}\n",
              floor, flops / floor / 1e6, flops / 1e9, step.contractions.size(),
              squareRate(engine, stream), median(ours), version->major,
              version->minor, version->patch);
  return 0;
}

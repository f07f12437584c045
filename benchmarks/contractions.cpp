//===- contractions.cpp - the floor: a step's matrix products alone -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact. Out: a table of the distinct products of its first
// rank's step, pp's own contraction beside the fastest form of any library;
// then one line of JSON. The floor shares no code with pp: it calls the
// libraries on operands laid out as in a step. Every form has its own process,
// and they take turns; a time is the median of many.
//
//===----------------------------------------------------------------------===//
#include "Product.h"
#include "Side.h"

#include "pprt/Artifact.h"

#include <dnnl.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace pprt;
using cpu::Team;

namespace {

/// Rough memory of a step: more of a product than any cache keeps.
constexpr uint64_t kColdBytes = uint64_t(256) << 20;
/// Most sides of a product: they have memory at the same time.
constexpr uint64_t kSides = 16;
constexpr int kTurns = 8;

struct Options {
  std::string artifact, mkl, clock = "wall";
  double seconds = 1; ///< for each form of a product
  bool cold = false;
};

int usage() {
  std::fprintf(
      stderr,
      "usage: pp-contractions FILE.ppx [--mkl=LIBRARY] [--seconds=1]\n"
      "                       [--clock=wall|processor] [--cold]\n"
      "Times the matrix products of a step beside what libraries reach.\n"
      "--clock=processor: the time of all threads, divided by their number;\n"
      "for machines that do other things, too.\n"
      "--cold: no operand is in a cache; every time takes other ones.\n"
      "example: pp-opt gpt.mlir --pp-parallelize=threads=2 --emit=ppx -o "
      "gpt.ppx\n"
      "         GOMP_SPINCOUNT=10000 pp-contractions gpt.ppx\n");
  return 2;
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals),
                      value = equals == std::string::npos
                                  ? ""
                                  : argument.substr(equals + 1);
    if (key == "--mkl")
      options.mkl = value;
    else if (key == "--seconds")
      options.seconds = std::atof(value.c_str());
    else if (key == "--clock" && (value == "wall" || value == "processor"))
      options.clock = value;
    else if (argument == "--cold")
      options.cold = true;
    else if (argument.rfind("--", 0) != 0 && options.artifact.empty())
      options.artifact = argument;
    else
      return false;
  }
  return !options.artifact.empty() && options.seconds > 0;
}

struct Times {
  double least, middle;
};

Times summarize(std::vector<double> times) {
  const auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {*std::min_element(times.begin(), times.end()), *middle};
}

/// Returns the sum of the result: times of forms that compute something else
/// are meaningless.
double sumOfResult(const Product &product, const char *out) {
  const uint64_t width = product.out.width;
  const auto load = [&](uint64_t offset) {
    float value = 0; // bf16 is the upper half of an f32
    std::memcpy(reinterpret_cast<char *>(&value) + 4 - width,
                out + offset * width, width);
    return value;
  };
  double sum = 0;
  for (uint64_t item = 0; item < product.items; ++item)
    for (uint64_t i = 0; i < product.m; ++i)
      for (uint64_t j = 0; j < product.n; ++j)
        sum += std::abs(load(product.offset(product.out, item, i, j)));
  return sum;
}

/// Makes the work that `form` repeats.
Work createWork(const Product &product, const Form &form, bool cold) {
  const uint64_t memory =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  const Copies copies(product,
                      cold ? std::min(kColdBytes, memory / (2 * kSides)) : 0);
  form.run(copies[0]);
  return {form.name, sumOfResult(product, copies[0].out),
          [=, next = size_t(0)]() mutable {
            next = (next + 1) % copies.size();
            form.run(copies[next]);
          }};
}

/// Starts pp's side first, then every form of the libraries. On failure prints
/// a line and returns nothing.
std::vector<Side> startSides(const ppx::ContractionT &contraction,
                             const Product &product, unsigned threads,
                             const Options &options) {
  const Side::Clock clock = {options.clock == "processor", threads};
  static bool told = false;
  std::vector<Side> sides;
  while (true) {
    const size_t index = sides.size();
    std::optional<Side> side = Side::start(
        [&]() -> Work {
          if (index == 0) {
            static Team team(threads, /*spins=*/4000);
            return createWork(product, ownForm(contraction, team),
                              options.cold);
          }
          const std::vector<Form> forms =
              libraryForms(product, threads, options.mkl, !told);
          return index <= forms.size()
                     ? createWork(product, forms[index - 1], options.cold)
                     : Work();
        },
        clock);
    if (!side) {
      std::fprintf(stderr,
                   "error: %s: expects a result, got none of form %zu\n",
                   product.name().c_str(), index);
      return {};
    }
    if (side->name().empty())
      return sides;
    sides.push_back(std::move(*side));
    told = sides.size() > 1;
  }
}

struct Row {
  std::string name, own, floor; ///< the product, and the forms that compute it
  double flops;
  Times ownTimes, floorTimes;
};

/// Prints a line and returns false if two forms disagree or one fails.
bool compare(const ppx::ContractionT &contraction, unsigned threads,
             const Options &options, Row &row) {
  ppx::ContractionT plain(contraction);
  plain.epilogues.clear();
  plain.accumulate = false;
  plain.out_parameter = 2;
  for (auto *view : {plain.lhs.get(), plain.rhs.get(), plain.out.get()})
    view->offset = 0;
  const Product product(plain);
  std::vector<Side> sides = startSides(plain, product, threads, options);
  if (sides.empty())
    return false;
  for (const Side &side : sides)
    if (const double expected = sides[0].sum();
        !(std::abs(side.sum() - expected) <= 1e-4 * expected)) {
      std::fprintf(stderr, "error: %s: expects a sum of %g, got %g of %s\n",
                   product.name().c_str(), expected, side.sum(),
                   side.name().c_str());
      return false;
    }
  for (int turn = 0; turn < kTurns; ++turn)
    for (Side &side : sides)
      if (!side.takeTurn(options.seconds / kTurns)) {
        std::fprintf(stderr, "error: %s: expects a time, got none of %s\n",
                     product.name().c_str(), side.name().c_str());
        return false;
      }
  std::vector<Times> times;
  for (const Side &side : sides)
    times.push_back(summarize(side.times()));
  size_t best = 1;
  for (size_t i = 1; i < sides.size(); ++i)
    if (times[i].middle < times[best].middle)
      best = i;
  row = {product.name(),  sides[0].name(), sides[best].name(),
         product.flops(), times[0],        times[best]};
  return true;
}

/// Measures one square product, whose rate the peers also report.
double squareRate(unsigned threads, const Options &options) {
  const auto view = [] {
    auto result = std::make_unique<ppx::MatrixViewT>();
    result->row_stride = 1024;
    result->column_stride = 1;
    return result;
  };
  ppx::ContractionT square;
  square.m = square.n = square.k = 1024;
  square.lhs = view();
  square.rhs = view();
  square.out = view();
  Row row;
  return compare(square, threads, options, row)
             ? row.flops / row.floorTimes.middle / 1e6
             : 0;
}

/// Whether it is a product of whole matrices, and no convolution.
bool isTaken(const ppx::ContractionT &contraction) {
  for (const auto *view : {contraction.lhs.get(), contraction.rhs.get()})
    if (!view->rows.empty() || !view->columns.empty())
      return false;
  const auto isKnown = [](ppx::ElementType element) {
    return element == ppx::ElementType_f32 || element == ppx::ElementType_bf16;
  };
  return isKnown(contraction.element) && isKnown(contraction.out_element) &&
         contraction.out->column_stride == 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options))
    return usage();
  Expected<ppx::ArtifactT> artifact = loadArtifact(options.artifact);
  if (!artifact) {
    std::fprintf(stderr, "error: %s\n", artifact.status().message().c_str());
    return 3;
  }
  std::signal(SIGPIPE, SIG_IGN); // a side that ends is reported as an error
  std::map<uint32_t, int> counts;
  for (const pprt::Instruction instruction :
       pprt::InstructionList(*artifact->programs[0], pprt::Section::body))
    if (instruction->opcode == ppx::Opcode_run)
      ++counts[instruction->kernel];

  const unsigned threads = artifact->threads_per_rank;
  std::printf("| product | times a step | pp ms (least) | library | floor ms "
              "(least) | form | ratio | GFLOP/s |\n"
              "|---|---|---|---|---|---|---|---|\n");
  double own = 0, floor = 0, flops = 0;
  for (const auto &[kernel, count] : counts) {
    const ppx::ContractionT *contraction =
        artifact->kernels[kernel]->body.AsContraction();
    if (!contraction || !isTaken(*contraction))
      continue;
    Row row;
    if (!compare(*contraction, threads, options, row))
      return 1;
    std::printf("| %s | %d | %.2f (%.2f) | %s | %.2f (%.2f) | %s | %.2f | %.0f "
                "|\n",
                row.name.c_str(), count, row.ownTimes.middle,
                row.ownTimes.least, row.own.c_str(), row.floorTimes.middle,
                row.floorTimes.least, row.floor.c_str(),
                row.ownTimes.middle / row.floorTimes.middle,
                row.flops / row.floorTimes.middle / 1e6);
    std::fflush(stdout);
    own += count * row.ownTimes.middle;
    floor += count * row.floorTimes.middle;
    flops += count * row.flops;
  }
  std::printf("| a step | | %.1f | | %.1f | | %.2f | %.0f |\n\n", own, floor,
              own / floor, flops / floor / 1e6);
  const dnnl_version_t *version = dnnl_version();
  std::printf("{\"median_ms\": %.3f, \"ours_ms\": %.3f, \"gflop\": %.3f, "
              "\"matmul_gflops\": %.1f, \"version\": \"oneDNN %d.%d.%d\"}\n",
              floor, own, flops / 1e9, squareRate(threads, options),
              version->major, version->minor, version->patch);
  return 0;
}

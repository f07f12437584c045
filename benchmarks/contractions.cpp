//===- contractions.cpp - the floor: a step's matrix products alone -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact. Out: a table of the distinct f32 products of its first
// rank's step, pp's own contraction beside the fastest that a library does in
// any of its ways; then one line of JSON. The floor shares no code with what it
// judges: it calls the libraries on operands that lie as they do in a step.
// The sides take turns in one process; a time is the median of many.
//
//===----------------------------------------------------------------------===//
#include "Product.h"

#include "pprt/Artifact.h"

#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <thread>

using namespace pprt;
using cpu::Team;

namespace {

struct Options {
  std::string artifact, mkl, clock = "wall";
  double seconds = 1; ///< for each form of a product
};

int usage() {
  std::fprintf(
      stderr,
      "usage: pp-contractions FILE.ppx [--mkl=LIBRARY] [--seconds=1]\n"
      "                       [--clock=wall|processor]\n"
      "Times the matrix products of a step beside what libraries reach.\n"
      "--clock=processor: the time of all threads, divided by their number;\n"
      "for machines that do other things, too.\n"
      "example: pp-opt gpt.mlir --pp-parallelize=threads=2 --emit=ppx -o "
      "gpt.ppx\n"
      "         OMP_WAIT_POLICY=passive pp-contractions gpt.ppx\n");
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
    else if (argument.rfind("--", 0) != 0 && options.artifact.empty())
      options.artifact = argument;
    else
      return false;
  }
  return !options.artifact.empty() && options.seconds > 0;
}

class Stopwatch {
public:
  explicit Stopwatch(bool processor, unsigned threads)
      : clock(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC),
        divisor(processor ? threads : 1) {}

  double milliseconds(const Form &form) const {
    const double start = now();
    form.run();
    return (now() - start) / divisor;
  }
  double now() const {
    timespec time;
    clock_gettime(clock, &time);
    return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
  }

private:
  clockid_t clock;
  double divisor;
};

double median(std::vector<double> times) {
  const auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

struct Times {
  double least, middle;
};

/// All forms in turns, for some time.
std::vector<Times> measure(const std::vector<Form> &forms,
                           const Stopwatch &watch, double seconds) {
  std::vector<std::vector<double>> times(forms.size());
  for (const Form &form : forms)
    form.run(); // generates kernels
  const Stopwatch wall(false, 1);
  const double end = wall.now() + seconds * 1e3 * double(forms.size());
  do
    for (size_t i = 0; i < forms.size(); ++i)
      times[i].push_back(watch.milliseconds(forms[i]));
  while (wall.now() < end);
  std::vector<Times> result;
  for (const std::vector<double> &form : times)
    result.push_back(
        {*std::min_element(form.begin(), form.end()), median(form)});
  return result;
}

/// The sum of the result: forms that compute something else are compared in
/// vain.
double sumOfResult(const Product &product, const Form &form) {
  form.run();
  double sum = 0;
  for (uint64_t item = 0; item < product.items; ++item)
    for (uint64_t i = 0; i < product.m; ++i)
      for (uint64_t j = 0; j < product.n; ++j)
        sum += std::abs(*product.at(product.out, item, i, j));
  return sum;
}

struct Row {
  std::string name;
  int count;
  double flops;
  Form own, floor;
  Times ownTimes, floorTimes;
};

/// False if two forms disagree.
bool compare(const ppx::ContractionT &contraction, int count, Team &team,
             const Options &options, Row &row) {
  ppx::ContractionT plain(contraction);
  plain.epilogues.clear();
  plain.accumulate = false;
  plain.out_parameter = 2;
  for (auto *view : {plain.lhs.get(), plain.rhs.get(), plain.out.get()})
    view->offset = 0;
  const Product product(plain);
  std::vector<Form> forms = libraryForms(product, team, options.mkl);
  forms.insert(forms.begin(), ownForm(product, plain, team));
  const double expected = sumOfResult(product, forms[0]);
  for (const Form &form : forms)
    if (const double sum = sumOfResult(product, form);
        !(std::abs(sum - expected) <= 1e-4 * expected)) {
      std::fprintf(stderr, "error: %s: expects a sum of %g, got %g of %s\n",
                   product.name().c_str(), expected, sum, form.name.c_str());
      return false;
    }
  const Stopwatch watch(options.clock == "processor", team.size());
  const std::vector<Times> times = measure(forms, watch, options.seconds);
  size_t best = 1;
  for (size_t i = 1; i < forms.size(); ++i)
    if (times[i].middle < times[best].middle)
      best = i;
  row = {product.name(), count,    product.flops(), forms[0],
         forms[best],    times[0], times[best]};
  return true;
}

/// The rate of one square product: what the peers report.
double squareRate(Team &team, const Options &options) {
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
  return compare(square, 1, team, options, row)
             ? row.flops / row.floorTimes.middle / 1e6
             : 0;
}

bool isTaken(const ppx::ContractionT &contraction) {
  return contraction.element == ppx::ElementType_f32 &&
         contraction.out_element == ppx::ElementType_f32 &&
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
  std::map<uint32_t, int> counts;
  for (const auto &instruction : artifact->programs[0]->body)
    if (instruction->opcode == ppx::Opcode_run)
      ++counts[instruction->kernel];

  Team team(artifact->threads_per_rank, /*spins=*/4000);
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
    if (!compare(*contraction, count, team, options, row))
      return 1;
    std::printf("| %s | %d | %.2f (%.2f) | %s | %.2f (%.2f) | %s | %.2f | %.0f "
                "|\n",
                row.name.c_str(), count, row.ownTimes.middle,
                row.ownTimes.least, row.own.name.c_str(), row.floorTimes.middle,
                row.floorTimes.least, row.floor.name.c_str(),
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
              floor, own, flops / 1e9, squareRate(team, options),
              version->major, version->minor, version->patch);
  return 0;
}

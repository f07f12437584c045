//===- Algorithms.cpp - The table of schedules ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Looks an algorithm up by name and runs it between the check of its input and
// the check of its output.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <algorithm>

using namespace pp::schedule;

const std::vector<Algorithm> &pp::schedule::algorithms() {
  static const std::vector<Algorithm> table = {
      {"gpipe", "all forward passes, then all backward passes", 1, 1,
       generateGPipe},
      {"1f1b", "one forward, one backward: fewer micro-batches in flight", 1, 1,
       generateOneForwardOneBackward},
      {"interleaved-1f1b",
       "1f1b over several stages per rank: a smaller bubble, more transfers", 2,
       maxStages, generateInterleaved},
      {"zb-h1",
       "1f1b that fills idle time with the gradients of weights, in no more "
       "memory than its first rank",
       1, 1, generateZeroBubbleH1},
      {"zb-h2", "zb-h1 with twice the memory, and no idle time once begun", 1,
       1, generateZeroBubbleH2},
      {"zb-v",
       "two stages per rank, there and back: no idle time once begun, in "
       "1f1b's "
       "memory",
       2, 2, generateZeroBubbleV},
  };
  return table;
}

bool pp::schedule::isAlgorithm(const std::string &name) {
  return std::any_of(
      algorithms().begin(), algorithms().end(),
      [&](const Algorithm &algorithm) { return name == algorithm.name; });
}

const std::string &pp::schedule::algorithmNames() {
  static const std::string names = [] {
    std::string list;
    for (size_t i = 0; i < algorithms().size(); ++i) {
      if (i > 0)
        list += i + 1 < algorithms().size() ? ", " : " or ";
      list += algorithms()[i].name;
    }
    return list;
  }();
  return names;
}

static bool checkRange(const char *what, size_t value, size_t max,
                       std::string &error) {
  if (value >= 1 && value <= max)
    return true;
  error = "expects between 1 and " + std::to_string(max) + " " + what +
          ", got " + std::to_string(value);
  return false;
}

bool ScheduleProblem::check(std::string &error) const {
  return checkRange("ranks", ranks, maxStages, error) &&
         checkRange("micro-batches", microBatches, maxMicroBatches, error) &&
         checkRange("stages", size_t(ranks) * chunks, maxStages, error) &&
         checkRange("pairs of stage and micro-batch",
                    size_t(ranks) * chunks * microBatches, maxActions, error);
}

/// The number of single-character edits between two names.
static unsigned editDistance(const std::string &a, const std::string &b) {
  std::vector<unsigned> row(b.size() + 1);
  for (unsigned j = 0; j < row.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      unsigned substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

/// Suggestions for an unknown name: the names within two edits of it, or all of
/// them if there is none.
static std::string suggestions(const std::string &name) {
  std::string near, all;
  for (const Algorithm &algorithm : algorithms()) {
    std::string item = std::string("'") + algorithm.name + "'";
    all += (all.empty() ? "" : ", ") + item;
    if (editDistance(name, algorithm.name) <= 2)
      near += (near.empty() ? "" : ", ") + item;
  }
  return near.empty() ? "one of " + all : near;
}

static std::string explainChunks(const Algorithm &algorithm, unsigned chunks) {
  std::string error =
      std::string("schedule '") + algorithm.name + "' expects " +
      (algorithm.minChunks == algorithm.maxChunks ? "" : "at least ") +
      std::to_string(algorithm.minChunks) +
      (algorithm.minChunks == 1 ? " stage" : " stages") +
      " per rank (chunks), got " + std::to_string(chunks);
  std::string others;
  for (const Algorithm &other : algorithms())
    if (other.minChunks <= chunks && chunks <= other.maxChunks)
      others += (others.empty() ? "; those that take as many: '" : ", '") +
                std::string(other.name) + "'";
  return error + others;
}

std::optional<Schedule> pp::schedule::generate(const std::string &name,
                                               const ScheduleProblem &problem,
                                               std::string &error) {
  for (const Algorithm &algorithm : algorithms()) {
    if (name != algorithm.name)
      continue;
    ScheduleProblem sized = problem;
    if (sized.chunks == 0)
      sized.chunks = algorithm.minChunks;
    if (!sized.check(error))
      return std::nullopt;
    if (sized.chunks < algorithm.minChunks ||
        sized.chunks > algorithm.maxChunks) {
      error = explainChunks(algorithm, sized.chunks);
      return std::nullopt;
    }
    Schedule schedule = algorithm.generate(sized);
    if (!verify(schedule, error))
      return std::nullopt;
    return schedule;
  }
  error =
      "expects a schedule named " + suggestions(name) + ", got '" + name + "'";
  return std::nullopt;
}

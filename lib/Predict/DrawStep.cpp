//===- DrawStep.cpp - a picture of a step ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Turns instructions into the bars of a pp::schedule::Picture: kernels of one
// action that follow each other are a bar. A slot is live from the begin of the
// first instruction that uses it to the end of the last one.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/DrawStep.h"
#include "pp/Predict/Table.h"
#include "pp/Schedule/Picture.h"
#include "pprt/Bytes.h"
#include "pprt/Program.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

using namespace pp::predict;
using namespace pprt;
namespace schedule = pp::schedule;

namespace {

/// With more ranks one of each class has rows.
constexpr uint32_t kMostRanks = 64;
constexpr size_t kLongestRanks = 20;

/// The unit in which a step is a number from 1 to 1000, if it can be.
struct Unit {
  explicit Unit(double seconds)
      : name(seconds < 1e-3 ? "us"
             : seconds < 1  ? "ms"
                            : "s"),
        perSecond(seconds < 1e-3 ? 1e6
                  : seconds < 1  ? 1e3
                                 : 1) {}

  const char *name;
  double perSecond;
};

double endOf(const Timeline &timeline) {
  double end = 0;
  for (const std::vector<Span> &spans : timeline)
    for (const Span &span : spans)
      end = std::max(end, span.end);
  return end;
}

bool isKernel(const ppx::InstructionT &instruction) {
  return instruction.opcode == ppx::Opcode_run ||
         instruction.opcode == ppx::Opcode_gate;
}

std::vector<schedule::Bar> barsOf(const InstructionList &body,
                                  const std::vector<Span> &spans,
                                  const Unit &unit) {
  std::vector<schedule::Bar> bars;
  for (size_t i = 0; i < body.size(); ++i) {
    const Instruction instruction = body[i];
    if (!isKernel(*instruction))
      continue;
    schedule::Bar bar;
    bar.kind = phaseLetter(instruction->phase);
    bar.stage = instruction->stage;
    bar.microBatch = instruction.microBatch();
    bar.begin = unit.perSecond * spans[i].begin;
    bar.end = unit.perSecond * spans[i].end;
    const auto key = [](const schedule::Bar &its) {
      return std::tuple(its.kind, its.stage, its.microBatch);
    };
    if (bars.empty() || key(bars.back()) != key(bar))
      bars.push_back(bar);
    bars.back().end = std::max(bars.back().end, bar.end);
    bars.back().busy.push_back({bar.begin, bar.end});
  }
  // Kernels that follow each other at once are as one.
  for (schedule::Bar &bar : bars) {
    std::vector<std::pair<double, double>> joined;
    for (const auto &part : bar.busy)
      if (!joined.empty() && part.first <= joined.back().second)
        joined.back().second = std::max(joined.back().second, part.second);
      else
        joined.push_back(part);
    bar.busy = std::move(joined);
  }
  return bars;
}

/// Live bytes from each time on at which they change.
std::vector<std::pair<double, double>>
memoryOver(const ppx::ArtifactT &artifact, const ppx::ProgramT &program,
           const std::vector<Span> &spans, double end, const Unit &unit) {
  const SlotLives lives = livesOf(artifact, program);
  std::vector<Span> times(lives.all.size(),
                          {std::numeric_limits<double>::max(), -1});
  for (size_t i = 0; i < lives.touched.size(); ++i)
    for (uint32_t life : lives.touched[i]) {
      times[life].begin = std::min(times[life].begin, spans[i].begin);
      times[life].end = std::max(times[life].end, spans[i].end);
    }
  std::vector<std::pair<double, double>> changes;
  for (size_t life = 0; life < times.size(); ++life) {
    const ppx::SlotT &slot = *program.slots[lives.all[life].slot];
    const Span its =
        livesThroughStep(slot.slot_class) ? Span{0, end} : times[life];
    changes.push_back({its.begin, double(slot.bytes)});
    changes.push_back({its.end, -double(slot.bytes)});
  }
  // What ends makes room for what begins at that time.
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<double, double>> steps;
  double live = 0;
  for (const auto &[at, bytes] : changes) {
    live += bytes;
    if (!steps.empty() && steps.back().first == unit.perSecond * at)
      steps.back().second = live;
    else if (at < end)
      steps.push_back({unit.perSecond * at, live});
  }
  return steps;
}

/// `ranks 0-3`; of many that are not neighbours, how many.
std::string nameOf(const std::vector<uint32_t> &ranks) {
  const std::string all = printRanks(ranks);
  return all.size() <= kLongestRanks
             ? all
             : "rank " + std::to_string(ranks.front()) + " and " +
                   std::to_string(ranks.size() - 1) + " more";
}

/// `, stages 0 2`.
std::string stagesOf(const std::vector<schedule::Action> &actions) {
  std::vector<unsigned> stages;
  for (const schedule::Action &action : actions)
    stages.push_back(action.stage);
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  std::string text;
  for (unsigned stage : stages)
    text += " " + std::to_string(stage);
  return stages.empty() ? ""
                        : (stages.size() == 1 ? ", stage" : ", stages") + text;
}

class StepPicture {
public:
  StepPicture(const Prediction &prediction, const ppx::ArtifactT &artifact,
              const Mesh &mesh, const MeasuredStep *measured)
      : prediction(prediction), artifact(artifact),
        players(Players::classes(artifact, mesh)),
        ranks(Players::ranks(artifact, mesh)),
        timeline(prediction.instructions), measured(measured),
        unit(std::max(prediction.stepSeconds,
                      measured ? endOf(measured->timeline) : 0)) {
    if (measured)
      measuredTimes = timesOfPlayers(ranks, measured->timeline);
    classOf.resize(ranks.size());
    for (uint32_t its = 0; its < players.size(); ++its) {
      const std::vector<uint32_t> all = players.ranksOf(its);
      firstOf.push_back(all.front());
      for (uint32_t rank : all)
        classOf[rank] = its;
    }
  }

  schedule::Picture make() const {
    schedule::Picture picture;
    picture.title = schedule::describe(prediction.schedule);
    picture.unit = unit.name;
    picture.end = unit.perSecond * prediction.stepSeconds;
    const std::string &source = prediction.durations.source();
    picture.lines.push_back(
        describe(source.empty() ? "predicted" : "predicted with " + source,
                 prediction.stepSeconds, prediction.times));
    if (measured)
      addMeasured(picture);
    if (measured && !showsAll())
      picture.lines.push_back("rows are of one of the ranks that do the same, "
                              "of " +
                              std::to_string(ranks.size()));
    for (uint32_t its = 0; its < players.size(); ++its) {
      if (!showsAll())
        addRows(picture, its, firstOf[its]);
      picture.memory.push_back(memoryOf(its));
    }
    for (uint32_t rank = 0; showsAll() && rank < ranks.size(); ++rank)
      addRows(picture, classOf[rank], rank);
    return picture;
  }

  /// Those that are predicted, and those that were measured.
  std::vector<schedule::Arrow> findTransfers() const {
    std::vector<schedule::Arrow> arrows;
    using Spans = std::vector<Span>;
    if (showsAll())
      addTransfers(
          arrows, ranks,
          [&](uint32_t rank) -> const Spans & {
            return timeline[classOf[rank]];
          },
          [](uint32_t rank) { return 2 * rank; });
    else
      addTransfers(
          arrows, players,
          [&](uint32_t its) -> const Spans & { return timeline[its]; },
          [&](uint32_t its) { return (measured ? 2 : 1) * its; });
    if (measured)
      addTransfers(
          arrows, ranks,
          [&](uint32_t rank) -> const Spans & {
            return measured->timeline[rank];
          },
          [&](uint32_t rank) -> std::optional<size_t> {
            const uint32_t row = showsAll() ? rank : classOf[rank];
            const bool isShown = showsAll() || firstOf[row] == rank;
            return isShown ? std::optional<size_t>(2 * row + 1) : std::nullopt;
          });
    return arrows;
  }

private:
  /// Of many ranks one of each class has rows.
  bool showsAll() const { return measured && ranks.size() <= kMostRanks; }

  /// From when both ends are there to the end, of those whose ends have rows.
  void addTransfers(
      std::vector<schedule::Arrow> &arrows, const Players &players,
      const std::function<const std::vector<Span> &(uint32_t)> &spansOf,
      const std::function<std::optional<size_t>(uint32_t)> &rowOf) const {
    for (const std::vector<Place> &commOp : players.findCommOps()) {
      schedule::Arrow arrow;
      bool hasRows = true;
      for (Place place : commOp) {
        const ppx::Opcode opcode = players.instruction(place)->opcode;
        const Span &span = spansOf(place.player)[place.index];
        const std::optional<size_t> row = rowOf(place.player);
        hasRows &= row.has_value();
        if (opcode == ppx::Opcode_send)
          arrow.from = row.value_or(0);
        else if (opcode == ppx::Opcode_recv)
          arrow.to = row.value_or(0);
        arrow.begin = std::max(arrow.begin, unit.perSecond * span.begin);
        arrow.end = std::max(arrow.end, unit.perSecond * span.end);
      }
      if (hasRows && arrow.from != arrow.to)
        arrows.push_back(arrow);
    }
  }

  static std::string describe(const std::string &what, double seconds,
                              const RankTimes &times) {
    return std::string(what) + ": a step of " + printSeconds(seconds) +
           ", bubble " + schedule::printBubble(times.bubble());
  }

  void addMeasured(schedule::Picture &picture) const {
    const double end = endOf(measured->timeline);
    picture.end = std::max(picture.end, unit.perSecond * end);
    picture.lines.push_back(
        describe("measured", end, meanTimes(ranks, measuredTimes)) +
        (measured->isReplayed
             ? "; as with a core for each rank, replayed from the processor "
               "time of every instruction, since the ranks shared cores"
             : ""));
  }

  /// A class of ranks, or one of them as predicted and as measured.
  void addRows(schedule::Picture &picture, uint32_t its, uint32_t rank) const {
    const ClassPrediction &predicted = prediction.classes[its];
    schedule::PictureRow row;
    const std::string stages = stagesOf(prediction.schedule.ranks[its]);
    row.name = measured
                   ? "rank " + std::to_string(rank) + stages + ", predicted"
                   : nameOf(predicted.ranks) + stages;
    row.note = schedule::printBubble(predicted.times.bubble());
    row.bars = barsOf(players.body(its), timeline[its], unit);
    picture.rows.push_back(std::move(row));
    if (!measured)
      return;
    schedule::PictureRow below;
    below.name = "measured";
    below.isPaired = true;
    below.note = schedule::printBubble(measuredTimes[rank].bubble());
    below.bars = barsOf(ranks.body(rank), measured->timeline[rank], unit);
    picture.rows.push_back(std::move(below));
  }

  schedule::MemoryCurve memoryOf(uint32_t its) const {
    const ppx::ProgramT &program = players.program(its);
    schedule::MemoryCurve curve;
    curve.name = nameOf(prediction.classes[its].ranks);
    curve.steps = memoryOver(artifact, program, timeline[its],
                             prediction.stepSeconds, unit);
    curve.limit = double(program.arena_bytes);
    double peak = 0;
    for (const auto &step : curve.steps)
      peak = std::max(peak, step.second);
    curve.note = printBytes(peak) + " of " + printBytes(curve.limit);
    return curve;
  }

  const Prediction &prediction;
  const ppx::ArtifactT &artifact;
  const Players players, ranks;
  const Timeline &timeline;
  const MeasuredStep *measured;
  std::vector<RankTimes> measuredTimes;
  std::vector<uint32_t> classOf; ///< by rank
  std::vector<uint32_t> firstOf; ///< rank of each class
  const Unit unit;
};

} // namespace

std::string pp::predict::drawStep(const Prediction &prediction,
                                  const ppx::ArtifactT &artifact,
                                  const Mesh &mesh,
                                  const MeasuredStep *measured,
                                  bool drawsTransfers) {
  if (prediction.classes.empty()) {
    schedule::Picture picture;
    picture.title = "a program that does not end has no timeline";
    return drawSvg(picture);
  }
  const StepPicture step(prediction, artifact, mesh, measured);
  schedule::Picture picture = step.make();
  if (drawsTransfers)
    picture.arrows = step.findTransfers();
  return drawSvg(picture);
}

//===- Train.cpp - steps a session and tells of it ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// If a device runs behind the host, the next step is begun before the previous
// one is awaited: losses come a step later, and the device does not wait for
// batches or for output. A step ends when the host sees the device end it;
// waits for data do not count.
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"
#include "Launch.h"
#include "Run.h"
#include "Saver.h"
#include "Sinks.h"
#include "Stepper.h"
#include "pprt/host/Measure.h"
#include "pprt/host/ProgressLine.h"
#include "pprt/host/ReadAhead.h"
#include "pprt/host/StepClock.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

using Clock = std::chrono::steady_clock;
/// Interval for polling a step while its next batch is not there: the error of
/// its time.
static constexpr std::chrono::milliseconds kLooking(1);
using Milliseconds = std::chrono::duration<double, std::milli>;

std::optional<uint32_t> pp::run::findLoss(const ppx::ArtifactT &artifact) {
  for (uint32_t i = 0; i < artifact.outputs.size(); ++i)
    if (artifact.outputs[i]->role == ppx::OutputRole_loss)
      return i;
  return std::nullopt;
}

Status pp::run::join(Status first, const Status &second) {
  if (first.ok() || second.ok())
    return first.ok() ? second : first;
  // An interrupted run promises its results: that they are lost is worse.
  return Status(first.code() == ExitCode::interrupted ? second.code()
                                                      : first.code(),
                first.message() + "; " + second.message());
}

static ProgressLine::Style styleFor(const Options &options,
                                    const World &world) {
  if (options.quiet || world.process() != 0)
    return ProgressLine::Style::quiet;
  return drawsOnTerminal(options, world) ? ProgressLine::Style::bar
                                         : ProgressLine::Style::lines;
}

/// The width of the terminal; 80 if unknown.
static unsigned terminalColumns() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
             ? size.ws_col
             : 80;
}

namespace {

class Training {
public:
  Training(Session &session, const Options &options, const World &world,
           Report &report, Course course)
      : session(session), loss(*findLoss(session.artifact())),
        steps(options.steps), tells(world.process() == 0), report(report),
        lastSteps(course.lastSteps), evaluator(course.evaluator),
        // With times of single steps, one step at a time.
        ahead(lastSteps ? 1 : session.stepsAhead()),
        progress(std::cout, styleFor(options, world), course.before,
                 options.steps, session.artifact().items_per_step,
                 itemName(session.artifact()), terminalColumns(),
                 options.logEvery),
        sinks(course.sinks), keepsLines(tells && course.saver),
        lines(std::move(course.metrics)), ended(course.before) {
    if (ended == 0)
      skippedSteps = 0;
  }

  /// Notes when the oldest step under way has ended.
  void look();
  /// The next step's batch; looks meanwhile.
  Status await(ReadAhead &batches, Batch &batch);
  /// Begins a step with the inputs that are set, for which the host has waited
  /// since `asked`, and waits for earlier ones, as far as too many are in
  /// flight.
  Status step(Clock::time_point asked);
  /// Waits for all steps in flight.
  Status finish();
  /// The end of a run whose last losses are not finite; else no error.
  Status explainNonFinite() const;
  /// The first step of those; the last one, whose loss is finite but not what
  /// it makes of the parameters, if there is none.
  uint64_t firstFailed() const { return firstNonFinite.value_or(ended); }
  uint64_t stepsEnded() const { return ended; }
  /// What ends the run, but not the step that it was noticed behind; once.
  Status takeEnd() { return std::exchange(ending, {}); }
  /// Lines of --metrics of the first `steps` steps.
  std::string linesOf(uint64_t steps) const;

private:
  Status finishOldest();
  StepReport measure();

  Session &session;
  const uint32_t loss;
  const uint64_t steps;
  const bool tells;
  Report &report;
  LastSteps *const lastSteps;
  Evaluator *const evaluator;
  const size_t ahead;
  ProgressLine progress;
  Sinks &sinks;
  /// The first of the latest steps whose loss or gradients are not finite.
  std::optional<uint64_t> firstNonFinite;
  /// Of all so far, with loss scaling; nothing before the first step of a run
  /// that goes on.
  std::optional<double> skippedSteps;
  Status ending;
  const bool keepsLines;
  std::string lines; ///< of --metrics, for checkpoints
  uint64_t ended;    ///< steps
  const Clock::time_point start = Clock::now();
  StepClock clock{start};
};

} // namespace

void Training::look() {
  if (clock.runs() && session.hasEnded())
    clock.see(Clock::now());
}

Status Training::await(ReadAhead &batches, Batch &batch) {
  do
    look();
  while (!batches.isReady(kLooking));
  return batches.next(batch);
}

Status Training::step(Clock::time_point asked) {
  look();
  const auto begin = Clock::now();
  if (Status status = session.submit(); !status.ok())
    return status;
  clock.begin(asked, begin);
  return clock.size() == ahead ? finishOldest() : Status();
}

Status Training::finish() {
  Status status;
  while (status.ok() && clock.size() > 0)
    status = finishOldest();
  return status;
}

StepReport Training::measure() {
  const StepClock::Span span = clock.finish(Clock::now());
  StepReport result = {++ended, session.scalar(loss), span.step};
  result.dataMs = span.data;
  for (auto &metric : readMetrics(session))
    result.metrics.push_back(metric);
  if (const double ms = span.step + span.data; ms > 0)
    result.itemsPerSecond =
        1e3 * double(session.artifact().items_per_step) / ms;
  if (keepsLines || !sinks.empty())
    result.residentBytes = residentBytes();
  return result;
}

Status Training::finishOldest() {
  if (Status status = session.wait(); !status.ok())
    return status;
  StepReport its = measure();
  if (lastSteps) {
    if (Status status = session.collect(); !status.ok())
      return status;
    if (tells)
      lastSteps->add(session, its.step);
  }
  // None is under way: train() sees to it.
  if (evaluator && evaluator->isDue(its.step) && std::isfinite(its.loss)) {
    Expected<std::optional<EvaluationReport>> evaluated =
        evaluator->run(session, its.step == steps);
    // Data that cannot be read end a run, but not its step.
    if (!evaluated && evaluated.status().code() != ExitCode::io)
      return evaluated.status();
    if (!evaluated)
      ending = join(ending, evaluated.status());
    else if (*evaluated)
      its.evaluation = std::move(*evaluated);
    else
      ending =
          join(ending, Status(ExitCode::interrupted,
                              "interrupted while it evaluates after step " +
                                  std::to_string(its.step)));
  }
  report.steps.push_back(its);
  progress.update(its, Milliseconds(clock.lastEnd() - start).count());
  if (keepsLines)
    lines += printStep(its) + "\n";
  sinks.add(its);
  // A step with loss scaling changes nothing if it overflows, and the next one
  // has half the scale. Below 1 no scale helps.
  const double skipped = findMetric(its, "skipped_steps").value_or(0);
  const bool isSkipped = skippedSteps && skipped > *skippedSteps;
  skippedSteps = skipped;
  if (std::isfinite(its.loss) && !isSkipped) {
    firstNonFinite.reset();
    return {};
  }
  if (!firstNonFinite)
    firstNonFinite = its.step;
  if (isSkipped && findMetric(its, "loss_scale").value_or(0) >= 1)
    return {};
  // Later steps are dropped.
  for (; clock.size() > 0; clock.finish(Clock::now()))
    (void)session.wait();
  return explainNonFinite();
}

Status Training::explainNonFinite() const {
  if (!firstNonFinite)
    return {};
  const StepReport &its = report.steps.back();
  std::string message =
      "step " + std::to_string(its.step) + ": expects " +
      (std::isfinite(its.loss)
           ? "finite gradients, got others"
           : "a finite loss, got " + std::to_string(its.loss));
  if (*firstNonFinite != its.step)
    message += ", as in each step since " + std::to_string(*firstNonFinite) +
               ", which were skipped to reduce the scale of the loss";
  return Status(ExitCode::nonFinite, message);
}

std::string Training::linesOf(uint64_t steps) const {
  size_t end = 0;
  for (; steps > 0 && end < lines.size(); --steps)
    end = lines.find('\n', end) + 1;
  return lines.substr(0, end);
}

/// Repeats the steps from the newest checkpoint up to `last`, and saves the
/// state after it.
static Status repeatAndSave(Session &session, const Batches &batches,
                            World &world, Saver &saver, uint64_t last,
                            const std::string &metrics) {
  Expected<uint64_t> step = saver.goBack(last);
  if (!step)
    return step.status();
  Batch batch;
  for (; *step < last; ++*step) {
    const Verdict verdict = world.agree(batches.read(*step, batch),
                                        voteIf(interrupted(), Vote::stops));
    if (!verdict.first.ok())
      return verdict.first;
    if (verdict.votes)
      return Status(ExitCode::interrupted, "interrupted on the way to it");
    if (Status status = setBatch(session, batch, batches.rows()); !status.ok())
      return status;
    if (Status status = session.step(); !status.ok())
      return status;
  }
  return saver.saveLast(last, metrics);
}

/// Saves the last state before the loss failed whose parameters are finite.
static Status saveBeforeFailure(Session &session, const Batches &batches,
                                World &world, Saver &saver, uint64_t first,
                                const Training &training) {
  Status status;
  uint64_t last = training.firstFailed() - 1;
  // Steps that are skipped, for loss scaling, change no parameter.
  if (saver.lacks(last))
    return saver.saveLast(training.stepsEnded(),
                          training.linesOf(training.stepsEnded()));
  for (;; --last) {
    status = repeatAndSave(session, batches, world, saver, last,
                           training.linesOf(last));
    if (status.code() != ExitCode::nonFinite || last == first)
      return status;
  }
}

/// Says where the run can go on, for which it saves the state before a loss
/// that is not finite.
static Status endWith(Status failure, Session &session, const Batches &batches,
                      World &world, Saver *saver, uint64_t first,
                      const Training &training) {
  if (!saver)
    return failure;
  if (failure.code() == ExitCode::nonFinite && session.failure().ok() &&
      training.stepsEnded() > first)
    if (Status status =
            saveBeforeFailure(session, batches, world, *saver, first, training);
        !status.ok())
      failure = Status(failure.code(), failure.message() +
                                           "; the state before it is not "
                                           "saved: " +
                                           status.message());
  return Status(failure.code(), failure.message() + saver->advice());
}

Status pp::run::train(Session &session, const Batches &batches,
                      const Options &options, World &world, Report &report,
                      Course course, bool &keeps) {
  Saver *const saver = course.saver;
  Evaluator *const evaluator = course.evaluator;
  const uint64_t before = course.before;
  uint64_t step = before; // steps begun
  Training training(session, options, world, report, std::move(course));
  Status end;
  const auto fail = [&](const Status &status) {
    return endWith(status, session, batches, world, saver, before, training);
  };
  ReadAhead next(batches, step, options.steps);
  Batch batch;
  world.watch(interrupted);
  for (;; ++step) {
    const bool isLast = step >= options.steps,
               isStopped = !isLast && interrupted();
    auto asked = Clock::now();
    if (end.ok() && !isLast && !isStopped)
      end = training.await(next, batch);
    const Verdict verdict = world.agree(
        end, voteIf(isStopped, Vote::stops) | (saver ? saver->votes(step) : 0));
    training.look();
    end = verdict.first;
    if (end.ok() && (verdict.votes & Vote::stops))
      end = Status(ExitCode::interrupted,
                   "interrupted after " + std::to_string(step) + " steps");
    if (!end.ok() || isLast)
      break;
    const auto ready = Clock::now();
    if (saver)
      saver->settle(verdict.votes);
    if (verdict.votes & Vote::saves) {
      if (Status status = training.finish(); !status.ok())
        return fail(status);
      saver->save(step, training.linesOf(step));
    }
    if (evaluator && evaluator->isDue(step))
      if (Status status = training.finish(); !status.ok())
        return fail(status);
    asked += Clock::now() - ready; // no wait for data
    if (Status status = setBatch(session, batch, batches.rows()); !status.ok())
      return fail(status);
    if (Status status = training.step(asked); !status.ok())
      return fail(status);
    end = training.takeEnd();
  }
  if (Status status = training.finish(); !status.ok())
    return fail(status);
  end = join(end, training.takeEnd());
  if (end.ok() && !report.steps.empty() &&
      !std::isfinite(report.steps.back().loss))
    end = training.explainNonFinite();
  // Parameters are saved, however long that takes.
  world.watch({});
  keeps = end.ok() || end.code() == ExitCode::interrupted ||
          end.code() == ExitCode::io;
  if (saver && keeps)
    end = join(end, saver->saveLast(step, training.linesOf(step)));
  if (!end.ok())
    end = fail(end);
  // An interrupted run ends like one with fewer steps, and so does one whose
  // data cannot be read any further. Without any step it counts as not begun.
  if (evaluator)
    if (Status status = evaluator->end(); !status.ok())
      return status;
  if (options.steps > before)
    if (Status status = session.end(); !status.ok()) {
      keeps = false;
      return status;
    }
  return end;
}

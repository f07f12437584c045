//===- NullRun.cpp - a run in which nothing is computed -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The executor, the matching and the transport work as for a device that
// computes, so a program that ends here ends there. There are no values, and so
// no losses; the time is that of the runtime itself.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include "pprt/Communication.h"
#include "pprt/Files.h"
#include "pprt/Ranks.h"
#include "pprt/World.h"
#include "pprt/host/Measure.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iomanip>
#include <ostream>

using namespace pp::run;
using namespace pprt;

/// The counts that the program implies for "null": of a setup, some steps and a
/// teardown; and `instructions`, which the device does not count.
static std::vector<NamedCount> expectCounts(const Ranks &ranks, RankRange range,
                                            uint64_t steps) {
  uint64_t instructions = 0, launches = 0, copies = 0, flags = 0, commOps = 0,
           bytes = 0;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (Section section : kSections)
      for (const Instruction instruction : ranks.instructions(rank, section)) {
        const uint64_t times = section == Section::body ? steps : 1;
        instructions += times;
        switch (instruction->opcode) {
        case ppx::Opcode_run:
        case ppx::Opcode_gate:
          launches += times;
          break;
        case ppx::Opcode_copy:
          copies += times;
          break;
        case ppx::Opcode_flag:
          flags += times;
          break;
        case ppx::Opcode_send:
        case ppx::Opcode_recv:
        case ppx::Opcode_collective:
          commOps += times;
          bytes += times * sentBytes(ranks, rank, instruction);
          break;
        default:
          break;
        }
      }
  return {{"launches", launches}, {"copies", copies},
          {"flags", flags},       {"comm ops", commOps},
          {"bytes", bytes},       {"instructions", instructions}};
}

/// Each that is counted is as expected, and no other is counted.
static Status compare(const std::vector<NamedCount> &expected,
                      const std::vector<NamedCount> &counted) {
  for (const NamedCount &count : counted) {
    const auto its = std::find_if(
        expected.begin(), expected.end(),
        [&](const NamedCount &other) { return other.name == count.name; });
    if (its == expected.end() || its->value != count.value)
      return Status(
          ExitCode::checkFailed,
          "null expects " +
              (its == expected.end() ? "no" : std::to_string(its->value)) +
              " " + count.name + " by the program, got " +
              std::to_string(count.value));
  }
  return {};
}

static double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

Status pp::run::nullRun(const Options &options,
                        std::shared_ptr<const ppx::ArtifactT> artifact,
                        std::shared_ptr<World> world, std::ostream &out) {
  const auto agree = [&](const Status &mine) {
    return world->agree(mine).first;
  };
  const bool tells = world->process() == 0;
  const bool traces = !options.trace.empty();
  if (Status status =
          agree(tells && traces ? checkWritable(options.trace) : Status());
      !status.ok())
    return status;
  SessionOptions sessionOptions;
  sessionOptions.device = options.device;
  sessionOptions.world = world;
  sessionOptions.hangTimeoutSeconds = double(options.hangTimeoutSeconds);
  Expected<std::unique_ptr<Session>> created =
      Session::create(artifact, sessionOptions);
  if (!created)
    return created.status();
  Session &session = **created;
  Status status = session.begin();
  const double before = processorSeconds();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t step = 0; step < options.steps && status.ok(); ++step)
    status = session.step();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  const double used = processorSeconds() - before;
  if (status.ok())
    status = session.end();
  if (!status.ok())
    return status;

  const Ranks ranks(*artifact, session.mesh());
  const RankRange range =
      world->ranksOf(world->process(), session.mesh().worldSize());
  const std::vector<NamedCount> expected =
      expectCounts(ranks, range, options.steps);
  std::vector<NamedCount> counts = session.counters();
  if (status = agree(compare(expected, counts)); !status.ok())
    return status;
  counts.push_back(expected.back());
  counts.push_back({"processor time", uint64_t(used * 1e9)});
  const Expected<std::vector<NamedCount>> all =
      sumCounts(*world, std::move(counts));
  if (!all)
    return all.status();
  if (traces)
    status = session.collect();
  if (status.ok() && tells && traces)
    status = host::writeTrace(options.trace, host::traceLastStep(session));
  if (!tells || options.quiet)
    return agree(status);
  out << "--device=null computes no losses\n"
      << session.mesh().worldSize() << " ranks, " << options.steps
      << " steps, counts equal the program's:";
  const size_t own = all->size() - 2; // the device's
  out << " " << printCounts({all->begin(), all->begin() + long(own)}) << "\n";
  if (options.steps > 0)
    out << std::fixed << std::setprecision(3)
        << took.count() * 1e3 / double(options.steps) << " ms a step; of "
        << (*all)[own].value << " instructions each took "
        << double((*all)[own + 1].value) * 1e-3 / double((*all)[own].value)
        << " us of a processor" << std::endl;
  return agree(status);
}

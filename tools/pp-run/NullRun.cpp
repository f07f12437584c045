//===- NullRun.cpp - a run in which nothing is computed -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The executor, the matching and the transport do all that they do for a device
// that computes, so a program that ends here ends there. There are no values,
// and so no losses; the time that it takes is the runtime's own.
//
//===----------------------------------------------------------------------===//
#include "NullRun.h"
#include "pprt/Communication.h"
#include "pprt/Files.h"
#include "pprt/Ranks.h"
#include "pprt/World.h"
#include "pprt/host/Measure.h"

#include <chrono>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <ostream>

using namespace pp::run;
using namespace pprt;

namespace {

/// Of the ranks of one process.
struct Totals {
  uint64_t instructions = 0, launches = 0, copies = 0, flags = 0, meetings = 0,
           bytes = 0;
  double processorSeconds = 0;

  void add(const Totals &other) {
    instructions += other.instructions;
    launches += other.launches;
    copies += other.copies;
    flags += other.flags;
    meetings += other.meetings;
    bytes += other.bytes;
    processorSeconds += other.processorSeconds;
  }
};

} // namespace

/// What the program says, of a setup, some steps and a teardown.
static Totals predict(const Ranks &ranks, RankRange range, uint64_t steps) {
  Totals totals;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (Section section : kSections)
      for (const auto &instruction :
           instructionsOf(ranks.program(rank), section)) {
        const uint64_t times = section == Section::body ? steps : 1;
        totals.instructions += times;
        switch (instruction->opcode) {
        case ppx::Opcode_run:
        case ppx::Opcode_gate:
          totals.launches += times;
          break;
        case ppx::Opcode_copy:
          totals.copies += times;
          break;
        case ppx::Opcode_flag:
          totals.flags += times;
          break;
        case ppx::Opcode_send:
        case ppx::Opcode_recv:
        case ppx::Opcode_collective:
          totals.meetings += times;
          totals.bytes += times * sentBytes(ranks, rank, *instruction);
          break;
        default:
          break;
        }
      }
  return totals;
}

static Status compare(const Totals &expected,
                      const std::vector<NamedCount> &got) {
  const std::pair<const char *, uint64_t> all[] = {
      {"launches", expected.launches},
      {"copies", expected.copies},
      {"flags", expected.flags},
      {"meetings", expected.meetings},
      {"bytes", expected.bytes}};
  for (const auto &[name, value] : all)
    for (const NamedCount &count : got)
      if (count.name == name && count.value != value)
        return Status(ExitCode::checkFailed,
                      "null expects " + std::to_string(value) + " " + name +
                          " by the program, got " +
                          std::to_string(count.value));
  return {};
}

/// All of them, at process 0.
static Expected<Totals> sum(World &world, const Totals &mine) {
  std::vector<std::byte> bytes(sizeof(mine));
  std::memcpy(bytes.data(), &mine, sizeof(mine));
  Expected<std::vector<std::vector<std::byte>>> all =
      world.gather(std::move(bytes));
  if (!all)
    return all.status();
  Totals totals;
  for (const std::vector<std::byte> &process : *all) {
    Totals its;
    std::memcpy(&its, process.data(), sizeof(its));
    totals.add(its);
  }
  return totals;
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
    return world->agree(mine, /*interrupted=*/false).first;
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
  Totals mine = predict(ranks, range, options.steps);
  if (status = agree(compare(mine, session.counters())); !status.ok())
    return status;
  mine.processorSeconds = used;
  const Expected<Totals> all = sum(*world, mine);
  if (!all)
    return all.status();
  if (traces)
    status = session.collect();
  if (status.ok() && tells && traces)
    status = host::writeTrace(options.trace, host::traceLastStep(session));
  if (!tells || options.quiet)
    return agree(status);
  out << "null computes nothing: there are no losses\n"
      << session.mesh().worldSize() << " ranks, " << options.steps
      << " steps, counted as the program says: " << all->launches
      << " launches, " << all->copies << " copies, " << all->flags << " flags, "
      << all->meetings << " ends of meetings, " << all->bytes
      << " bytes sent\n";
  if (options.steps > 0)
    out << std::fixed << std::setprecision(3)
        << took.count() * 1e3 / double(options.steps) << " ms a step; of "
        << all->instructions << " instructions each took "
        << all->processorSeconds * 1e6 / double(all->instructions)
        << " us of a processor" << std::endl;
  return agree(status);
}

//===- run.cpp - a program that runs artifacts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Trains what a .ppx file holds, on data that pp-run would take, and writes the
// parameters: an example of the installed runtime in C++.
//
//   run MODEL.ppx DATA STEPS OUT.safetensors [mpi]
//
// With `mpi` its ranks are in the processes that mpirun starts, all of which do
// the same; process 0 prints and writes. Ctrl-C, or SIGTERM, to any of them
// ends all after the step, with the parameters that were learnt.
//
//===----------------------------------------------------------------------===//
#include <pprt/Artifact.h>
#include <pprt/Checks.h>
#include <pprt/Session.h>
#include <pprt/World.h>
#include <pprt/host/Batches.h>
#include <pprt/host/Parameters.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace pprt;

static std::atomic<bool> stops{false};

extern "C" {
static void noteStop(int signal) {
  stops = true;
  std::signal(signal, SIG_DFL); // a second one ends the process
}
}

static Expected<ppx::ArtifactT> load(const char *path) {
  Expected<ppx::ArtifactT> loaded = loadArtifact(path);
  if (loaded)
    if (CheckResult checks = checkArtifact(*loaded); !checks.ok())
      return checks.status();
  return loaded;
}

static Expected<uint32_t> findLoss(const ppx::ArtifactT &artifact) {
  for (uint32_t i = 0; i < artifact.outputs.size(); ++i)
    if (artifact.outputs[i]->role == ppx::OutputRole_loss)
      return i;
  return Status(ExitCode::badArtifact, "expects a loss, got none");
}

/// Steps until they are done or somebody wants the end: how many there were. A
/// failure is that of all processes.
static Expected<uint64_t> train(Session &session, World &world,
                                const host::Batches &batches, uint64_t steps) {
  const Expected<uint32_t> loss = findLoss(session.artifact());
  if (!loss)
    return loss.status();
  host::Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    // What can fail or end in one process alone is agreed on.
    const Verdict verdict =
        world.agree(batches.read(step, batch), stops ? 1 : 0);
    Status status = verdict.first;
    if (status.ok() && verdict.votes)
      return step;
    if (status.ok())
      status = host::setBatch(session, batch);
    if (status.ok() && step == 0)
      status = session.begin();
    if (status.ok())
      status = session.step();
    if (!status.ok())
      return status;
    if (world.process() == 0)
      std::printf("step %llu loss %.9g\n", (unsigned long long)step + 1,
                  session.scalar(*loss));
  }
  return steps;
}

static Status run(const std::shared_ptr<World> &world, const char *path,
                  const char *data, uint64_t steps, const char *out) {
  const auto agree = [&](const Status &mine) {
    return world->agree(mine).first;
  };
  world->watch([] { return stops.load(); });
  Expected<ppx::ArtifactT> loaded = load(path);
  if (Status status = agree(loaded.status()); !status.ok())
    return status;
  auto artifact = std::make_shared<const ppx::ArtifactT>(std::move(*loaded));

  // A thread per rank, in the process that has it.
  SessionOptions options;
  options.world = world;
  options.isInterrupted = [] { return stops.load(); };
  Expected<std::unique_ptr<Session>> created =
      Session::create(artifact, options);
  if (!created)
    return created.status();
  Session &session = **created;
  if (Status status = session.initialize(/*seed=*/0); !status.ok())
    return status;

  Expected<host::Batches> batches = host::Batches::open(data, *artifact);
  if (Status status = agree(batches.status()); !status.ok())
    return status;
  const Expected<uint64_t> made = train(session, *world, *batches, steps);
  if (!made && session.isStuck()) {
    // A kernel that did not end still uses what a proper end would free.
    std::fprintf(stderr, "run: error: %s\n", made.status().message().c_str());
    _exit(int(made.status().code()));
  }
  if (!made)
    return made.status();
  // What was learnt is written, however long that takes.
  world->watch({});
  if (*made > 0)
    if (Status status = session.end(); !status.ok())
      return status;
  if (Status status =
          agree(world->process() == 0 ? host::saveParameters(out, session)
                                      : host::giveParameters(session));
      !status.ok() || *made == steps)
    return status;
  return Status(ExitCode::interrupted,
                "interrupted after " + std::to_string(*made) + " steps");
}

/// A number from 1 on, or 0.
static uint64_t readCount(const char *text) {
  char *end = nullptr;
  errno = 0;
  const long count = std::strtol(text, &end, 10);
  return *text && !*end && errno == 0 && count > 0 ? uint64_t(count) : 0;
}

int main(int argc, char **argv) {
  const bool isShared = argc == 6 && std::strcmp(argv[5], "mpi") == 0;
  const uint64_t steps = argc > 3 ? readCount(argv[3]) : 0;
  if ((argc != 5 && !isShared) || steps == 0) {
    std::fputs("usage: run MODEL.ppx DATA STEPS OUT.safetensors [mpi], with 1 "
               "step or more\n",
               stderr);
    return 2;
  }
  // Each line is told at once: ends that are no exit() lose none.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::signal(SIGINT, noteStop);
  std::signal(SIGTERM, noteStop);

  Expected<std::unique_ptr<World>> opened =
      isShared ? openMpi() : Expected<std::unique_ptr<World>>(thisProcess());
  Status status = opened.status();
  if (opened) {
    const std::shared_ptr<World> world = std::move(*opened);
    status = run(world, argv[1], argv[2], steps, argv[4]);
    // All processes know of it: one tells, and ends the others.
    if (!status.ok() && isShared)
      world->abort(status);
  }
  if (!status.ok())
    std::fprintf(stderr, "run: error: %s\n", status.message().c_str());
  return int(status.code());
}

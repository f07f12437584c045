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
// the same; process 0 prints and writes.
//
//===----------------------------------------------------------------------===//
#include <pprt/Artifact.h>
#include <pprt/Checks.h>
#include <pprt/Session.h>
#include <pprt/World.h>
#include <pprt/host/Batches.h>
#include <pprt/host/Parameters.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace pprt;

static Expected<ppx::ArtifactT> load(const char *path) {
  Expected<ppx::ArtifactT> loaded = loadArtifact(path);
  if (loaded)
    if (CheckResult checks = checkArtifact(*loaded); !checks.ok())
      return checks.status();
  return loaded;
}

static Status run(std::shared_ptr<World> world, const char *path,
                  const char *data, uint64_t steps, const char *out) {
  // What can fail in one process alone is agreed on.
  const auto agree = [&](const Status &mine) {
    return world->agree(mine, /*interrupted=*/false).first;
  };
  Expected<ppx::ArtifactT> loaded = load(path);
  if (Status status = agree(loaded.status()); !status.ok())
    return status;
  auto artifact = std::make_shared<const ppx::ArtifactT>(std::move(*loaded));

  // A thread per rank, in the process that has it.
  SessionOptions options;
  options.world = world;
  Expected<std::unique_ptr<Session>> created =
      Session::create(artifact, options);
  if (!created)
    return created.status();
  Session &session = **created;
  session.initialize(/*seed=*/0);

  Expected<host::Batches> batches =
      host::Batches::open(data, *artifact, /*seed=*/0);
  if (Status status = agree(batches.status()); !status.ok())
    return status;
  host::Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    Status status = agree(batches->read(step, batch));
    if (status.ok())
      status = host::setBatch(session, batch);
    if (status.ok() && step == 0)
      status = session.begin();
    if (status.ok())
      status = session.step();
    if (!status.ok()) {
      // Whoever hangs in a kernel still uses the session.
      if (session.isStuck()) {
        std::fprintf(stderr, "run: error: %s\n", status.message().c_str());
        _exit(int(status.code()));
      }
      return status;
    }
    // The first output is the loss.
    if (world->process() == 0)
      std::printf("step %llu loss %.9g\n", (unsigned long long)step + 1,
                  session.scalar(0));
  }
  if (Status status = session.end(); !status.ok())
    return status;
  return agree(world->process() == 0 ? host::saveParameters(out, session)
                                     : host::giveParameters(session));
}

int main(int argc, char **argv) {
  const bool isShared = argc == 6 && std::strcmp(argv[5], "mpi") == 0;
  if (argc != 5 && !isShared) {
    std::fputs("usage: run MODEL.ppx DATA STEPS OUT.safetensors [mpi]\n",
               stderr);
    return 2;
  }
  Expected<std::unique_ptr<World>> opened =
      isShared ? openMpi() : Expected<std::unique_ptr<World>>(thisProcess());
  Status status = opened.status();
  if (opened) {
    std::shared_ptr<World> world = std::move(*opened);
    status = run(world, argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                 argv[4]);
    // All processes know of it: one tells, and ends the others.
    if (!status.ok() && isShared)
      world->abort(status);
  }
  if (!status.ok())
    std::fprintf(stderr, "run: error: %s\n", status.message().c_str());
  return int(status.code());
}

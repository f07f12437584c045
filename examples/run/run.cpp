//===- run.cpp - a program that runs artifacts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Trains what a .ppx file holds, on data that pp-run would take, and writes the
// parameters: an example of the installed runtime in C++.
//
//   run MODEL.ppx DATA STEPS OUT.safetensors
//
//===----------------------------------------------------------------------===//
#include <pprt/Artifact.h>
#include <pprt/Checks.h>
#include <pprt/Session.h>
#include <pprt/host/Batches.h>
#include <pprt/host/Parameters.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace pprt;

static Status run(const char *path, const char *data, uint64_t steps,
                  const char *out) {
  Expected<ppx::ArtifactT> loaded = loadArtifact(path);
  if (!loaded)
    return loaded.status();
  auto artifact = std::make_shared<const ppx::ArtifactT>(std::move(*loaded));
  if (CheckResult checks = checkArtifact(*artifact); !checks.ok())
    return checks.status();

  // A thread per rank.
  Expected<std::unique_ptr<Session>> created = Session::create(artifact);
  if (!created)
    return created.status();
  Session &session = **created;
  session.initialize(/*seed=*/0);

  Expected<host::Batches> batches =
      host::Batches::open(data, *artifact, /*seed=*/0);
  if (!batches)
    return batches.status();
  host::Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    Status status = batches->read(step, batch);
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
    std::printf("step %llu loss %.9g\n", (unsigned long long)step,
                session.scalar(0));
  }
  if (Status status = session.end(); !status.ok())
    return status;
  return host::saveParameters(out, session);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fputs("usage: run MODEL.ppx DATA STEPS OUT.safetensors\n", stderr);
    return 2;
  }
  const Status status =
      run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argv[4]);
  if (!status.ok())
    std::fprintf(stderr, "run: error: %s\n", status.message().c_str());
  return int(status.code());
}

//===- issuing.cpp - the time to issue a step to a GPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//   pp-issuing FILE.ppx [STEPS]
//
// Steps an artifact with --device=cuda over libraries in which each call
// returns at once (idle/). Prints for a step that is issued anew and for a
// recorded one: instructions, waits of streams for events, and microseconds of
// the host's processor, the median and the minimum of all steps: until all is
// issued, and until the outputs are there.
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "pprt/Ranks.h"
#include "pprt/Session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>

using namespace pprt;

static double now() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}

static void print(const char *what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf(" %s %.1f %.1f", what, times[times.size() / 2], times.front());
}

static Status measure(std::shared_ptr<const ppx::ArtifactT> artifact,
                      bool records, int steps) {
  SessionOptions options;
  options.device = "cuda";
  options.graph = records;
  Expected<std::unique_ptr<Session>> made = Session::create(artifact, options);
  if (!made)
    return made.status();
  Session &session = **made;
  for (uint32_t i = 0; i < artifact->arguments.size(); ++i) {
    const ppx::Role role = artifact->arguments[i]->role;
    const std::vector<std::byte> zeros(session.argumentBytes(i));
    if (role == ppx::Role_input || role == ppx::Role_label)
      if (Status status = session.setInput(i, zeros.data(), zeros.size());
          !status.ok())
        return status;
  }
  const auto *waits =
      static_cast<const uint64_t *>(dlsym(RTLD_DEFAULT, "ppIdleWaits"));
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!waits && driver)
    waits = static_cast<const uint64_t *>(dlsym(driver, "ppIdleWaits"));
  if (!waits)
    return Status(ExitCode::usage,
                  "expects the libcuda.so.1 of benchmarks/idle, which does "
                  "nothing, got another one (set LD_LIBRARY_PATH)");
  Status status = session.initialize(/*seed=*/0);
  if (status.ok())
    status = session.begin();
  const uint64_t before = *waits;
  uint64_t given = 0;
  std::vector<double> issuing, whole;
  for (int step = 0; status.ok() && step < steps; ++step) {
    const double begin = now();
    status = session.submit();
    const double issued = now();
    if (status.ok())
      status = session.wait();
    if (step == 0) // this one records
      given = *waits - before;
    else {
      issuing.push_back(issued - begin);
      whole.push_back(now() - begin);
    }
  }
  if (!status.ok())
    return status;
  uint64_t instructions = 0;
  for (const std::unique_ptr<ppx::ProgramT> &program : artifact->programs)
    instructions +=
        pprt::InstructionList(*program, pprt::Section::body).size() *
        program->ranks.size();
  std::printf("%s %lu instructions %lu waits", records ? "recorded" : "given",
              (unsigned long)instructions, (unsigned long)given);
  print("issuing", issuing);
  print("whole", whole);
  std::printf("\n");
  return {};
}

int main(int argc, char **argv) {
  const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
  if (argc < 2 || steps < 2) {
    std::fprintf(stderr,
                 "expects pp-issuing FILE.ppx [STEPS], 2 steps or more\n");
    return 2;
  }
  Expected<ppx::ArtifactT> loaded =
      loadArtifact(argv[1], {"sm_90", processorLevel()});
  Status status = loaded.status();
  if (loaded) {
    const auto artifact =
        std::make_shared<const ppx::ArtifactT>(std::move(*loaded));
    for (const bool records : {false, true})
      if (status.ok())
        status = measure(artifact, records, steps);
  }
  if (status.ok())
    return 0;
  std::fprintf(stderr, "pp-issuing: %s\n", status.message().c_str());
  return int(status.code());
}

//===- Launch.h - the processes of a run ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What --launcher names. All processes are started with the same options and do
// the same; what cannot be done alike, process 0 does: it compiles, tells and
// writes. Whatever fails anywhere is agreed upon before anybody goes on.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_LAUNCH_H
#define PP_RUN_LAUNCH_H

#include "Compile.h"
#include "Options.h"
#include "engine/enqueued/MemoryNeeds.h"
#include "pprt/World.h"

namespace pp::run {

/// Fails (usage) if the launcher cannot be had.
pprt::Expected<std::shared_ptr<pprt::World>> launch(const Options &options);

/// Fails (ranksDisagree) if processes are of different builds, or were given
/// different options.
pprt::Status compareProcesses(pprt::World &world);

/// The same if the files of an option, of which this is the fingerprint, are
/// others in other processes.
pprt::Status compareFiles(pprt::World &world,
                          const pprt::Expected<uint32_t> &mine,
                          const std::string &option);

/// Returns at once in the first process. What fails before there is a world
/// mostly fails in all of them: the first tells of it, whose end is that of the
/// others.
void letFirstTell();

/// At process 0, the level that the processors of all processes have; elsewhere
/// that of its own.
pprt::Expected<std::string> commonLevel(pprt::World &world,
                                        const std::string &own);

/// Gives the program of process 0 to all others, which have none, and whose
/// processors have that level.
pprt::Status share(pprt::World &world, const Options &options,
                   const std::string &level, Compiled &program);

/// By rank, the bytes behind its arena that messages on their way take; empty
/// if there are none.
std::vector<uint64_t> stagingOf(const pprt::TransportModel &model,
                                const pprt::ppx::ArtifactT &artifact);
/// The same before the devices are there. Of a dry run: each rank has one of
/// its own, and with --launcher=mpi a process.
std::vector<uint64_t> stagingOf(const Options &options,
                                const pprt::World &world,
                                const pprt::ppx::ArtifactT &artifact);

/// Whether all ranks are on one GPU; not of a dry run, which is of no machine.
bool shareGpu(const Options &options, const pprt::World &world);

/// Ranks of one GPU, and what the engine allocates there for them.
struct GpuUse {
  pprt::RankRange ranks;
  pprt::enqueued::MemoryNeeds needs;
};
/// Of the GPU that takes most. `staging` is stagingOf().
GpuUse findLargestGpu(const Options &options, bool isShared,
                      const pprt::ppx::ArtifactT &artifact,
                      const pprt::Mesh &mesh,
                      const std::vector<uint64_t> &staging);

} // namespace pp::run

#endif // PP_RUN_LAUNCH_H

//===- Launch.h - the processes of a run ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs as --launcher says. All processes start with the same options and do the
// same; process 0 alone compiles, prints and writes. All processes agree on a
// failure before any goes on.
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

/// Makes a text, or a number, of process 0 known to all.
pprt::Status shareText(pprt::World &world, std::string &text);
pprt::Expected<uint64_t> shareNumber(pprt::World &world, uint64_t number);

/// Fails (ranksDisagree) if processes are of different builds, or were given
/// different options.
pprt::Status compareProcesses(pprt::World &world);

/// The same if the files of an option, of which this is the fingerprint, are
/// others in other processes.
pprt::Status compareFiles(pprt::World &world,
                          const pprt::Expected<uint32_t> &mine,
                          const std::string &option);

/// Returns at once in the first process. Failures before the world exists
/// usually occur in all processes: the first prints it, and its end ends the
/// others.
void letFirstTell();

/// Whether standard output is a terminal on which lines may be redrawn.
bool drawsOnTerminal(const Options &options, const pprt::World &world);

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
/// The same before the devices exist. In a dry run each rank has a device, and
/// with --launcher=mpi a process.
std::vector<uint64_t> stagingOf(const Options &options,
                                const pprt::World &world,
                                const pprt::ppx::ArtifactT &artifact);

/// By rank, the bytes of what --checkpoint copies, where ranks compute in the
/// host's memory; empty if there are none.
std::vector<uint64_t> copiesOf(const Options &options,
                               const pprt::ppx::ArtifactT &artifact);
/// By rank, all that these programs take beside their arenas in the memory in
/// which they compute: stagingOf() and copiesOf().
std::vector<uint64_t> besideArenas(const Options &options,
                                   const pprt::World &world,
                                   const pprt::ppx::ArtifactT &artifact);

/// Whether all ranks are on one GPU; not of a dry run, which is of no machine.
bool shareGpu(const Options &options, const pprt::World &world);

/// Ranks of one GPU, and the engine's memory for them.
struct GpuUse {
  pprt::RankRange ranks;
  pprt::enqueued::MemoryNeeds needs;
};
/// The GPU with the largest use. `staging` is stagingOf().
GpuUse findLargestGpu(const Options &options, bool isShared,
                      const pprt::ppx::ArtifactT &artifact,
                      const pprt::Mesh &mesh,
                      const std::vector<uint64_t> &staging);

} // namespace pp::run

#endif // PP_RUN_LAUNCH_H

//===- Launch.cpp - the processes of a run --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Launch.h"
#include "../Process.h"
#include "collectives/mpi/Lanes.h"
#include "engine/LocalRank.h"
#include "pprt/ArgumentParts.h"
#include "pprt/Artifact.h"
#include "pprt/Backend.h"
#include "pprt/Files.h"
#include "pprt/Launcher.h"
#include "pprt/Processor.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <unistd.h>

using namespace pp::run;
using namespace pprt;

static uint32_t digestOf(const std::string &bytes) {
  return artifactChecksum(reinterpret_cast<const uint8_t *>(bytes.data()),
                          bytes.size());
}

static std::vector<std::byte> bytesOf(uint32_t number) {
  std::vector<std::byte> bytes(sizeof(number));
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

/// The words of a command line, each of which ends in a zero.
static std::vector<std::string> wordsOf(const char *bytes, size_t size) {
  std::vector<std::string> words;
  for (const char *const end = bytes + size; bytes < end;
       bytes += words.back().size() + 1)
    words.emplace_back(bytes, strnlen(bytes, size_t(end - bytes)));
  return words;
}

/// Says of the first process that has others than process 0 which word it is.
static Status compareOptions(World &world, const std::string &mine) {
  const auto *first = reinterpret_cast<const std::byte *>(mine.data());
  const Expected<std::vector<std::vector<std::byte>>> all =
      world.gather({first, first + mine.size()});
  Status status = all.status();
  const std::vector<std::string> own = wordsOf(mine.data(), mine.size());
  for (size_t process = 1; all && process < all->size() && status.ok();
       ++process) {
    const std::vector<std::byte> &bytes = (*all)[process];
    const std::vector<std::string> its =
        wordsOf(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    const auto [here, there] =
        std::mismatch(own.begin(), own.end(), its.begin(), its.end());
    if (here == own.end() && there == its.end())
      continue;
    const auto nameOf = [](auto word, const auto &words) {
      return word == words.end() ? std::string("nothing more")
                                 : "'" + *word + "'";
    };
    status = Status(
        ExitCode::ranksDisagree,
        "expects the same options in all processes, got " + nameOf(there, its) +
            " in process " + std::to_string(process) + " and " +
            nameOf(here, own) +
            " in process 0; start all processes with one mpirun command");
  }
  return world.agree(status).first;
}

Status pp::run::compareProcesses(World &world) {
  if (world.processCount() == 1)
    return {};
  // Two builds differ in their bytes.
  const Expected<std::string> program =
      readFile("/proc/self/exe", std::numeric_limits<int64_t>::max());
  if (Status status = world.agree(program.status()).first; !status.ok())
    return status;
  if (Status status = expectSame(world, bytesOf(digestOf(*program)),
                                 "build of pp-run", "install one on all hosts");
      !status.ok())
    return status;
  // Its size is not known before it is read. The first word is the program.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string options{std::istreambuf_iterator<char>(file),
                      std::istreambuf_iterator<char>()};
  options.erase(0, options.find('\0') + 1);
  return compareOptions(world, options);
}

Status pp::run::compareFiles(World &world, const Expected<uint32_t> &mine,
                             const std::string &option) {
  if (world.processCount() == 1)
    return {};
  if (Status status = world.agree(mine.status()).first; !status.ok())
    return status;
  return expectSame(
      world, bytesOf(*mine), "files of " + option,
      "copy the files of one host to all, or share them over a network disk");
}

Status pp::run::shareText(World &world, std::string &text) {
  const auto *first = reinterpret_cast<const std::byte *>(text.data());
  std::vector<std::byte> bytes(first, first + text.size());
  const Status status = world.broadcast(bytes);
  text.assign(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return status;
}

Expected<uint64_t> pp::run::shareNumber(World &world, uint64_t number) {
  std::string bytes(reinterpret_cast<const char *>(&number), sizeof(number));
  if (Status status = shareText(world, bytes); !status.ok())
    return status;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

Expected<std::string> pp::run::commonLevel(World &world,
                                           const std::string &own) {
  if (world.processCount() == 1)
    return own;
  const auto *first = reinterpret_cast<const std::byte *>(own.data());
  Expected<std::vector<std::vector<std::byte>>> all =
      world.gather({first, first + own.size()});
  if (Status status = world.agree(all.status()).first; !status.ok())
    return status;
  std::vector<std::string> levels = {own};
  for (const std::vector<std::byte> &bytes : *all)
    levels.emplace_back(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  return lowestLevel(levels);
}

void pp::run::letFirstTell() {
  if (!pp::isFirstProcess())
    sleep(2);
}

bool pp::run::drawsOnTerminal(const Options &options, const World &world) {
  // mpirun gives process 0 a terminal, whatever its own output is.
  return !options.quiet && world.processCount() == 1 && isatty(STDOUT_FILENO);
}

Expected<std::shared_ptr<World>> pp::run::launch(const Options &options) {
  const std::optional<Launched> launched = findLauncher();
  // Nothing is sent in a dry run, for which MPI need not be there.
  if (options.launcher == "threads" ||
      ((options.launcher.empty() || options.dryRun) &&
       !(launched && launched->isOneOfSeveral())))
    return std::shared_ptr<World>(thisProcess());
  Expected<std::unique_ptr<World>> opened = openMpi(options.hangTimeoutSeconds);
  if (!opened)
    return opened.status();
  return std::shared_ptr<World>(std::move(*opened));
}

Status pp::run::share(World &world, const Options &options,
                      const std::string &level, Compiled &program) {
  if (world.processCount() == 1)
    return {};
  std::vector<std::byte> bytes;
  if (world.process() == 0) {
    const std::vector<uint8_t> packed = packArtifact(*program.artifact);
    const auto *first = reinterpret_cast<const std::byte *>(packed.data());
    bytes.assign(first, first + packed.size());
  }
  if (Status status = world.broadcast(bytes); !status.ok())
    return status;
  if (world.process() == 0)
    return world.agree({}).first;
  Expected<ppx::ArtifactT> artifact =
      parseArtifact(reinterpret_cast<const uint8_t *>(bytes.data()),
                    bytes.size(), options.input, {"", level});
  if (artifact)
    program.artifact =
        std::make_shared<const ppx::ArtifactT>(std::move(*artifact));
  return world.agree(artifact.status()).first;
}

std::vector<uint64_t> pp::run::stagingOf(const TransportModel &model,
                                         const ppx::ArtifactT &artifact) {
  std::vector<uint64_t> bytes;
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  if (!mesh || !model.stagingBytes)
    return bytes;
  const uint32_t size = mesh->worldSize();
  const Ranks ranks(artifact, *mesh);
  const std::vector<Staging> all = layOutStaging(ranks, {0, size}, model);
  for (uint32_t rank = 0; rank < size; ++rank)
    bytes.push_back(all[rank].end - ranks.program(rank).arena_bytes);
  if (std::count(bytes.begin(), bytes.end(), 0) == size)
    bytes.clear();
  return bytes;
}

/// A dry run is of no machine: each rank has a device of its own.
static bool shareDevice(const Options &options, const World &world) {
  if (options.dryRun || world.processCount() > 1)
    return false;
  const Expected<uint32_t> count = countDevices(options.device);
  return count && *count == 1;
}

bool pp::run::shareGpu(const Options &options, const World &world) {
  return findBackend(options.device)->hasStreams && shareDevice(options, world);
}

GpuUse pp::run::findLargestGpu(const Options &options, bool isShared,
                               const ppx::ArtifactT &artifact, const Mesh &mesh,
                               const std::vector<uint64_t> &staging) {
  const Ranks ranks(artifact, mesh);
  std::vector<uint64_t> arenas;
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank)
    arenas.push_back(ranks.program(rank).arena_bytes +
                     (staging.empty() ? 0 : staging[rank]));
  RankRange range = {0, mesh.worldSize()};
  if (!isShared) {
    const auto most = std::max_element(arenas.begin(), arenas.end());
    const auto rank = uint32_t(most - arenas.begin());
    range = {rank, rank + 1};
    arenas = {*most};
  }
  return {range, enqueued::findNeeds(ranks, range, arenas,
                                     *findBackend(options.device))};
}

std::vector<uint64_t> pp::run::stagingOf(const Options &options,
                                         const World &world,
                                         const ppx::ArtifactT &artifact) {
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  if (!mesh)
    return {};
  // They reach each other's memory.
  if (shareDevice(options, world))
    return {};
  const uint32_t size = mesh->worldSize();
  TransportModel ofWorld = world.model(size);
  if (options.dryRun && options.launcher == "mpi" &&
      world.processCount() == 1) {
    std::vector<uint32_t> processOf(size);
    std::iota(processOf.begin(), processOf.end(), 0);
    ofWorld = mpi::model(std::move(processOf));
  }
  return stagingOf(deviceModel(options.device, std::move(ofWorld)), artifact);
}

std::vector<uint64_t> pp::run::copiesOf(const Options &options,
                                        const ppx::ArtifactT &artifact) {
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  if (!mesh || options.checkpoint.empty() ||
      findBackend(options.device)->hasStreams)
    return {};
  return givenBytes(argumentParts(artifact, *mesh), artifact, *mesh);
}

std::vector<uint64_t> pp::run::besideArenas(const Options &options,
                                            const World &world,
                                            const ppx::ArtifactT &artifact) {
  std::vector<uint64_t> bytes = stagingOf(options, world, artifact);
  const std::vector<uint64_t> copies = copiesOf(options, artifact);
  bytes.resize(std::max(bytes.size(), copies.size()));
  for (size_t rank = 0; rank < copies.size(); ++rank)
    bytes[rank] += copies[rank];
  return bytes;
}

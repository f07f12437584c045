//===- Saver.cpp - checkpoints of a training run --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Saver.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sys/random.h>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

using Clock = std::chrono::steady_clock;
/// No step.
static constexpr uint64_t kNone = UINT64_MAX;

static double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

Saver::Saver(const Options &options, Session &session, World &world,
             Restart restart)
    : options(options), session(session), world(world),
      restart(std::move(restart)), index(indexOf(session)),
      copy(session,
           world.ranksOf(world.process(), session.mesh().worldSize())) {}

/// Makes a number of process 0 known to all.
static Expected<uint64_t> shareNumber(World &world, uint64_t number) {
  std::vector<std::byte> bytes(sizeof(number));
  std::memcpy(bytes.data(), &number, sizeof(number));
  if (Status status = world.broadcast(bytes); !status.ok())
    return status;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

/// A number that no other run draws.
static uint64_t drawNumber() {
  uint64_t number = 0;
  // Entropy never lacks once the system has started.
  (void)!::getrandom(&number, sizeof(number), 0);
  return number;
}

/// Whether the folder is one and the same to all processes: process 0 makes a
/// file in it.
static Status checkShared(World &world, const std::string &folder,
                          const std::string &run) {
  if (world.processCount() == 1)
    return {};
  const std::string probe = probeFile(folder, run);
  Status mine;
  if (world.process() == 0)
    mine = writeFile(probe, "", 0);
  Status status = world.agree(mine).first;
  std::error_code error;
  if (status.ok() && world.process() != 0 &&
      !std::filesystem::exists(probe, error))
    mine = Status(ExitCode::io,
                  folder +
                      ": expects a folder that all processes share, got "
                      "another one in process " +
                      std::to_string(world.process()) +
                      "; give --checkpoint a folder on a network disk");
  if (status.ok())
    status = world.agree(mine).first;
  if (world.process() == 0)
    std::filesystem::remove(probe, error);
  return status;
}

/// Later checkpoints would be taken for the newest of this run.
static Status checkSteps(const std::string &folder, uint64_t step) {
  const std::vector<uint64_t> steps = stepsOf(folder);
  if (steps.empty() || steps.back() <= step)
    return {};
  return Status(ExitCode::usage,
                folder +
                    ": expects no checkpoints behind the step that the "
                    "run begins with, " +
                    std::to_string(step) + ", got step " +
                    std::to_string(steps.back()) +
                    "; go on from it with --resume, remove it, or give "
                    "another --checkpoint");
}

Expected<std::unique_ptr<Saver>>
Saver::open(const Options &options, Session &session, const Batches &batches,
            World &world, uint64_t step, Restart restart) {
  std::unique_ptr<Saver> saver(
      new Saver(options, session, world, std::move(restart)));
  Status status;
  if (saver->isFirst()) {
    Expected<CheckpointFolder> folder =
        CheckpointFolder::lock(options.checkpoint);
    status = folder.status();
    if (folder)
      saver->folder.emplace(std::move(*folder));
    if (status.ok())
      status = checkSteps(options.checkpoint, step);
    if (status.ok())
      status = saver->folder->clean(options.keep);
  }
  if (status = saver->agree(status); !status.ok())
    return status;
  const Expected<uint64_t> run = shareNumber(world, drawNumber());
  if (status = saver->agree(run.status()); !status.ok())
    return status;
  saver->run = std::to_string(*run);
  if (status = checkShared(world, options.checkpoint, saver->run); !status.ok())
    return status;
  const Expected<uint32_t> fingerprint = batches.fingerprint();
  if (status = saver->agree(fingerprint.status()); !status.ok())
    return status;
  saver->index.seed = options.seed;
  saver->index.data = options.data;
  saver->index.dataFingerprint = *fingerprint;
  saver->begun = step;
  // Of a file system that several hosts share, one must see the same.
  const std::vector<uint64_t> steps = stepsOf(options.checkpoint);
  const Expected<uint64_t> newest =
      shareNumber(world, steps.empty() ? kNone : steps.back());
  if (status = saver->agree(newest.status()); !status.ok())
    return status;
  if (*newest != kNone)
    saver->newest = *newest;
  return saver;
}

uint32_t Saver::votes(uint64_t step) const {
  uint32_t votes = 0;
  const bool isTime =
      options.saveEvery > 0
          ? step % options.saveEvery == 0
          : isFirst() && millisecondsSince(last) >= 1000. * options.saveSeconds;
  if (isTime && step > begun)
    votes |= Vote::saves;
  if (underWay && task.isBusy())
    votes |= Vote::writes;
  return votes;
}

void Saver::close(const Status &status) {
  failure = status;
  if (status.ok())
    newest = underWay;
  else if (isFirst())
    (void)folder->remove(*underWay);
  if (!status.ok() && isFirst() && tells)
    std::cerr << "pp-run: warning: step " << *underWay
              << " is not saved: " << status.message() << std::endl;
  // The next save tries again.
  if (status.ok() && isFirst() && !cleaned.ok())
    std::cerr << "pp-run: warning: older checkpoints stay: "
              << cleaned.message() << std::endl;
  underWay.reset();
}

void Saver::advance() {
  Status status = agree(task.finish());
  if (!status.ok() || isWritten)
    return close(status);
  isWritten = true;
  if (isFirst())
    task.start([this] {
      const Status status = folder->commit(index, metrics);
      if (status.ok())
        done.back().wholeMs = millisecondsSince(last);
      if (status.ok())
        cleaned = folder->clean(options.keep);
      return status;
    });
}

void Saver::finish() {
  while (underWay)
    advance();
}

void Saver::settle(uint32_t votes) {
  if (underWay && !(votes & Vote::writes))
    advance();
}

void Saver::save(uint64_t step, const std::string &lines) {
  const auto start = Clock::now();
  finish();
  last = start;
  underWay = step;
  done.push_back({step});
  isWritten = false;
  index.step = step;
  index.id = run + "-" + std::to_string(step);
  metrics = lines;
  Status status = agree(isFirst() ? folder->prepare(step) : Status());
  if (status.ok())
    status = agree(copy.take(session));
  if (status.ok())
    task.start([this] {
      return copy.write(stepFolder(options.checkpoint, index.step), index.id);
    });
  else
    close(status);
  done.back().waitMs = millisecondsSince(start);
}

Status Saver::saveLast(uint64_t step, const std::string &lines) {
  finish();
  if (newest == step)
    return {};
  tells = false;
  save(step, lines);
  finish();
  tells = true;
  return failure;
}

Expected<uint64_t> Saver::goBack(uint64_t most) {
  finish();
  Status status;
  uint64_t found = kNone;
  for (uint64_t step :
       isFirst() ? stepsOf(options.checkpoint) : std::vector<uint64_t>()) {
    if (step <= most)
      found = step;
    else if (status.ok())
      status = folder->remove(step);
  }
  if (status = agree(status); !status.ok())
    return status;
  const Expected<uint64_t> shared = shareNumber(world, found);
  if (!shared)
    return shared.status();
  newest.reset();
  if (*shared != kNone)
    newest = *shared;
  if (!newest) {
    status = restart();
    return status.ok() ? Expected<uint64_t>(begun) : status;
  }
  Expected<Checkpoint> checkpoint =
      Checkpoint::open(stepFolder(options.checkpoint, *newest));
  if (Status status = agree(checkpoint.status()); !status.ok())
    return status;
  if (Status status = agree(checkpoint->load(session, /*ofModelAlone=*/false));
      !status.ok())
    return status;
  return *newest;
}

std::string Saver::file() const {
  return newest && *newest > begun ? stepFolder(options.checkpoint, *newest)
                                   : "";
}

std::string Saver::advice() const {
  return newest ? "; step " + std::to_string(*newest) +
                      " is saved: go on with --resume=" + options.checkpoint
                : "";
}

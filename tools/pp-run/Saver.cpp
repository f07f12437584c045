//===- Saver.cpp - checkpoints of a training run --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Saver.h"
#include "Launch.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sys/random.h>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

using Clock = std::chrono::steady_clock;

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

/// Makes the folder one of this run. Its newest checkpoint, if any, must be the
/// resumed one: others would be taken for those of this run.
static Status adoptFolder(const CheckpointFolder &folder, uint64_t step,
                          const std::string &resumed, uint64_t keep) {
  const Expected<std::vector<uint64_t>> steps = stepsOf(folder.path());
  if (!steps)
    return steps.status();
  std::error_code error;
  const bool isOwn =
      !resumed.empty() && std::filesystem::equivalent(
                              stepFolder(folder.path(), step), resumed, error);
  if (!steps->empty() && !isOwn)
    return Status(ExitCode::usage,
                  folder.path() +
                      ": expects no checkpoints of another run, got "
                      "step " +
                      std::to_string(steps->back()) +
                      "; go on from it with --resume, or give another "
                      "--checkpoint");
  for (uint64_t later : *steps)
    if (later > step)
      if (Status status = folder.setAside(later); !status.ok())
        return status;
  if (Status status = folder.clean(UINT64_MAX, keep); !status.ok())
    std::cerr << "pp-run: warning: what earlier saves left stays: "
              << status.message() << std::endl;
  return {};
}

Expected<std::unique_ptr<Saver>>
Saver::open(const Options &options, Session &session, const Batches &batches,
            World &world, uint64_t step, const std::string &resumed,
            Restart restart) {
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
      status = adoptFolder(*saver->folder, step, resumed, options.keep);
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
  std::error_code error;
  const bool isOwn = !resumed.empty() &&
                     std::filesystem::equivalent(
                         stepFolder(options.checkpoint, step), resumed, error);
  // Of a file system that several hosts share, one must see the same.
  const Expected<uint64_t> shared = shareNumber(world, isOwn);
  if (status = saver->agree(shared.status()); !status.ok())
    return status;
  if (*shared)
    saver->own = {step};
  return saver;
}

uint32_t Saver::votes(uint64_t step) const {
  const bool isTime =
      options.saveEvery > 0
          ? step % options.saveEvery == 0
          : isFirst() && millisecondsSince(last) >= 1000. * options.saveSeconds;
  return votes() | voteIf(isTime && step > begun, Vote::saves);
}

bool Saver::haveAll(const Status &mine) const {
  return (world.agree({}, voteIf(!mine.ok(), Vote::fails)).votes &
          Vote::fails) == 0;
}

void Saver::close(bool isSaved, const Status &mine) {
  const uint64_t step = *underWay;
  underWay.reset();
  if (isSaved) {
    failure = {};
    while (!own.empty() && own.back() >= step)
      own.pop_back();
    own.push_back(step);
    if (own.size() > options.keep)
      own.erase(own.begin(), own.end() - int64_t(options.keep));
    // The next save tries again.
    if (isFirst() && !cleaned.ok())
      std::cerr << "pp-run: warning: older checkpoints stay: "
                << cleaned.message() << std::endl;
    return;
  }
  failure = mine.ok() ? Status(ExitCode::io, "another process cannot write it")
                      : mine;
  if (isFirst())
    (void)folder->remove(step);
  if (tells && (isFirst() || !mine.ok()))
    std::cerr << "pp-run: warning: step " << step
              << " is not saved: " << failure.message() << std::endl;
}

void Saver::advance() {
  const Status mine = task.finish();
  const bool areDone = haveAll(mine);
  if (!areDone || isWritten)
    return close(areDone, mine);
  isWritten = true;
  if (isFirst())
    task.start([this] {
      const Status status = folder->commit(index, metrics);
      if (status.ok())
        done.back().wholeMs = millisecondsSince(last);
      if (status.ok())
        cleaned = folder->clean(index.step, options.keep);
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
  done.back().begin =
      std::chrono::nanoseconds(start.time_since_epoch()).count();
  isWritten = false;
  index.step = step;
  index.id = run + "-" + std::to_string(step);
  metrics = lines;
  Status mine = isFirst() ? folder->prepare(step) : Status();
  bool isReady = haveAll(mine);
  if (isReady) {
    mine = copy.take(session);
    isReady = haveAll(mine);
  }
  if (isReady)
    task.start([this] {
      return copy.write(stepFolder(options.checkpoint, index.step), index.id);
    });
  else
    close(false, mine);
  done.back().waitMs = millisecondsSince(start);
}

Status Saver::saveLast(uint64_t step, const std::string &lines) {
  finish();
  if (!own.empty() && own.back() == step)
    return {};
  tells = false;
  save(step, lines);
  finish();
  tells = true;
  // All return the same: the one that failed says why.
  const bool isWorthless = failure.code() == ExitCode::nonFinite;
  return agree(failure.ok()
                   ? failure
                   : Status(failure.code(),
                            "step " + std::to_string(step) +
                                (isWorthless ? ": " : " is not saved: ") +
                                failure.message()));
}

Expected<uint64_t> Saver::goBack(uint64_t most) {
  finish();
  const auto behind = std::upper_bound(own.begin(), own.end(), most);
  if (behind == own.begin()) {
    const Status status = restart();
    return status.ok() ? Expected<uint64_t>(begun) : status;
  }
  const uint64_t step = *std::prev(behind);
  Expected<Checkpoint> checkpoint =
      Checkpoint::open(stepFolder(options.checkpoint, step));
  if (Status status = agree(checkpoint.status()); !status.ok())
    return status;
  if (Status status = agree(checkpoint->load(session, /*ofModelAlone=*/false));
      !status.ok())
    return status;
  return step;
}

std::vector<CheckpointReport> Saver::endReports() {
  // Others may have failed: only a single process can end a save alone.
  if (world.processCount() == 1)
    finish();
  (void)task.finish();
  return done;
}

std::string Saver::file() const {
  return !own.empty() && own.back() > begun
             ? stepFolder(options.checkpoint, own.back())
             : "";
}

std::string Saver::advice() const {
  return own.empty()
             ? ""
             : "; step " + std::to_string(own.back()) +
                   " is saved: go on with --resume=" + options.checkpoint;
}

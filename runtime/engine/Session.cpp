//===- Session.cpp - an artifact, loaded and running ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"
#include "pprt/Artifact.h"
#include "pprt/ControlGroup.h"
#include "pprt/ElementFormats.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <sched.h>
#include <set>

using namespace pprt;

/// More threads than this in one process are a mistake.
static constexpr uint64_t kMaxThreads = 4096;

unsigned pprt::coreCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  // Threads beyond a container's share of time stop while others wait for them.
  static const std::optional<double> share = groupLimits().cores;
  return unsigned(
      std::max(1, std::min(CPU_COUNT(&set), int(share.value_or(CPU_SETSIZE)))));
}

template <typename Tensor> static Status checkDimensions(const Tensor &tensor) {
  if (tensor.shape.size() <= ShardedTensor::kMaxDimensions)
    return {};
  return Status(ExitCode::badArtifact,
                "'" + tensor.name + "' expects at most " +
                    std::to_string(ShardedTensor::kMaxDimensions) +
                    " dimensions, got " + std::to_string(tensor.shape.size()));
}

Session::Session(std::unique_ptr<State> state) : state(std::move(state)) {}
Session::~Session() { (void)state->tell(CallKind::destroy); }

Expected<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                const SessionOptions &options) {
  return orOutOfMemory([&]() -> Expected<std::unique_ptr<Session>> {
    auto state = std::make_unique<State>();
    state->artifact = artifact;
    state->world = options.world ? options.world : thisProcess();
    World &world = *state->world;
    const Status prepared = state->prepare(options);
    if (options.leads && !prepared.ok())
      return prepared; // the other processes do not know of the session yet
    if (options.leads && world.processCount() > 1) {
      static uint64_t sessions = 0;
      state->leads = ++sessions;
      const std::vector<uint8_t> packed = packArtifact(*artifact);
      const auto *bytes = reinterpret_cast<const std::byte *>(packed.data());
      const Call call = {CallKind::create,
                         state->leads,
                         options.threadsPerRank,
                         options.hangTimeoutSeconds,
                         options.graph,
                         options.device,
                         {bytes, bytes + packed.size()}};
      if (Status status = pprt::tell(world, call); !status.ok())
        return status;
      if (Status status = state->agree({}); !status.ok())
        return status;
    }
    // A process that fails alone would keep the others waiting.
    if (Status status = state->compareArtifacts(); !status.ok())
      return status;
    if (Status status = state->agree(prepared); !status.ok())
      return status;
    if (Status status = state->makeDevices(options); !status.ok())
      return status;
    Expected<TransportModel> model =
        state->devices->meet(world, state->host->mesh.worldSize());
    if (!model)
      return model.status();
    state->model = std::move(*model);
    if (Status status = state->agree(state->checkMemory()); !status.ok())
      return status;
    // Connecting waits for all other processes, so all must have started.
    if (Status status = state->agree(state->start(options)); !status.ok())
      return status;
    state->readMemory(&enqueued::MemoryReadings::prepared);
    if (Status status = state->agree(state->devices->connect()); !status.ok())
      return status;
    state->readMemory(&enqueued::MemoryReadings::connected);
    if (Status status = state->readClocks(); !status.ok())
      return status;
    return std::unique_ptr<Session>(new Session(std::move(state)));
  });
}

/// The part of create() that needs no other process.
Status Session::State::prepare(const SessionOptions &options) {
  if (!(options.hangTimeoutSeconds >= 0))
    return Status(ExitCode::usage,
                  "expects hangTimeoutSeconds of 0 (never) or more, got " +
                      std::to_string(options.hangTimeoutSeconds));
  Expected<Mesh> mesh = Mesh::create(artifact->axes);
  if (!mesh)
    return mesh.status();
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact->arguments)
    if (Status status = checkDimensions(*argument); !status.ok())
      return status;
  for (const std::unique_ptr<ppx::OutputT> &output : artifact->outputs)
    if (Status status = checkDimensions(*output); !status.ok())
      return status;
  for (uint32_t i = 0; i < artifact->arguments.size(); ++i)
    argumentOf.emplace(artifact->arguments[i]->name, i);
  host = std::make_shared<HostBuffers>(*artifact, *mesh);
  if (world->processCount() > mesh->worldSize())
    return Status(ExitCode::usage, "expects at most " +
                                       std::to_string(mesh->worldSize()) +
                                       " processes, one for each rank, got " +
                                       std::to_string(world->processCount()) +
                                       "; start fewer, or give a larger mesh");
  collected.resize(mesh->worldSize());
  hasValue.resize(artifact->arguments.size());
  range = world->ranksOf(world->process(), mesh->worldSize());
  inputRows = rowsLoaded(*artifact, *mesh, range);
  cores = world->coreCount();
  threads = options.threadsPerRank       ? options.threadsPerRank
            : artifact->threads_per_rank ? artifact->threads_per_rank
                                         : std::max(1u, cores / range.size());
  backend = findBackend(options.device);
  return checkDeviceName(options.device);
}

/// Processes with different programs would wait for each other, or add values
/// that do not belong together.
Status Session::State::compareArtifacts() const {
  if (world->processCount() == 1)
    return {};
  const uint32_t sum = artifactIdentity(*artifact);
  std::vector<std::byte> mine(sizeof(sum));
  std::memcpy(mine.data(), &sum, sizeof(sum));
  return expectSame(*world, std::move(mine), "artifact",
                    "open one file everywhere, and one image of it");
}

/// Collective.
Status Session::State::makeDevices(const SessionOptions &options) {
  Expected<std::shared_ptr<Devices>> made = backend->open(
      {options.resolver, threads, spins()}, *world, host->mesh.worldSize());
  if (!made)
    return made.status();
  devices = std::move(*made);
  if (!devices || (devices->count() != 1 && devices->count() != range.size()))
    return Status(ExitCode::device,
                  "'--device=" + options.device +
                      "' expects one device for all ranks of a process or one "
                      "for each of " +
                      std::to_string(range.size()) + ", got " +
                      std::to_string(devices ? devices->count() : 0));
  deviceName = devices->device(0).name();
  if (!devices->usesThreads())
    threads = 0; // the device runs its kernels without host threads
  return {};
}

Status Session::State::start(const SessionOptions &options) {
  if (uint64_t(threads) * range.size() > kMaxThreads)
    return Status(ExitCode::device, "expects at most " +
                                        std::to_string(kMaxThreads) +
                                        " threads in one process, got " +
                                        std::to_string(range.size()) +
                                        " ranks of " + std::to_string(threads));
  for (size_t i = 0; i < devices->count(); ++i)
    if (Status status = devices->device(i).load(*artifact); !status.ok())
      return status;
  readMemory(&enqueued::MemoryReadings::loaded);
  auto made = devices->makeExecutor(
      artifact, host->mesh,
      {range,
       {options.hangTimeoutSeconds, options.isInterrupted},
       spins(),
       options.graph},
      host);
  if (!made)
    return made.status();
  executor = std::move(*made);
  return {};
}

Status Session::State::agree(const Status &mine) {
  return world->agree(mine).first;
}

Status Session::State::tell(CallKind kind, uint64_t number, const void *bytes,
                            uint64_t size) const {
  if (leads == 0)
    return {};
  const auto *first = static_cast<const std::byte *>(bytes);
  return pprt::tell(*world,
                    {kind, leads, number, 0, true, "", {first, first + size}});
}

const ppx::ArtifactT &Session::artifact() const { return *state->artifact; }
const Mesh &Session::mesh() const { return state->host->mesh; }
const std::string &Session::device() const { return state->deviceName; }
const TransportModel &Session::transportModel() const { return state->model; }
unsigned Session::threadsPerRank() const { return state->threads; }
bool Session::oversubscribed() const { return !state->spins(); }

Status Session::State::gatherOutputs(Section section) {
  if (world->processCount() == 1 || !host->emits(section))
    return {};
  const uint32_t worldSize = host->mesh.worldSize();
  const bool isFirst = world->process() == 0;
  Expected<std::vector<std::vector<std::byte>>> all = world->gather(
      isFirst ? std::vector<std::byte>() : host->packOutputs(section, range));
  if (!all)
    return all.status();
  for (uint32_t process = 1; process < all->size(); ++process)
    host->unpackOutputs(section, world->ranksOf(process, worldSize),
                        (*all)[process]);
  std::vector<std::byte> scalars = host->packScalars();
  if (Status status = world->broadcast(scalars); !status.ok())
    return status;
  host->unpackScalars(scalars);
  return {};
}

/// A process that fails alone reports it to the others when all call wait().
Status Session::State::submit(Section section, int64_t step) {
  if (!failure.ok())
    return failure;
  const Status status = executor->submit(section, step);
  if (world->processCount() == 1)
    failure = status;
  return failure;
}

Status Session::State::wait(Section section) {
  if (failure.ok())
    failure = agree(executor->wait());
  if (failure.ok())
    failure = gatherOutputs(section);
  return failure;
}

Status Session::State::run(Section section, int64_t step) {
  const Status status = submit(section, step);
  return status.ok() ? wait(section) : status;
}

Status Session::State::expectIdle(const char *call) const {
  if (underWay == 0 || !failure.ok())
    return {};
  return Status(ExitCode::usage,
                std::string(call) + " expects no steps in flight, got " +
                    std::to_string(underWay) + "; wait() for them first");
}

Status Session::State::expect(Phase wanted, Section section,
                              const char *call) const {
  if (!failure.ok())
    return failure;
  if (phase == wanted)
    return world->processCount() == 1 && keepsValues()
               ? host->expectInputs(section)
               : Status();
  static constexpr const char *kNames[] = {"opened", "begun", "ended"};
  return Status(ExitCode::usage,
                std::string(call) + " expects a session that is " +
                    kNames[size_t(wanted)] + ", got one that is " +
                    kNames[size_t(phase)]);
}

/// Fails if an argument without a value would leave its slot undefined.
Status Session::State::expectValues() const {
  for (uint32_t i = 0; i < artifact->arguments.size(); ++i)
    if (!isInput(i) && !hasValue[i] && keepsValues())
      return Status(ExitCode::usage, "begin expects a value of '" +
                                         artifact->arguments[i]->name +
                                         "', got none; initialize() sets "
                                         "all arguments");
  return {};
}

Status Session::begin(uint64_t steps) {
  return state->guard([&]() -> Status {
    Status status =
        state->expect(State::Phase::opened, Section::setup, "begin");
    if (status.ok())
      status = state->expectValues();
    if (status.ok())
      status = state->tell(CallKind::begin, steps);
    if (status.ok())
      status = state->run(Section::setup, -1);
    if (status.ok()) {
      state->phase = State::Phase::begun;
      state->steps = int64_t(steps);
    }
    return status;
  });
}

unsigned Session::stepsAhead() const { return state->stepsAhead(); }

Status Session::submit() {
  return state->guard([&]() -> Status {
    Status status = state->expect(State::Phase::begun, Section::body, "a step");
    if (status.ok() && state->underWay == stepsAhead())
      status = Status(ExitCode::usage,
                      "submit() called with " + std::to_string(stepsAhead()) +
                          (stepsAhead() == 1 ? " step" : " steps") +
                          " in flight; wait() for the oldest first");
    if (status.ok())
      status = state->tell(CallKind::submit);
    if (status.ok())
      status = state->submit(Section::body, state->steps++);
    if (status.ok())
      ++state->underWay;
    return status;
  });
}

Status Session::wait() {
  return state->guard([&]() -> Status {
    if (!state->failure.ok())
      return state->failure;
    if (state->underWay == 0)
      return Status(ExitCode::usage, "wait() called with no step in flight");
    if (Status status = state->tell(CallKind::wait); !status.ok())
      return status;
    --state->underWay;
    return state->wait(Section::body);
  });
}

bool Session::hasEnded() const {
  return state->underWay == 0 || !state->failure.ok() ||
         state->executor->hasEnded();
}

Status Session::step() {
  if (Status status = state->expectIdle("a step"); !status.ok())
    return status;
  const Status status = submit();
  return status.ok() ? wait() : status;
}

Status Session::end() {
  return state->guard([&]() -> Status {
    Status status =
        state->expect(State::Phase::begun, Section::teardown, "end");
    if (status.ok())
      status = state->expectIdle("end");
    if (status.ok())
      status = state->tell(CallKind::end);
    if (status.ok())
      status = state->run(Section::teardown, state->steps);
    if (status.ok())
      state->phase = State::Phase::ended;
    return status;
  });
}

bool Session::isStuck() const { return state->executor->isStuck(); }
const Status &Session::failure() const { return state->failure; }

const void *Session::output(uint32_t output) const {
  return output < state->host->outputValues.size()
             ? state->host->outputValues[output].data()
             : nullptr;
}

double Session::scalar(uint32_t index) const {
  if (index >= state->host->outputValues.size() ||
      state->host->outputs[index].elementCount() != 1)
    return std::numeric_limits<double>::quiet_NaN();
  const std::byte *value = state->host->outputValues[index].data();
  return withFormat(state->artifact->outputs[index]->element,
                    [value](auto format) {
                      using Format = decltype(format);
                      typename Format::Stored stored;
                      std::memcpy(&stored, value, sizeof(stored));
                      return double(Format::load(stored));
                    });
}

Measurements Session::State::measure(uint32_t rank) const {
  const LocalRank &its = executor->rank(rank);
  Measurements result;
  for (Section section : kSections)
    result.times[size_t(section)] = its.times[size_t(section)];
  result.peakBytes = its.peakBytes();
  result.allocationCount = its.allocations.count;
  return result;
}

/// Converts times of other processes to this one's clock by the first and the
/// last reading.
Status Session::State::readClocks() {
  Expected<std::vector<ClockReading>> readings = world->readClocks();
  if (readings)
    clocks.add(std::move(*readings));
  return readings.status();
}

Status Session::collect() {
  return state->guard([&]() -> Status {
    World &world = *state->world;
    if (Status status = state->expectIdle("to collect"); !status.ok())
      return status;
    if (world.processCount() == 1)
      return {};
    if (!state->failure.ok())
      return state->failure; // some processes may have ended
    if (Status status = state->tell(CallKind::collect); !status.ok())
      return status;
    if (Status status = state->readClocks(); !status.ok())
      return status;
    std::vector<std::byte> mine;
    if (world.process() != 0)
      pack(state->measureDevices(), mine);
    for (uint32_t rank = state->range.begin; rank < state->range.end; ++rank)
      if (world.process() != 0)
        state->measure(rank).pack(mine);
    Expected<std::vector<std::vector<std::byte>>> all =
        world.gather(std::move(mine));
    if (!all)
      return all.status();
    state->devicesElsewhere.resize(all->size());
    for (uint32_t process = 1; process < all->size(); ++process) {
      const RankRange range = world.ranksOf(process, mesh().worldSize());
      const std::byte *bytes =
          unpack((*all)[process].data(), state->devicesElsewhere[process]);
      for (uint32_t rank = range.begin; rank < range.end; ++rank) {
        Measurements &its = state->collected[rank];
        bytes = its.unpack(state->host->ranks.program(rank), bytes);
        for (std::vector<InstructionTime> &section : its.times)
          for (InstructionTime &time : section) {
            time.begin = state->clocks.convert(process, time.begin);
            time.end = state->clocks.convert(process, time.end);
          }
      }
    }
    return {};
  });
}

/// Adds the two largest errors: a comparison involves two clocks.
double Session::clockError() const {
  const State &its = *state;
  std::vector<int64_t> errors; // by device, of all processes
  for (size_t i = 0; i < its.devices->count(); ++i)
    errors.push_back(
        its.clocks.error(its.world->process()) +
        its.executor->timesError(its.ranksOf(i).begin, Section::body));
  for (uint32_t process = 0; process < its.devicesElsewhere.size(); ++process)
    for (const DeviceMeasurements &device : its.devicesElsewhere[process])
      errors.push_back(its.clocks.error(process) + device.timesError);
  if (errors.size() == 1)
    return 0; // one clock
  std::nth_element(errors.begin(), errors.begin() + 1, errors.end(),
                   std::greater<>());
  return double(errors[0] + errors[1]) / 1e9;
}

const std::vector<InstructionTime> &Session::times(uint32_t rank,
                                                   Section section) const {
  static const std::vector<InstructionTime> none;
  if (rank >= state->collected.size())
    return none;
  return state->range.contains(rank)
             ? state->executor->rank(rank).times[size_t(section)]
             : state->collected[rank].times[size_t(section)];
}

uint64_t Session::measuredPeakBytes(uint32_t rank) const {
  if (rank >= state->collected.size())
    return 0;
  return state->range.contains(rank) ? state->executor->rank(rank).peakBytes()
                                     : state->collected[rank].peakBytes;
}

std::vector<NamedCount> Session::counters() const {
  return state->devices->device(0).counters();
}

std::vector<UnfusedProduct> Session::unfusedProducts() const {
  std::vector<UnfusedProduct> all;
  std::set<std::string> seen;
  for (size_t i = 0; i < state->devices->count(); ++i)
    for (UnfusedProduct &product : state->devices->device(i).unfusedProducts())
      if (seen.insert(product.kernel).second)
        all.push_back(std::move(product));
  return all;
}

uint64_t Session::allocationCount(uint32_t rank) const {
  if (rank >= state->collected.size())
    return 0;
  if (!state->range.contains(rank))
    return state->collected[rank].allocationCount;
  return state->executor->rank(rank).allocations.count;
}

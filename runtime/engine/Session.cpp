//===- Session.cpp - an artifact, loaded and running ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Session.h"
#include "../backends/cpu/Executor.h"
#include "../backends/cpu/KernelObject.h"
#include "Shards.h"
#include "pprt/BFloat16.h"
#include "pprt/Initialize.h"
#include "pprt/Processor.h"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <set>
#include <unordered_map>

using namespace pprt;

namespace {

/// The host's side of LOAD and EMIT.
class HostBuffers final : public cpu::HostData {
public:
  HostBuffers(const ppx::ArtifactT &artifact, const Mesh &mesh);

  Status load(uint32_t rank, const ppx::InstructionT &instruction,
              std::byte *slot) override;
  void emit(uint32_t rank, const ppx::InstructionT &instruction,
            const std::byte *slot) override;

  const ppx::ArtifactT &artifact;
  const Mesh mesh;
  std::vector<ShardedTensor> arguments, outputs;
  /// By argument. Copies: a thread that is stuck may read them at any time.
  std::vector<std::optional<std::vector<std::byte>>> inputs;
  std::vector<std::vector<std::byte>> outputValues; ///< by output

private:
  /// By output and rank: of equal copies, the first is the one kept.
  std::vector<std::vector<bool>> firstHolder;
};

} // namespace

HostBuffers::HostBuffers(const ppx::ArtifactT &artifact, const Mesh &mesh)
    : artifact(artifact), mesh(mesh), inputs(artifact.arguments.size()) {
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact.arguments)
    arguments.emplace_back(*argument, artifact);
  for (const std::unique_ptr<ppx::OutputT> &output : artifact.outputs) {
    outputs.emplace_back(*output, artifact);
    outputValues.emplace_back(outputs.back().globalBytes());
    std::vector<bool> &first = firstHolder.emplace_back(mesh.worldSize());
    std::set<ShardedTensor::Index> covered;
    for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank)
      if (std::find(output->stages.begin(), output->stages.end(),
                    mesh.stage(rank)) != output->stages.end())
        first[rank] =
            covered.insert(outputs.back().origin(mesh, rank, 0)).second;
  }
}

Status HostBuffers::load(uint32_t rank, const ppx::InstructionT &instruction,
                         std::byte *slot) {
  const ShardedTensor &tensor = arguments[instruction.binding];
  const auto &input = inputs[instruction.binding];
  if (!input)
    return Status(ExitCode::usage,
                  "input '" + artifact.arguments[instruction.binding]->name +
                      "' expects a batch, got none");
  tensor.scatter(tensor.origin(mesh, rank, instruction.micro_batch),
                 input->data(), slot);
  return {};
}

void HostBuffers::emit(uint32_t rank, const ppx::InstructionT &instruction,
                       const std::byte *slot) {
  if (!firstHolder[instruction.binding][rank])
    return;
  const ShardedTensor &tensor = outputs[instruction.binding];
  tensor.gather(tensor.origin(mesh, rank, instruction.micro_batch), slot,
                outputValues[instruction.binding].data());
}

struct Session::State {
  std::shared_ptr<const ppx::ArtifactT> artifact;
  std::shared_ptr<HostBuffers> host;
  std::unique_ptr<cpu::Executor> executor;
  std::vector<uint32_t> programOf;                      ///< by rank
  std::unordered_map<std::string, uint32_t> argumentOf; ///< by name
  unsigned threads = 1, cores = 1;
  int64_t steps = 0;

  bool isInput(uint32_t argument) const {
    const ppx::Role role = artifact->arguments[argument]->role;
    return role == ppx::Role_input || role == ppx::Role_label;
  }
  Status checkBytes(uint32_t argument, uint64_t bytes, bool input) const;
  Status checkStopped() const;
  /// Calls f(rank, memory, origin) for every shard of a parameter or state.
  template <typename Function>
  void forEachShard(uint32_t argument, Function &&f) const;
};

/// More threads than this in one process are a mistake.
static constexpr uint64_t kMaxThreads = 4096;

unsigned pprt::coreCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
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
Session::~Session() = default;

Expected<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                const SessionOptions &options) {
  Expected<Mesh> mesh = Mesh::create(artifact->axes);
  if (!mesh)
    return mesh.status();
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact->arguments)
    if (Status status = checkDimensions(*argument); !status.ok())
      return status;
  for (const std::unique_ptr<ppx::OutputT> &output : artifact->outputs)
    if (Status status = checkDimensions(*output); !status.ok())
      return status;
  auto state = std::make_unique<State>();
  state->artifact = artifact;
  state->programOf.resize(mesh->worldSize());
  for (uint32_t p = 0; p < artifact->programs.size(); ++p)
    for (uint32_t rank : artifact->programs[p]->ranks)
      state->programOf[rank] = p;
  for (uint32_t i = 0; i < artifact->arguments.size(); ++i)
    state->argumentOf.emplace(artifact->arguments[i]->name, i);
  state->host = std::make_shared<HostBuffers>(*artifact, *mesh);

  state->cores = coreCount();
  state->threads = options.threadsPerRank ? options.threadsPerRank
                   : artifact->threads_per_rank
                       ? artifact->threads_per_rank
                       : std::max(1u, state->cores / mesh->worldSize());
  if (uint64_t(state->threads) * mesh->worldSize() > kMaxThreads)
    return Status(ExitCode::device,
                  "expects at most " + std::to_string(kMaxThreads) +
                      " threads in one process, got " +
                      std::to_string(mesh->worldSize()) + " ranks of " +
                      std::to_string(state->threads));
  cpu::ExecutorOptions executor;
  executor.resolver = options.resolver;
  executor.threadsPerRank = state->threads;
  executor.spin = state->threads * mesh->worldSize() <= state->cores;
  executor.hangTimeoutSeconds = options.hangTimeoutSeconds;
  if (!executor.resolver && !artifact->object.empty()) {
    if (!hasProcessorLevel(artifact->processor))
      return Status(ExitCode::badArtifact,
                    "kernels expect a processor of level " +
                        artifact->processor + ", got " +
                        (processorLevel().empty() ? "another architecture"
                                                  : processorLevel()) +
                        "; compile the module again on this machine");
    Expected<KernelResolver> object = loadKernelObject(artifact->object);
    if (!object)
      return object.status();
    executor.resolver = *object;
  }
  Expected<std::unique_ptr<cpu::Executor>> created =
      cpu::Executor::create(artifact, *mesh, executor, state->host);
  if (!created)
    return created.status();
  state->executor = std::move(*created);
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

const ppx::ArtifactT &Session::artifact() const { return *state->artifact; }
const Mesh &Session::mesh() const { return state->host->mesh; }
unsigned Session::threadsPerRank() const { return state->threads; }
bool Session::oversubscribed() const {
  return state->threads * mesh().worldSize() > state->cores;
}

template <typename Function>
void Session::State::forEachShard(uint32_t argument, Function &&f) const {
  const ShardedTensor &tensor = host->arguments[argument];
  for (uint32_t rank = 0; rank < programOf.size(); ++rank) {
    const int32_t slot = artifact->arguments[argument]->slots[programOf[rank]];
    if (slot >= 0)
      f(executor->slot(rank, uint32_t(slot)),
        tensor.origin(host->mesh, rank, 0));
  }
}

void Session::initialize(uint64_t seed) {
  std::vector<std::byte> values;
  for (uint32_t i = 0; i < state->artifact->arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *state->artifact->arguments[i];
    if (state->isInput(i))
      continue;
    const ShardedTensor &tensor = state->host->arguments[i];
    values.assign(tensor.globalBytes(), std::byte(0));
    if (argument.initializer)
      pprt::initialize(*argument.initializer, seed, argument.element,
                       tensor.elementCount(), values.data());
    state->forEachShard(i, [&](std::byte *slot, const auto &origin) {
      tensor.scatter(origin, values.data(), slot);
    });
  }
}

std::optional<uint32_t> Session::findArgument(const std::string &name) const {
  const auto found = state->argumentOf.find(name);
  return found == state->argumentOf.end() ? std::nullopt
                                          : std::optional(found->second);
}

uint64_t Session::argumentBytes(uint32_t argument) const {
  return state->host->arguments[argument].globalBytes();
}
uint64_t Session::outputBytes(uint32_t output) const {
  return state->host->outputs[output].globalBytes();
}

Status Session::State::checkStopped() const {
  if (!executor->isStuck())
    return {};
  return Status(ExitCode::hang, "expects ranks that have stopped, got one that "
                                "is still inside a kernel");
}

Status Session::State::checkBytes(uint32_t argument, uint64_t bytes,
                                  bool input) const {
  const uint64_t expected = host->arguments[argument].globalBytes();
  if (expected == bytes && isInput(argument) == input)
    return {};
  return Status(ExitCode::badParameters,
                std::string(input ? "input '" : "parameter '") +
                    artifact->arguments[argument]->name + "' expects " +
                    (isInput(argument) != input
                         ? "the other kind of argument"
                         : std::to_string(expected) + " bytes, got " +
                               std::to_string(bytes)));
}

Status Session::setArgument(uint32_t argument, const void *values,
                            uint64_t bytes) {
  if (Status status = state->checkStopped(); !status.ok())
    return status;
  if (Status status = state->checkBytes(argument, bytes, false); !status.ok())
    return status;
  state->forEachShard(argument, [&](std::byte *slot, const auto &origin) {
    state->host->arguments[argument].scatter(
        origin, static_cast<const std::byte *>(values), slot);
  });
  return {};
}

Status Session::getArgument(uint32_t argument, void *values,
                            uint64_t bytes) const {
  if (Status status = state->checkStopped(); !status.ok())
    return status;
  if (Status status = state->checkBytes(argument, bytes, false); !status.ok())
    return status;
  std::set<ShardedTensor::Index> covered;
  state->forEachShard(argument, [&](std::byte *slot, const auto &origin) {
    if (covered.insert(origin).second)
      state->host->arguments[argument].gather(origin, slot,
                                              static_cast<std::byte *>(values));
  });
  return {};
}

Status Session::setInput(uint32_t argument, const void *values,
                         uint64_t bytes) {
  if (Status status = state->checkStopped(); !status.ok())
    return status;
  if (Status status = state->checkBytes(argument, bytes, true); !status.ok())
    return status;
  const auto *first = static_cast<const std::byte *>(values);
  std::optional<std::vector<std::byte>> &input = state->host->inputs[argument];
  if (!input)
    input.emplace();
  input->assign(first, first + bytes);
  return {};
}

Status Session::begin() { return state->executor->run(Section::setup, -1); }

bool Session::isStuck() const { return state->executor->isStuck(); }

Status Session::step() {
  return state->executor->run(Section::body, state->steps++);
}

Status Session::end() {
  return state->executor->run(Section::teardown, state->steps);
}

const void *Session::output(uint32_t output) const {
  return state->host->outputValues[output].data();
}

double Session::scalar(uint32_t index) const {
  const std::byte *value = state->host->outputValues[index].data();
  const auto read = [value](auto typed) {
    std::memcpy(&typed, value, sizeof(typed));
    return double(typed);
  };
  switch (state->artifact->outputs[index]->element) {
  case ppx::ElementType_f32:
    return read(float());
  case ppx::ElementType_f64:
    return read(double());
  case ppx::ElementType_bf16: {
    uint16_t bits;
    std::memcpy(&bits, value, sizeof(bits));
    return fromBFloat16(bits);
  }
  case ppx::ElementType_i32:
    return read(int32_t());
  case ppx::ElementType_i64:
    return read(int64_t());
  case ppx::ElementType_i1:
    return read(uint8_t());
  }
  return 0;
}

const std::vector<InstructionTime> &Session::times(uint32_t rank,
                                                   Section section) const {
  return state->executor->rank(rank).times[size_t(section)];
}

uint64_t Session::measuredPeakBytes(uint32_t rank) const {
  const cpu::Rank &measured = state->executor->rank(rank);
  return measured.arena.writtenBytes() +
         uint64_t(std::max<int64_t>(0, measured.allocations.peak));
}

uint64_t Session::allocationCount(uint32_t rank) const {
  return state->executor->rank(rank).allocations.count;
}

//===- backend.cpp - a backend outside of the tree ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// usage: backend ARTIFACT
//
// Adds a kind of device by the installed headers alone, and runs a step on it:
// memory is the heap's, kernels are counted. Fails unless each rank launches
// some and ends.
//
//===----------------------------------------------------------------------===//
#include <pprt/Artifact.h>
#include <pprt/Backend.h>
#include <pprt/Session.h>
#include <pprt/World.h>

#include <atomic>
#include <cstdio>

using namespace pprt;

namespace {

class HeapMemory final : public Memory {
public:
  explicit HeapMemory(uint64_t bytes) : bytes(bytes + 64) {}
  std::byte *address() const override {
    const auto first = reinterpret_cast<uintptr_t>(bytes.data());
    return reinterpret_cast<std::byte *>((first + 63) / 64 * 64);
  }
  uint64_t size() const override { return bytes.size() - 64; }
  std::byte *host() const override { return address(); }
  uint64_t writtenBytes() const override { return 0; }

private:
  std::vector<std::byte> bytes;
};

class ToyStream final : public Stream {
public:
  explicit ToyStream(std::atomic<uint64_t> &launches) : launches(launches) {}
  Status launch(const Launch &) override { return ++launches, Status(); }
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status flag(const std::vector<Values> &, std::byte *flag) override {
    *reinterpret_cast<int32_t *>(flag) = 0;
    return {};
  }
  Status write(std::byte *to, const void *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

private:
  std::atomic<uint64_t> &launches;
};

class ToyDevice final : public PolledDevice {
public:
  std::string name() const override { return "toy"; }
  Expected<MemoryPool> pool() const override {
    return MemoryPool{"toy", "the heap", uint64_t(1) << 40};
  }
  Status load(const ppx::ArtifactT &) override { return {}; }
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &) override {
    return std::make_unique<const Kernel>();
  }
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override {
    return std::unique_ptr<Memory>(new HeapMemory(bytes));
  }
  Expected<std::unique_ptr<Stream>> stream(Memory &,
                                           AllocationCounter &) override {
    return std::unique_ptr<Stream>(new ToyStream(launches));
  }
  std::unique_ptr<const Launch> bind(Binding) override {
    return std::make_unique<const Launch>();
  }
  Expected<std::unique_ptr<PolledTransport>>
  transport(World &world, uint32_t ranks) override {
    return world.transport(ranks);
  }
  std::vector<NamedCount> counters() const override {
    return {{"launches", launches}};
  }

private:
  std::atomic<uint64_t> launches{0};
};

Status run(const char *path) {
  Backend toy;
  toy.name = "toy";
  toy.open = [](const DeviceOptions &, World &, uint32_t) {
    return Expected(makeDevices(std::make_unique<ToyDevice>()));
  };
  toy.processor = [] { return Expected<std::string>(std::string()); };
  if (Status added = addBackend(toy); !added.ok())
    return added;
  Expected<ppx::ArtifactT> artifact = loadArtifact(path);
  if (!artifact)
    return artifact.status();
  SessionOptions options;
  options.device = "toy";
  const auto shared =
      std::make_shared<const ppx::ArtifactT>(std::move(*artifact));
  auto session = Session::create(shared, options);
  if (!session)
    return session.status();
  Status status = (*session)->initialize(1);
  for (uint32_t i = 0; status.ok() && i < shared->arguments.size(); ++i) {
    const ppx::Role role = shared->arguments[i]->role;
    const std::vector<std::byte> zeros((*session)->argumentBytes(i));
    if (role == ppx::Role_input || role == ppx::Role_label)
      status = (*session)->setInput(i, zeros.data(), zeros.size());
  }
  if (status.ok())
    status = (*session)->begin();
  if (status.ok())
    status = (*session)->step();
  if (status.ok())
    status = (*session)->end();
  if (!status.ok())
    return status;
  const NamedCount count = (*session)->counters().front();
  std::printf("%s: %s\n", count.name.c_str(),
              count.value >= (*session)->mesh().worldSize() ? "some" : "few");
  return {};
}

} // namespace

int main(int, char **arguments) {
  const Status status = run(arguments[1]);
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return int(status.code());
}

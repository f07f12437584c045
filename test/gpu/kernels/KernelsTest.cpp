//===- KernelsTest.cpp - the PTX executor against the host's compiler -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel of the sources in this folder runs twice: as PTX that a compiler
// of CUDA C++ made of it, by the executor, and as what the host's compiler made
// of it. Elements that differ are named. Kernels that are wrong on purpose must
// be reported.
//
//===----------------------------------------------------------------------===//
#include "Case.h"
#include "Host.h"
#include "Ptx.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace kernels;

namespace {

/// The buffers of a launch, with nothing around them.
class Buffers : public ptx::Memory {
public:
  explicit Buffers(const Case &kernel) {
    uint64_t address = uint64_t(1) << 32; // so 32 bits hold none of it
    for (const Argument &argument : kernel.arguments) {
      address = (address + 4096 + 255) & ~uint64_t(255);
      const bool isKnown = argument.kind != Argument::Output;
      buffers.push_back(
          {address, argument.bytes,
           std::vector<std::byte>(argument.bytes.size(), std::byte(isKnown))});
      address += argument.bytes.size();
    }
  }
  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    for (Buffer &buffer : buffers)
      if (address >= buffer.address &&
          address + size <= buffer.address + buffer.bytes.size())
        return buffer.bytes.data() + (address - buffer.address);
    error = "expects an address inside of a buffer";
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    for (Buffer &buffer : buffers)
      if (address >= buffer.address &&
          address < buffer.address + buffer.bytes.size())
        return buffer.written.data() + (address - buffer.address);
    return nullptr;
  }

  struct Buffer {
    uint64_t address;
    std::vector<std::byte> bytes, written;
  };
  std::vector<Buffer> buffers;
};

/// The bytes of all arguments after the host has run it.
std::vector<std::vector<std::byte>> runOnHost(const Case &kernel) {
  std::vector<std::vector<std::byte>> result;
  for (const Argument &argument : kernel.arguments)
    result.push_back(argument.bytes);
  std::vector<void *> places;
  for (std::vector<std::byte> &bytes : result)
    places.push_back(bytes.data());
  const Launch &at = kernel.launch;
  host::run({at.grid[0], at.grid[1], at.grid[2]},
            {at.block[0], at.block[1], at.block[2]}, at.sharedBytes,
            [&] { kernel.body(places); });
  return result;
}

std::string runOnExecutor(const Case &kernel, const ptx::Module &module,
                          uint64_t seed, Buffers &buffers) {
  const ptx::Entry *entry = module.find(kernel.name);
  if (!entry)
    return "expects an entry of this name";
  if (entry->parameters.size() != kernel.arguments.size())
    return "expects as many parameters as the host's function has";
  ptx::Launch launch;
  launch.entry = kernel.name;
  launch.grid = {kernel.launch.grid[0], kernel.launch.grid[1],
                 kernel.launch.grid[2]};
  launch.block = {kernel.launch.block[0], kernel.launch.block[1],
                  kernel.launch.block[2]};
  launch.dynamicSharedBytes = kernel.launch.sharedBytes;
  launch.seed = launch.errors = seed;
  for (size_t index = 0; index < kernel.arguments.size(); ++index) {
    const ptx::KernelParameter &parameter = entry->parameters[index];
    const Argument &argument = kernel.arguments[index];
    const bool isValue = argument.kind == Argument::Value;
    if (parameter.bytes != (isValue ? argument.bytes.size() : 8))
      return "expects a parameter of the size that the host's has";
    launch.parameters.resize(parameter.offset + parameter.bytes);
    std::memcpy(launch.parameters.data() + parameter.offset,
                isValue ? static_cast<const void *>(argument.bytes.data())
                        : &buffers.buffers[index].address,
                parameter.bytes);
  }
  std::string error;
  module.run(launch, buffers, error);
  return error;
}

/// Each a line; the first few.
std::string differences(const Case &kernel, const Buffers &buffers,
                        const std::vector<std::vector<std::byte>> &expected) {
  constexpr int kShown = 3;
  int count = 0;
  std::stringstream text;
  for (size_t index = 0; index < expected.size(); ++index) {
    const Argument &argument = kernel.arguments[index];
    if (argument.kind == Argument::Value)
      continue;
    const Buffers::Buffer &found = buffers.buffers[index];
    const size_t size = argument.elementBytes;
    for (size_t at = 0; at < found.bytes.size(); at += size) {
      std::string difference = argument.differ(
          expected[index].data() + at, found.bytes.data() + at, kernel.bound);
      bool isWritten = true;
      for (size_t byte = at; byte < at + size; ++byte)
        isWritten &= found.written[byte] != std::byte(0) ||
                     expected[index][byte] == argument.bytes[byte];
      if (difference.empty() && !isWritten)
        difference = "found bytes that nobody wrote";
      if (!difference.empty() && count++ < kShown)
        text << "argument " << index << ", element " << at / size << ": "
             << difference << "\n";
    }
  }
  if (count > kShown)
    text << count << " elements in all\n";
  return text.str();
}

/// Of a kernel that ran to its end: whether all of its results are results.
std::string unwrittenOf(const Case &kernel, const Buffers &buffers) {
  for (const std::byte written : buffers.buffers.front().written)
    if (written == std::byte(0))
      return "found bytes that nobody wrote";
  return "";
}

/// What one compiler made of all sources.
class Compiled {
public:
  explicit Compiled(std::string folder) : folder(std::move(folder)) {}
  /// Null, and `error`, if the executor does not understand it.
  const ptx::Module *module(const std::string &theme, std::string &error) {
    auto [found, isNew] = modules.try_emplace(theme);
    if (isNew) {
      std::ifstream file(folder + "/" + theme + ".ptx");
      std::stringstream text;
      text << file.rdbuf();
      found->second.first =
          ptx::Module::parse(text.str(), found->second.second);
    }
    error = found->second.second;
    return found->second.first.get();
  }

private:
  std::string folder;
  std::map<std::string, std::pair<std::unique_ptr<ptx::Module>, std::string>>
      modules;
};

class KernelTest : public testing::Test {
public:
  KernelTest(const Case &kernel, std::shared_ptr<Compiled> compiled)
      : kernel(kernel), compiled(std::move(compiled)) {}
  void TestBody() override {
    std::string error;
    const ptx::Module *module = compiled->module(kernel.theme, error);
    ASSERT_TRUE(module) << kernel.theme << ".ptx: " << error;
    std::vector<std::vector<std::byte>> expected;
    if (kernel.fault.empty())
      expected = runOnHost(kernel);
    // Of blocks, and of threads that part, others first.
    for (uint64_t seed : {2, 3}) {
      Buffers buffers(kernel);
      error = runOnExecutor(kernel, *module, seed, buffers);
      if (!kernel.fault.empty()) {
        if (error.empty())
          error = unwrittenOf(kernel, buffers);
        EXPECT_NE(error.find(kernel.fault), std::string::npos)
            << "expected: " << kernel.fault << "\nfound: " << error;
        continue;
      }
      ASSERT_EQ(error, "") << "seed " << seed;
      ASSERT_EQ(differences(kernel, buffers, expected), "") << "seed " << seed;
    }
  }

private:
  const Case &kernel;
  std::shared_ptr<Compiled> compiled;
};

TEST(Kernels, AreManyAndOfDifferentNames) {
  std::set<std::string> names;
  size_t faults = 0;
  for (const Case &kernel : cases()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    faults += !kernel.fault.empty();
  }
  RecordProperty("kernels", int(cases().size() - faults));
  EXPECT_GE(cases().size() - faults, size_t(300));
}

} // namespace

/// Arguments: the folders of PTX, one for each compiler and architecture.
int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::puts("skipped: neither nvcc nor clang compiles CUDA C++ here");
    return 0;
  }
  for (int index = 1; index < argc; ++index) {
    const std::string folder = argv[index];
    auto compiled = std::make_shared<Compiled>(folder);
    const std::string suite = folder.substr(folder.find_last_of('/') + 1);
    for (const Case &kernel : cases())
      testing::RegisterTest(suite.c_str(),
                            (kernel.theme + "_" + kernel.name).c_str(), nullptr,
                            nullptr, __FILE__, __LINE__,
                            [&kernel, compiled]() -> testing::Test * {
                              return new KernelTest(kernel, compiled);
                            });
  }
  return RUN_ALL_TESTS();
}

//===- PtxTest.cpp - faults that the PTX emulator reports -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of kernels, most with a planted fault that a GPU would pass over.
// What instructions compute is judged by what runs generated kernels
// (GpuTargetTests, RandomKernelsTests), against the reference interpreter.
//
//===----------------------------------------------------------------------===//
#include "Ptx.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

/// One buffer of 4-byte words; of each byte whether it was written.
class OneBuffer : public ptx::Memory {
public:
  static constexpr uint64_t kAddress = 1 << 20;
  explicit OneBuffer(uint32_t words, bool isWritten = true)
      : data(words * 4), written(words * 4, std::byte(isWritten)) {}

  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    if (address >= kAddress && address + size <= kAddress + data.size())
      return data.data() + (address - kAddress);
    error = "outside of the buffer";
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    return written.data() + (address - kAddress);
  }

  std::vector<std::byte> data, written;
};

/// Runs 64 threads of a kernel of this body, on registers that are declared
/// already; %rd1 is the buffer, %rd2 the thread's word of it, %r1 the thread,
/// %r2 the block, %r4 the thread's word of shared memory. The fault, if any.
std::string run(const std::string &body, OneBuffer &memory, uint32_t blocks,
                uint64_t seed) {
  const std::string text =
      ".version 7.8\n.target sm_90\n.address_size 64\n"
      ".shared .align 4 .b8 room[256];\n"
      ".visible .entry kernel(.param .u64 kernel_param_0)\n{\n"
      "  .reg .pred %p<8>;\n  .reg .b32 %r<16>;\n  .reg .b64 %rd<8>;\n"
      "  .reg .f32 %f<8>;\n"
      "  ld.param.u64 %rd1, [kernel_param_0];\n"
      "  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, %ctaid.x;\n"
      "  mul.wide.u32 %rd2, %r1, 4;\n  add.s64 %rd2, %rd1, %rd2;\n"
      "  shl.b32 %r3, %r1, 2;\n  mov.u32 %r4, room;\n"
      "  add.u32 %r4, %r4, %r3;\n" +
      body + "\n  ret;\n}\n";
  std::string error;
  auto module = ptx::Module::parse(text, error);
  if (!module)
    return error;
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = blocks;
  launch.block.x = 64;
  launch.seed = launch.errors = seed;
  const uint64_t address = OneBuffer::kAddress;
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &address, 8);
  ptx::Accesses accesses;
  module->run(launch, memory, error, &accesses);
  return error;
}

/// Each thread reads what its neighbour has written to shared memory.
const std::string kWrite = "  st.shared.u32 [%r4], %r1;\n";
const std::string kReadOther = "  xor.b32 %r5, %r3, 4;\n  mov.u32 %r6, room;\n"
                               "  add.u32 %r6, %r6, %r5;\n"
                               "  ld.shared.u32 %r7, [%r6];\n"
                               "  st.global.u32 [%rd2], %r7;";
const std::string kLess = "  setp.lt.u32 %p1, %r1, 40;\n";
const std::string kFirst = "  setp.eq.u32 %p1, %r1, 0;\n";
const std::string kWriteFirst = "  @%p1 st.shared.u32 [room], %r1;\n";
const std::string kBarrier = "  bar.sync 0;\n";
const std::string kConstant = "  ld.global.nc.u32 %r3, [%rd2];\n";
const std::string kShuffle = "  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n";

TEST(Ptx, ReportsPlantedFaultsWhateverRunsFirst) {
  struct Row {
    const char *fault; ///< empty: the kernel has none
    std::string body;
    uint32_t blocks = 1, words = 64;
    bool isWritten = true;
  };
  const Row rows[] = {
      {"", "  st.global.u32 [%rd2], %r1;"},
      {"outside of the buffer (thread 63 of block 0)",
       "  st.global.u32 [%rd2], %r1;", 1, 63},
      {"multiple of 4", "  ld.global.u32 %r3, [%rd2+2];"},
      {"inside of shared memory", "  st.shared.u32 [room+256], %r1;"},
      // What was never written may be moved, but decide nothing.
      {"", "  ld.global.u32 %r3, [%rd2];\n  st.global.u32 [%rd2], %r3;", 1, 64,
       false},
      {"never written decides where to go",
       "  ld.global.u32 %r3, [%rd2];\n  setp.eq.u32 %p1, %r3, 0;\n"
       "  @%p1 bra $end;\n  add.u32 %r3, %r3, 1;\n$end:",
       1, 64, false},
      {"never written decides who ends",
       "  ld.global.u32 %r3, [%rd2];\n  setp.eq.u32 %p1, %r3, 0;\n"
       "  @%p1 exit;",
       1, 64, false},
      {"an address that was never written", "  st.global.u32 [%rd3], %r1;"},
      {"", kWrite + kBarrier + kReadOther},
      {"race in shared memory", kWrite + kReadOther},
      {"race in shared memory", kFirst + kWriteFirst + kBarrier +
                                    "  ld.shared.u32 %r3, [room];\n" +
                                    kWriteFirst},
      {"", "  red.global.add.u32 [%rd1], 1;", 2},
      {"race in global memory", "  st.global.u32 [%rd2], %r2;", 2},
      {"", kConstant + "  st.global.u32 [%rd2+256], %r3;", 1, 128},
      {"ld.global.nc", kConstant + "  st.global.u32 [%rd2], %r3;"},
      {"ld.global.nc", "  st.global.u32 [%rd2], %r1;\n" + kConstant},
      {"divergent barrier", kLess + "  @%p1 bra $end;\n" + kBarrier + "$end:"},
      {"", kShuffle},
      {"a shuffle that not all threads of its mask reach",
       kLess + "  @%p1 bra $end;\n" + kShuffle + "$end:"},
      {"wgmma", "  wgmma.fence.sync.aligned;"},
      {"add.rn.relu", "  add.rn.relu.f32 %f1, %f2, %f3;"},
      {"expects a label '$nowhere'", "  bra $nowhere;"},
  };
  for (const Row &row : rows)
    for (uint64_t seed = 0; seed < 8; ++seed) {
      OneBuffer memory(row.words, row.isWritten);
      const std::string error = run(row.body, memory, row.blocks, seed);
      EXPECT_EQ(error.empty(), !*row.fault) << row.body << "\n" << error;
      EXPECT_NE(error.find(row.fault), std::string::npos) << row.body << "\n"
                                                          << error;
    }
}

} // namespace

//===- PtxTest.cpp - what running PTX finds -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each fault that a GPU would pass over, planted in a kernel that is right
// without it; and a table of results.
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
  uint32_t word(uint32_t index) const {
    uint32_t value;
    std::memcpy(&value, data.data() + index * 4, 4);
    return value;
  }

  std::vector<std::byte> data, written;
};

struct Outcome {
  std::string error; ///< empty: it ran to its end
  ptx::Accesses accesses;
};

/// Runs a kernel of this body, on registers that are declared already; %rd1 is
/// the buffer, %r1 the thread, %r2 the block.
Outcome run(const std::string &body, OneBuffer &memory, uint32_t threads = 64,
            uint32_t blocks = 1, uint64_t seed = 2) {
  const std::string text =
      ".version 7.8\n.target sm_90\n.address_size 64\n"
      ".shared .align 4 .b8 room[256];\n"
      ".visible .entry kernel(.param .u64 kernel_param_0)\n{\n"
      "  .reg .pred %p<8>;\n  .reg .b32 %r<16>;\n  .reg .b64 %rd<8>;\n"
      "  .reg .f32 %f<8>;\n"
      "  ld.param.u64 %rd1, [kernel_param_0];\n"
      "  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, %ctaid.x;\n" +
      body + "\n  ret;\n}\n";
  Outcome outcome;
  auto module = ptx::Module::parse(text, outcome.error);
  if (!module)
    return outcome;
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = blocks;
  launch.block.x = threads;
  launch.seed = launch.errors = seed;
  const uint64_t address = OneBuffer::kAddress;
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &address, 8);
  module->run(launch, memory, outcome.error, &outcome.accesses);
  return outcome;
}

void expectError(const Outcome &outcome, const char *expected) {
  EXPECT_NE(outcome.error.find(expected), std::string::npos)
      << "expected: " << expected << "\ngot: " << outcome.error;
}

/// The address of this thread's word, in %rd2.
const std::string kOwnWord = "  mul.wide.u32 %rd2, %r1, 4;\n"
                             "  add.s64 %rd2, %rd1, %rd2;\n";
const std::string kOwnRoom = "  shl.b32 %r3, %r1, 2;\n"
                             "  mov.u32 %r4, room;\n"
                             "  add.u32 %r4, %r4, %r3;\n";

/// As ptxas 13.0 does.
TEST(Ptx, RefusesWhatPtxasRefuses) {
  auto parse = [](const std::string &version, unsigned parameters,
                  unsigned room) {
    std::string list, error;
    for (unsigned number = 0; number < parameters; ++number)
      list += (number ? ", " : "") + std::string(".param .u64 p") +
              std::to_string(number);
    ptx::Module::parse(".version " + version +
                           "\n.target sm_90\n.address_size 64\n.shared .align "
                           "4 .b8 room[" +
                           std::to_string(room) + "];\n.visible .entry k(" +
                           list +
                           ")\n{\n  .reg .b32 %r<2>;\n  mov.u32 %r1, room;\n "
                           " ret;\n}\n",
                       error);
    return error;
  };
  EXPECT_EQ(parse("8.0", 544, 49152), "");
  EXPECT_EQ(parse("8.0", 545, 4), "Entry function 'k' uses too much parameter "
                                  "space (0x1108 bytes, 0x1100 max)");
  EXPECT_EQ(parse("8.1", 4095, 4), "");
  EXPECT_EQ(parse("8.1", 4096, 4), "Entry function 'k' uses too much parameter "
                                   "space (0x8000 bytes, 0x7ffc max)");
  EXPECT_EQ(parse("8.0", 1, 49153), "Entry function 'k' uses too much shared "
                                    "data (0xc001 bytes, 0xc000 max)");
}

TEST(Ptx, StoresWhatThreadsCompute) {
  OneBuffer memory(64);
  const Outcome outcome =
      run(kOwnWord + "  st.global.u32 [%rd2], %r1;", memory);
  EXPECT_EQ(outcome.error, "");
  for (uint32_t index = 0; index < 64; ++index)
    EXPECT_EQ(memory.word(index), index);
  ASSERT_EQ(outcome.accesses.written.size(), 1u);
  EXPECT_EQ(outcome.accesses.written[0].begin, OneBuffer::kAddress);
  EXPECT_EQ(outcome.accesses.written[0].end, OneBuffer::kAddress + 256);
  EXPECT_TRUE(outcome.accesses.read.empty());
}

TEST(Ptx, FindsAddressesThatAreWrong) {
  OneBuffer memory(63);
  expectError(run(kOwnWord + "  st.global.u32 [%rd2], %r1;", memory),
              "outside of the buffer (thread 63 of block 0)");
  expectError(run(kOwnWord + "  ld.global.u32 %r3, [%rd2+2];", memory),
              "expects an address that is a multiple of 4");
  expectError(run("  st.shared.u32 [room+256], %r1;", memory),
              "inside of shared memory");
}

TEST(Ptx, FindsWhatNobodyWrote) {
  OneBuffer memory(64, /*isWritten=*/false);
  // It may be moved, but not decide anything.
  EXPECT_EQ(run(kOwnWord + "  ld.global.u32 %r3, [%rd2];\n"
                           "  add.u32 %r3, %r3, 1;\n"
                           "  st.global.u32 [%rd2], %r3;",
                memory)
                .error,
            "");
  EXPECT_EQ(memory.written[0], std::byte(0));
  expectError(run(kOwnWord + "  ld.global.u32 %r3, [%rd2];\n"
                             "  setp.eq.u32 %p1, %r3, 0;\n"
                             "  @%p1 bra $end;\n"
                             "  add.u32 %r3, %r3, 1;\n$end:",
                  memory),
              "never written decides where to go");
  expectError(run("  st.global.u32 [%rd3], %r1;", memory),
              "an address that was never written");
}

TEST(Ptx, FindsRacesWhateverRunsFirst) {
  // Each reads what its neighbour writes.
  const std::string write = kOwnRoom + "  st.shared.u32 [%r4], %r1;\n";
  const std::string read = "  xor.b32 %r5, %r3, 4;\n  mov.u32 %r6, room;\n"
                           "  add.u32 %r6, %r6, %r5;\n"
                           "  ld.shared.u32 %r7, [%r6];\n" +
                           kOwnWord + "  st.global.u32 [%rd2], %r7;";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    OneBuffer memory(64);
    expectError(run(write + read, memory, 64, 1, seed),
                "race in shared memory");
    EXPECT_EQ(run(write + "  bar.sync 0;\n" + read, memory, 64, 1, seed).error,
              "");
    EXPECT_EQ(memory.word(6), 7u);
    // Blocks have no barrier.
    expectError(
        run(kOwnWord + "  st.global.u32 [%rd2], %r2;", memory, 64, 2, seed),
        "race in global memory");
    EXPECT_EQ(run("  red.global.add.u32 [%rd1], 1;", memory, 64, 2, seed).error,
              "");
  }
}

/// What a thread reads as constant nobody may write, it and later ones neither.
TEST(Ptx, FindsConstantsThatAreWritten) {
  const std::string read = kOwnWord + "  ld.global.nc.u32 %r3, [%rd2];\n";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    OneBuffer memory(128);
    EXPECT_EQ(
        run(read + "  st.global.u32 [%rd2+256], %r3;", memory, 64, 1, seed)
            .error,
        "");
    const char *fault = "ld.global.nc";
    expectError(run(read + "  st.global.u32 [%rd2], %r3;", memory, 64, 1, seed),
                fault);
    expectError(run(kOwnWord + "  st.global.u32 [%rd2], %r1;\n" + read +
                        "  st.global.u32 [%rd2+256], %r3;",
                    memory, 64, 1, seed),
                fault);
    expectError(run(read + "  bar.sync 0;\n  st.global.u8 [%rd2+1], %r3;",
                    memory, 64, 1, seed),
                fault);
    // As a reader it is one of many.
    expectError(
        run(read + "  st.global.u32 [%rd2+4], %r3;", memory, 64, 1, seed),
        "race in global memory");
  }
}

TEST(Ptx, FindsWhoDoesNotCome) {
  OneBuffer memory(64);
  expectError(run("  setp.lt.u32 %p1, %r1, 40;\n  @%p1 bra $end;\n"
                  "  bar.sync 0;\n$end:",
                  memory),
              "divergent barrier");
  expectError(run("  setp.lt.u32 %p1, %r1, 40;\n  @%p1 bra $other;\n"
                  "  bar.sync 0;\n  bra $end;\n$other:\n  bar.sync 0;\n$end:",
                  memory),
              "divergent barrier");
  expectError(run("  setp.lt.u32 %p1, %r1, 40;\n  @%p1 bra $end;\n"
                  "  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n$end:",
                  memory),
              "a shuffle that not all threads of its mask reach");
  EXPECT_EQ(run("  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n" + kOwnWord +
                    "  st.global.u32 [%rd2], %r3;",
                memory)
                .error,
            "");
  EXPECT_EQ(memory.word(4), 5u);
}

// Lanes that come late to a shuffle are waited for, in whatever order they run:
// some here go round a loop whose last instructions come before its first.
TEST(Ptx, WaitsForLanesOfAWarp) {
  for (uint64_t seed = 0; seed < 64; ++seed) {
    OneBuffer memory(128);
    const Outcome outcome = run("  and.b32 %r2, %r1, 7;\n"
                                "  bra.uni $first;\n"
                                "$latch:\n"
                                "  setp.eq.u32 %p1, %r2, 0;\n"
                                "  @%p1 bra $end;\n"
                                "$first:\n"
                                "  setp.eq.u32 %p1, %r2, 0;\n"
                                "  @%p1 bra $latch;\n"
                                "  sub.u32 %r2, %r2, 1;\n"
                                "  bra.uni $latch;\n"
                                "$end:\n"
                                "  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n" +
                                    kOwnWord + "  st.global.u32 [%rd2], %r3;",
                                memory, 32, 1, seed);
    EXPECT_EQ(outcome.error, "");
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(memory.word(lane), lane ^ 1);
  }
}

/// Those of a warp whose predicate says so; the others go on.
TEST(Ptx, EndsThreadsUnderAPredicate) {
  const std::string less = "  setp.lt.u32 %p1, %r1, 40;\n";
  const std::string store = kOwnWord + "  st.global.u32 [%rd2], %r1;";
  for (const bool isNegated : {false, true}) {
    OneBuffer memory(64);
    const Outcome outcome =
        run(less + (isNegated ? "  @!%p1 exit;\n" : "  @%p1 ret;\n") + store,
            memory);
    EXPECT_EQ(outcome.error, "");
    for (uint32_t index = 0; index < 64; ++index)
      EXPECT_EQ(memory.word(index), (index < 40) == isNegated ? index : 0);
  }
  OneBuffer memory(64, /*isWritten=*/false);
  expectError(run(kOwnWord + "  ld.global.u32 %r3, [%rd2];\n"
                             "  setp.eq.u32 %p1, %r3, 0;\n  @%p1 exit;",
                  memory),
              "never written decides who ends");
}

/// A byte that many threads read, and one of them writes.
TEST(Ptx, FindsRacesWithOtherReaders) {
  OneBuffer memory(64);
  const std::string write = "  @%p1 st.shared.u32 [room], %r1;\n";
  const std::string begin =
      "  setp.eq.u32 %p1, %r1, 0;\n  setp.eq.u32 %p2, %r1, 5;\n"
      "  setp.eq.u32 %p3, %r1, 6;\n" +
      write + "  bar.sync 0;\n  ld.shared.u32 %r3, [room];\n";
  EXPECT_EQ(run(begin + "  bar.sync 0;\n" + write, memory).error, "");
  // The first of all readers, and the last.
  expectError(run(begin + write, memory), "race in shared memory");
  expectError(run(begin + "  setp.eq.u32 %p1, %r1, 63;\n" + write, memory),
              "race in shared memory");
  // Two others are behind the barrier.
  const std::string two = begin +
                          "  bar.sync 0;\n  @%p2 ld.shared.u32 %r3, [room];\n"
                          "  @%p3 ld.shared.u32 %r3, [room];\n";
  for (const char *writer : {"2", "3"})
    expectError(
        run(two + "  @%p" + writer + " st.shared.u32 [room], %r1;", memory),
        "race in shared memory");
}

TEST(Ptx, RefusesWhatItDoesNotKnow) {
  OneBuffer memory(64);
  expectError(run("  wgmma.fence.sync.aligned;", memory), "wgmma");
  expectError(run("  add.rn.relu.f32 %f1, %f2, %f3;", memory), "add.rn.relu");
  expectError(run("  ld.u32 %r3, [%rd1];", memory), "ld.u32");
  expectError(run("  call.uni nobody, ();", memory), "'nobody'");
  expectError(run("  bra $nowhere;", memory), "expects a label '$nowhere'");
}

/// Where another reading of the PTX ISA would give another number, and what the
/// kernels of a network rarely meet. All else is held against the reference
/// interpreter by what runs generated kernels (test/Target).
TEST(Ptx, ComputesAsTheIsaSays) {
  const std::pair<const char *, uint32_t> rows[] = {
      // Integers wrap, and shifts are clamped.
      {"add.s32 %r3, 2147483647, 1;", 0x80000000},
      {"sub.s32 %r3, 0, 1;", 0xFFFFFFFF},
      {"mul.lo.s32 %r3, 65536, 65537;", 0x10000},
      {"mul.hi.u32 %r3, 4294967295, 4294967295;", 0xFFFFFFFE},
      {"mad.lo.s32 %r3, 65536, 65536, 7;", 7},
      {"mul.wide.s32 %rd3, -2, 3; cvt.u32.u64 %r3, %rd3;", uint32_t(-6)},
      {"shl.b32 %r3, 1, 32;", 0},
      {"shr.u32 %r3, 4294967295, 40;", 0},
      {"shr.s32 %r3, -8, 1;", uint32_t(-4)},
      {"shr.s32 %r3, -8, 40;", 0xFFFFFFFF},
      {"min.s32 %r3, -1, 1;", 0xFFFFFFFF},
      {"min.u32 %r3, -1, 1;", 1},
      {"max.s32 %r3, -1, 1;", 1},
      {"div.u32 %r3, 4294967295, 2;", 0x7FFFFFFF},
      {"bfe.u32 %r3, 305419896, 8, 8;", 0x56},
      {"prmt.b32 %r3, 305419896, 0, 291;", 0x78563412},
      {"popc.b32 %r3, 305419896;", 13},
      {"not.b32 %r3, 0;", 0xFFFFFFFF},
      {"clz.b32 %r3, 65536;", 15},
      {"shf.l.wrap.b32 %r3, -2147483648, 1, 33;", 3},
      {"add.cc.u32 %r4, 4294967295, 1; addc.u32 %r3, 5, 0;", 6},
      {"sub.cc.u32 %r4, 0, 1; subc.u32 %r3, 5, 0;", 4},
      {"mad.lo.cc.u32 %r4, 65536, 65535, 65536; madc.hi.u32 %r3, 65536, 65536,"
       " 0;",
       2},
      {"setp.lt.s32 %p1, -1, 0; selp.b32 %r3, 5, 6, %p1;", 5},
      {"setp.lt.u32 %p1, -1, 0; selp.b32 %r3, 5, 6, %p1;", 6},
      // One rounding, to the nearest, of two to the even one.
      {"fma.rn.f32 %f1, 0f3F800800, 0f3F800800, 0fBF801000; mov.b32 %r3, %f1;",
       0x33800000},
      {"add.rn.f32 %f1, 0f3F800000, 0f33800000; mov.b32 %r3, %f1;", 0x3F800000},
      {"add.rn.f32 %f1, 0f3F800001, 0f33800000; mov.b32 %r3, %f1;", 0x3F800002},
      {"add.rm.f32 %f1, 0f3F800001, 0f33800000; mov.b32 %r3, %f1;", 0x3F800001},
      {"cvt.rn.bf16.f32 %h1, 0f3F808000; cvt.u32.u16 %r3, %h1;", 0x3F80},
      {"cvt.rn.bf16.f32 %h1, 0f3F818000; cvt.u32.u16 %r3, %h1;", 0x3F82},
      {"cvt.rn.bf16.f32 %h1, 0f7F7FFFFF; cvt.u32.u16 %r3, %h1;", 0x7F80},
      {"cvt.rn.bf16.f32 %h1, 0f80000001; cvt.u32.u16 %r3, %h1;", 0x8000},
      {"cvt.rn.bf16x2.f32 %r3, 0f3F800000, 0f40000000;", 0x3F804000},
      {"fma.rn.bf16 %h1, 16257, 16257, 49026; cvt.u32.u16 %r3, %h1;", 0x3880},
      // What is no number decides nothing, but by its own instructions.
      {"max.f32 %f1, 0f7FC00000, 0f40000000; mov.b32 %r3, %f1;", 0x40000000},
      {"max.NaN.f32 %f1, 0f7FC00000, 0f40000000; setp.num.f32 %p1, %f1, %f1;"
       " selp.b32 %r3, 5, 6, %p1;",
       6},
      {"min.f32 %f1, 0f80000000, 0f00000000; mov.b32 %r3, %f1;", 0x80000000},
      {"setp.gt.f32 %p1, 0f7FC00000, 0f00000000; selp.b32 %r3, 5, 6, %p1;", 6},
      {"setp.gtu.f32 %p1, 0f7FC00000, 0f00000000; selp.b32 %r3, 5, 6, %p1;", 5},
      {"copysign.f32 %f1, 0fBF800000, 0f40000000; mov.b32 %r3, %f1;",
       0xC0000000},
      // To integers, the nearest that there is.
      {"cvt.rni.s32.f32 %r3, 0f40200000;", 2},
      {"cvt.rzi.s32.f32 %r3, 0fBFC00000;", uint32_t(-1)},
      {"cvt.rzi.s32.f32 %r3, 0f501502F9;", 0x7FFFFFFF},
      {"cvt.rzi.s32.f32 %r3, 0f7FC00000;", 0},
      {"cvt.rzi.u32.f32 %r3, 0fBF800000;", 0},
      {"cvt.sat.f32.f32 %f1, 0f40000000; mov.b32 %r3, %f1;", 0x3F800000},
      {"cvt.sat.f32.f32 %f1, 0f7FC00000; mov.b32 %r3, %f1;", 0},
      {"cvt.rn.f32.s32 %f1, 16777217; mov.b32 %r3, %f1;", 0x4B800000},
      {"ex2.approx.ftz.f32 %f1, 0f40400000; mov.b32 %r3, %f1;", 0x41000000},
  };
  for (const auto &[code, expected] : rows) {
    OneBuffer memory(1);
    const std::string body = std::string("  .reg .b16 %h<2>;\n  ") + code +
                             "\n  st.global.b32 [%rd1], %r3;";
    EXPECT_EQ(run(body, memory, 1).error, "") << code;
    EXPECT_EQ(memory.word(0), expected) << code;
  }
}

/// Within the documented error, and of one input the same.
TEST(Ptx, ApproximatesWithinBounds) {
  const std::string body = kOwnWord + "  cvt.rn.f32.u32 %f1, %r1;\n"
                                      "  add.rn.f32 %f1, %f1, 0f3F800000;\n"
                                      "  rcp.approx.ftz.f32 %f2, %f1;\n"
                                      "  st.global.f32 [%rd2], %f2;";
  bool differ = false;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    OneBuffer memory(64), again(64);
    ASSERT_EQ(run(body, memory, 64, 1, seed).error, "");
    ASSERT_EQ(run(body, again, 64, 1, seed).error, "");
    for (uint32_t index = 0; index < 64; ++index) {
      EXPECT_EQ(memory.word(index), again.word(index));
      float value;
      const uint32_t bits = memory.word(index);
      std::memcpy(&value, &bits, 4);
      const double exact = 1.0 / (index + 1);
      EXPECT_NEAR(value, exact, exact / (1 << 22));
      differ |= value != float(exact);
    }
  }
  EXPECT_TRUE(differ);
}

} // namespace

//===- ProductsTest.cpp - contractions of the GPU engine ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library that is shipped, over emulated libraries of libcuda and cublasLt
// that multiply on the processor (test/gpu/cuda, test/gpu/cublaslt). Every case
// of the processor's contractions that a GPU's target does not refuse is held
// against three plain loops. Nothing here says what a GPU does.
//
//   PPCudaProductsTest --artifacts=FOLDER   those of artifacts for sm_80, too
//
//===----------------------------------------------------------------------===//
#include "../Runtime/WaitingStream.h"
#include "ContractionCases.h"
#include "Emulated.h"
#include "backends/cuda/Plugin.h"
#include "pprt/Alignment.h"
#include "pprt/Artifact.h"
#include "pprt/NarrowFloats.h"
#include "pprt/Program.h"
#include "pprt/Target.h"
#include "pprt/World.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <set>

using namespace pprt;
using namespace pprt::test;

static std::string artifactFolder;

namespace {

using Bytes = std::vector<std::byte>;
constexpr auto f32 = ppx::ElementType_f32, f64 = ppx::ElementType_f64,
               bf16 = ppx::ElementType_bf16, f16 = ppx::ElementType_f16;

class Products : public testing::Test {
protected:
  void SetUp() override {
    auto cuda = cuda::openDriver();
    ASSERT_TRUE(cuda.ok()) << cuda.status().message();
    auto blas = cuda::openBlas(cuda->version);
    ASSERT_TRUE(blas.ok()) << blas.status().message();
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_TRUE(cuda->isEmulated && dlsym(library, "ppEmulatorBlas"))
        << cuda->file << ", " << blas->file;
    driver = *cuda;
    control = emulated::findControl();
    start("");
  }
  void TearDown() override { stop(); }

  void start(const std::string &settings) {
    stop();
    control->reset(settings.c_str());
    auto opened = cuda::openDevices(*thisProcess(), 1);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = std::move(opened->front());
  }
  /// What is left is a leak, unless the device failed: then it frees nothing.
  void stop(bool hasFailed = false) {
    device.reset();
    ASSERT_STREQ(hasFailed ? "" : control->leaks(), "");
    control->reset("");
  }

  /// Prepares and launches; the bytes of out, or the failure. Leaves those of
  /// other results in `others`.
  Expected<Bytes> run(Sample sample, int launches = 1,
                      const int32_t *gate = nullptr) {
    ppx::ContractionT &contraction = sample.contraction;
    findTarget("sm_90")->plan(contraction, 1);
    contraction.workspace_bytes =
        std::min(contraction.workspace_bytes, workspaceBytes);
    sample.parameters.emplace_back(contraction.workspace_bytes);
    const uint32_t out = contraction.out_parameter,
                   end = workspaceParameter(contraction);
    ppx::KernelT kernel;
    kernel.name = "product_1";
    kernel.body.Set(std::move(contraction));
    for (const Bytes &parameter : sample.parameters) {
      kernel.parameters.push_back(std::make_unique<ppx::KernelParameterT>());
      kernel.parameters.back()->bytes = parameter.size();
    }
    auto prepared = device->prepare(kernel);
    if (!prepared)
      return prepared.status();

    // As slots of an arena: the gate, the parameters, and nothing behind them.
    std::vector<uint64_t> places;
    uint64_t bytes = sizeof(*gate);
    for (const Bytes &parameter : sample.parameters) {
      places.push_back(alignUp(bytes, kWorkspaceAlignment));
      bytes = places.back() + parameter.size();
    }
    auto allocated = device->allocate(bytes);
    if (!allocated)
      return allocated.status();
    const auto memory = std::move(*allocated);
    auto stream = WaitingStream::make(*device, *memory, heap);
    if (!stream)
      return stream.status();
    Binding binding;
    binding.kernel = prepared->get();
    for (size_t i = 0; i < places.size(); ++i) {
      binding.arguments.push_back(memory->address() + places[i]);
      if (i < end)
        write(**stream, binding.arguments[i], sample.parameters[i].data(),
              sample.parameters[i].size());
    }
    if (gate) {
      binding.gate = memory->address();
      write(**stream, memory->address(), gate, sizeof(*gate));
    }
    const auto launch = device->bind(binding);
    for (int i = 0; i < launches; ++i)
      if (Status status = (*stream)->launch(*launch); !status.ok())
        return status;
    others.clear();
    for (uint32_t i = out + 1; i < end; ++i)
      others.push_back(read(binding.arguments[i], sample.parameters[i].size()));
    return read(binding.arguments[out], sample.parameters[out].size());
  }
  void write(Stream &stream, std::byte *to, const void *from, uint64_t bytes) {
    const Status status = stream.write(to, from, bytes);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Bytes read(const std::byte *address, uint64_t bytes) {
    Bytes result(bytes);
    CUstream own = nullptr;
    driver.cuStreamCreateWithPriority(&own, CU_STREAM_NON_BLOCKING, 0);
    driver.cuMemcpyDtoHAsync(result.data(),
                             CUdeviceptr(reinterpret_cast<uintptr_t>(address)),
                             bytes, own);
    driver.cuStreamDestroy(own);
    return result;
  }

  void expectRight(const Sample &sample) {
    Sample copy = sample;
    const Expected<Bytes> got = run(std::move(copy));
    // Sums of a GPU may go through all steps in one row.
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(sample.compare(*got, 4), "");
    for (uint32_t i = 1; i < sample.numResults(); ++i)
      EXPECT_EQ(sample.compare(others[i - 1], 4, i), "");
  }
  /// Whether the target takes it: then it is right.
  bool check(Case c) {
    c.alignsBeside = true;
    const Sample sample(c);
    const bool isTaken = findTarget("sm_90")->verify(sample.contraction).ok();
    if (isTaken)
      expectRight(sample);
    return isTaken;
  }

  std::set<std::string> expectRightOfModels(bool areRefused);

  /// Calls of launches; each was made when the kernel was prepared, too.
  uint64_t products() const { return control->count("cublasLtMatmul") / 2; }

  cuda::Driver driver;
  const emulated::Control *control = nullptr;
  /// Less than what is planned, for all of it is written over each time.
  uint64_t workspaceBytes = 1 << 16;
  std::vector<Bytes> others;
  AllocationCounter heap;
  std::unique_ptr<enqueued::StreamDevice> device;
};

TEST_F(Products, TakesEveryLayoutWithNeighbours) {
  const auto isRefused = [](Layout layout) {
    return layout == Layout::steps || layout == Layout::broadcastRow;
  };
  for (const ppx::ElementType element : {f32, f64, bf16, f16})
    for (Layout lhs : {Layout::rows, Layout::columns, Layout::gaps,
                       Layout::steps, Layout::interleaved})
      for (Layout rhs : {Layout::rows, Layout::columns, Layout::gaps,
                         Layout::steps, Layout::broadcastRow})
        for (Layout out : {Layout::rows, Layout::columns, Layout::gaps,
                           Layout::steps, Layout::interleaved}) {
          const bool isTaken =
              !isRefused(lhs) && !isRefused(rhs) && !isRefused(out);
          EXPECT_EQ(
              check({{2, 2}, 19, 37, 11, lhs, rhs, out, element, element}),
              isTaken);
          EXPECT_EQ(check({{}, 64, 80, 72, lhs, rhs, out, element, element}),
                    isTaken);
        }
}

TEST_F(Products, TakesEveryShape) {
  for (const uint64_t m : {1, 5, 16, 65, 130})
    for (const uint64_t n : {1, 7, 33, 130})
      for (const uint64_t k : {1, 3, 64, 600})
        for (Layout lhs : {Layout::rows, Layout::columns})
          for (Layout out : {Layout::rows, Layout::columns})
            EXPECT_TRUE(check({{}, m, n, k, lhs, Layout::rows, out}));
}

TEST_F(Products, TakesWhatIsLarge) {
  workspaceBytes = 4 << 20;
  EXPECT_TRUE(check({{}, 1100, 300, 40}));
  EXPECT_TRUE(check({{}, 90, 2100, 60, Layout::rows, Layout::columns}));
  EXPECT_TRUE(check({{}, 130, 150, 9000, Layout::columns, Layout::gaps}));
  EXPECT_TRUE(check({{128}, 32, 32, 32}));
  // In three parts, of which one is added to what another has made.
  Case c = {{}, 1024, 1027, 523, Layout::gaps, Layout::gaps, Layout::gaps};
  c.element = c.outElement = bf16;
  c.alignsFactors = true;
  const uint64_t before = products();
  EXPECT_TRUE(check(c) && products() - before == 3);
}

TEST_F(Products, ScalesAccumulatesAndMixesTypes) {
  for (const ppx::ElementType element : {f32, f64, bf16, f16})
    for (const ppx::ElementType out : {f32, f64, bf16, f16})
      for (const bool accumulate : {false, true})
        for (Case c : {Case{{2, 2}, 19, 37, 11}, Case{{}, 67, 80, 70}}) {
          c.element = element;
          c.outElement = out;
          c.alpha = 0.125;
          c.accumulate = accumulate;
          EXPECT_EQ(check(c),
                    element == out || (isNarrowFloat(element) && out == f32));
        }
}

TEST_F(Products, AddsABias) {
  for (const ppx::ElementType element : {f32, bf16, f16, f64})
    for (const bool accumulate : {false, true})
      for (Case c : {Case{{2, 2}, 19, 37, 11}, Case{{}, 67, 80, 70}}) {
        c.element = c.outElement = element;
        c.alpha = 0.125;
        c.accumulate = accumulate;
        c.epilogues = {{ppx::EpilogueKind_add, Layout::broadcastRow}};
        // In a batch, each item would have its own.
        const bool isTaken = element != f64 && c.batch.empty();
        const uint64_t before = products();
        EXPECT_EQ(check(c), isTaken);
        EXPECT_EQ(products() - before, uint64_t(isTaken));
      }
}

TEST_F(Products, AddsAResidual) {
  constexpr auto add = ppx::EpilogueKind_add;
  for (const ppx::ElementType element : {f32, bf16, f64})
    for (const bool accumulate : {false, true})
      for (const Layout out : {Layout::rows, Layout::columns})
        for (const Layout residual :
             {Layout::rows, Layout::columns, Layout::gaps}) {
          Case c = {{}, 67, 80, 70, Layout::rows, Layout::rows, out};
          c.element = c.outElement = element;
          c.alpha = 0.125;
          c.accumulate = accumulate;
          c.epilogues = {{add, residual}};
          const bool isTaken = !accumulate && (residual == Layout::columns) ==
                                                  (out == Layout::columns);
          EXPECT_EQ(check(c), isTaken);
          if (out != Layout::rows)
            continue;
          for (const int place : {0, 1}) {
            c.epilogues = {{add, residual}};
            c.epilogues.insert(c.epilogues.begin() + place,
                               {add, Layout::broadcastRow});
            EXPECT_EQ(check(c), isTaken && element != f64);
          }
        }
}

TEST_F(Products, AppliesGeluAndItsGradient) {
  constexpr auto gelu = ppx::EpilogueKind_gelu_tanh,
                 gradient = ppx::EpilogueKind_gelu_tanh_gradient;
  for (const ppx::ElementType element : {f32, bf16, f16, f64})
    for (const Layout out : {Layout::rows, Layout::columns})
      for (const bool accumulate : {false, true})
        for (const bool keepsGiven : {false, true})
          for (const auto &kinds : {std::vector{gelu}, {gradient}}) {
            Case c = {{}, 72, 80, 70, Layout::rows, Layout::rows, out};
            c.element = c.outElement = element;
            c.alpha = 0.125;
            c.accumulate = accumulate;
            c.keepsGiven = keepsGiven;
            for (const ppx::EpilogueKind kind : kinds)
              c.epilogues.emplace_back(kind, out);
            const uint64_t before = products();
            const bool isTaken = element != f64 && !accumulate;
            EXPECT_EQ(check(c), isTaken);
            EXPECT_EQ(products() - before, uint64_t(isTaken));
            // In another order than out's, or by no multiple of 8.
            if (kinds.front() == gelu && !keepsGiven)
              continue;
            c.epilogues.front().second =
                out == Layout::rows ? Layout::columns : Layout::rows;
            EXPECT_FALSE(check(c));
            c.epilogues.front().second = out;
            (out == Layout::rows ? c.n : c.m) -= 1;
            EXPECT_FALSE(check(c));
          }
  // With a bias in front, which lies as rows do.
  for (const bool keepsGiven : {false, true}) {
    Case c = {{}, 72, 80, 70};
    c.epilogues = {{ppx::EpilogueKind_add, Layout::broadcastRow},
                   {gelu, Layout::rows}};
    c.keepsGiven = keepsGiven;
    EXPECT_TRUE(check(c));
    std::swap(c.epilogues[0], c.epilogues[1]);
    EXPECT_FALSE(check(c));
  }
}

TEST_F(Products, AddsUpAnOperand) {
  for (const ppx::ElementType element : {f32, bf16, f64})
    for (const auto kind :
         {ppx::EpilogueKind_sum_lhs, ppx::EpilogueKind_sum_rhs})
      for (const Layout out : {Layout::rows, Layout::columns})
        for (const Layout factor : {Layout::rows, Layout::columns})
          for (const bool accumulate : {false, true}) {
            Case c = {{}, 19, 37, 111, factor, factor, out};
            c.element = c.outElement = element;
            c.accumulate = accumulate;
            c.epilogues = {{kind, Layout::rows}};
            // Neighbours are of one step.
            const bool fits =
                (kind == ppx::EpilogueKind_sum_rhs) == (factor == Layout::rows);
            EXPECT_EQ(check(c), fits && element != f64);
            c.batch = {2};
            EXPECT_FALSE(check(c));
          }
  Case wide = {{}, 19, 37, 111};
  wide.element = bf16;
  wide.epilogues = {{ppx::EpilogueKind_sum_lhs, Layout::rows}};
  EXPECT_FALSE(check(wide)) << "sums in bf16 would be f32";
}

TEST_F(Products, RoundsFactorsToTf32OnlyWhereTheArtifactSaysSo) {
  const auto product = [&](ppx::ElementType element, bool tf32) {
    Case c = {{}, 19, 37, 1};
    c.element = c.outElement = element;
    Sample sample(c);
    sample.contraction.tf32 = tf32;
    const Expected<Bytes> got = run(std::move(sample));
    EXPECT_TRUE(got.ok()) << got.status().message();
    return got.ok() ? *got : Bytes();
  };
  for (const ppx::ElementType element : {f64, bf16})
    EXPECT_EQ(product(element, true), product(element, false));
  const Bytes exact = product(f32, false), rounded = product(f32, true);
  EXPECT_NE(exact, rounded);
  for (size_t i = 0; i < std::min(exact.size(), rounded.size()); i += 4) {
    float wanted, got;
    std::memcpy(&wanted, exact.data() + i, 4);
    std::memcpy(&got, rounded.data() + i, 4);
    // Half of the last of 10 bits, for each of two factors.
    ASSERT_NEAR(got, wanted, std::abs(wanted) * 0x1.01p-10);
  }
}

TEST_F(Products, CallsOnceAlsoForABatchThatHasNoStride) {
  const auto calls = [&](Layout lhs, Layout rhs, Layout out,
                         const std::string &settings = "") {
    start(settings);
    EXPECT_TRUE(check({{3, 4}, 6, 7, 5, lhs, rhs, out}));
    return products();
  };
  EXPECT_EQ(calls(Layout::rows, Layout::columns, Layout::gaps), 1u);
  EXPECT_EQ(calls(Layout::interleaved, Layout::rows, Layout::interleaved), 1u);
  EXPECT_EQ(calls(Layout::rows, Layout::oneForAll, Layout::rows), 1u);
  // Libraries do not know pointers, or have no algorithm by them.
  for (const auto &[count, settings] :
       {std::pair(1u, ""),
        {3u, "fail cublasLtMatrixLayoutSetAttribute 2 7\n"},
        {3u, "fail cublasLtMatmulAlgoGetHeuristic 1 15\n"}})
    for (const auto &[lhs, rhs, out] :
         {std::tuple(Layout::heads, Layout::rows, Layout::rows),
          {Layout::heads, Layout::heads, Layout::heads},
          {Layout::oneForAll, Layout::heads, Layout::columns}})
      EXPECT_EQ(calls(lhs, rhs, out, settings), count);
}

// One of them lies as no algorithm by vectors of 16 bytes takes it.
TEST_F(Products, SaysHowEachMatrixIsAligned) {
  const auto view = [](uint64_t offset, uint64_t rowStride,
                       std::vector<uint64_t> batch = {}) {
    auto made = std::make_unique<ppx::MatrixViewT>();
    made->offset = offset;
    made->row_stride = rowStride;
    made->column_stride = 1;
    made->batch = std::move(batch);
    return made;
  };
  const auto expectRightOf = [&](const ppx::ContractionT &contraction) {
    ppx::KernelT kernel;
    for (int i = 0; i < 4; ++i) {
      kernel.parameters.push_back(std::make_unique<ppx::KernelParameterT>());
      kernel.parameters.back()->bytes = 2200 * sizeof(float);
    }
    for (int algorithm = 0; algorithm < 4; ++algorithm) {
      start("algorithm " + std::to_string(algorithm) + "\n");
      expectRight(Sample(contraction, kernel));
    }
  };
  for (const uint64_t offset : {0, 1, 2, 4})
    for (const int askew : {0, 1, 2, 3, 4, 5, 6}) {
      const bool isSum = askew == 6;
      const auto operand = [&](int index) {
        const uint64_t more = index == askew / 2 ? offset : 0;
        return isSum ? view(0, 16)
                     : view(0, 64,
                            {1024 + (askew % 2 ? more : 0),
                             16 + (askew % 2 ? 0 : more)});
      };
      ppx::ContractionT c;
      c.m = c.n = c.k = 16;
      c.lhs = operand(0);
      c.rhs = operand(1);
      c.out = operand(2);
      c.out_parameter = isSum ? 3 : 2;
      if (isSum) {
        c.epilogues.push_back(std::make_unique<ppx::EpilogueT>());
        c.epilogues.back()->view = view(offset, 16);
        c.epilogues.back()->parameter = 2;
      } else {
        c.batch = {2, 3};
      }
      expectRightOf(c);
    }
}

TEST_F(Products, KeepsToTheAlgorithmThatWasChosen) {
  const Case c = {{2}, 24, 32, 256};
  std::set<Bytes> results;
  for (int algorithm = 0; algorithm < 4; ++algorithm) {
    Bytes first;
    for (int seed = 0; seed < 16; ++seed) {
      start("seed " + std::to_string(seed) + "\nalgorithm " +
            std::to_string(algorithm) + "\n");
      const Expected<Bytes> got = run(Sample(c), 2);
      ASSERT_TRUE(got.ok()) << got.status().message();
      EXPECT_EQ(Sample(c).compare(*got), "");
      EXPECT_EQ(control->count("cublasLtMatmulAlgoGetHeuristic"), 1u);
      // Of two launches, and before them.
      EXPECT_EQ(control->count("cublasLtMatmul"), 3u);
      if (seed == 0)
        first = *got;
      EXPECT_EQ(*got, first) << "seed " << seed;
    }
    results.insert(first);
  }
  // Others would have been seen.
  EXPECT_GE(results.size(), 2u);
}

TEST_F(Products, RoundsSumsOnceAtTheEnd) {
  const auto values = [](std::initializer_list<std::pair<int, float>> runs) {
    Bytes bytes;
    for (const auto &[number, value] : runs)
      for (int i = 0; i < number; ++i) {
        const uint16_t bits = toBFloat16(value);
        const auto *from = reinterpret_cast<const std::byte *>(&bits);
        bytes.insert(bytes.end(), from, from + 2);
      }
    return bytes;
  };
  for (int algorithm = 0; algorithm < 4; ++algorithm) {
    start("algorithm " + std::to_string(algorithm) + "\n");
    Sample sample(
        {{}, 1, 1, 1024, Layout::rows, Layout::rows, Layout::rows, bf16, bf16});
    for (ppx::MatrixViewT *view :
         {sample.contraction.lhs.get(), sample.contraction.rhs.get()})
      view->offset = 0;
    // 257, which bf16 does not have, and -256.
    sample.parameters[0] = values({{1024, 1.0f}});
    sample.parameters[1] =
        values({{1, 2.0f}, {255, 1.0f}, {256, -1.0f}, {512, 0.0f}});
    const Expected<Bytes> got = run(std::move(sample));
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(fromBFloat16(reinterpret_cast<const uint16_t *>(got->data())[3]),
              1.0f);
  }
}

TEST_F(Products, AreSkippedBehindAGate) {
  const Case c = {{}, 5, 6, 7};
  const int32_t open = 0, shut = 1;
  const Expected<Bytes> done = run(Sample(c), 1, &open),
                        left = run(Sample(c), 1, &shut);
  ASSERT_TRUE(done.ok() && left.ok());
  EXPECT_EQ(Sample(c).compare(*done), "");
  EXPECT_EQ(*left, Sample(c).parameters[2]);
}

// That each call may fail is tested by failures.py.
TEST_F(Products, TellsALackOfMemoryAndWhatFailsInItsStream) {
  start("fail cublasLtCreate 1 3\n");
  EXPECT_EQ(run(Sample({{}, 5, 6, 7})).status().code(), ExitCode::outOfMemory);
  start("fault cublasLtMatmul 1 700\n");
  EXPECT_EQ(run(Sample({{}, 5, 6, 7})).status().message(),
            "kernel 'product_1': cuStreamSynchronize: "
            "CUDA_ERROR_ILLEGAL_ADDRESS (700), illegal address");
  stop(true);
}

TEST_F(Products, SaysThatThereIsNoAlgorithm) {
  start("fail cublasLtMatmulAlgoGetHeuristic 1 15\n");
  const Expected<Bytes> got =
      run(Sample({{}, 5, 6, 7, Layout::rows, Layout::columns}));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), ExitCode::device);
  EXPECT_EQ(got.status().message().find(
                "kernel 'product_1': expects an algorithm for 6x5 over 7, 1 "
                "times, epilogue DEFAULT, A T f32 by 7 at multiples of 4 "
                "bytes, B N f32 by 7 at multiples of 4 bytes, D N f32 by 6 at "
                "multiples of 4 bytes, 65536 bytes of workspace, got none of "),
            0u)
      << got.status().message();
}

/// Which epilogues their products had to do without.
std::set<std::string> Products::expectRightOfModels(bool areRefused) {
  int products = 0;
  std::set<std::string> unfused;
  for (const auto &entry :
       std::filesystem::directory_iterator(artifactFolder)) {
    if (entry.path().extension() != ".ppx")
      continue;
    start(areRefused ? "refuse 65535\n" : "");
    Expected<ppx::ArtifactT> artifact =
        loadArtifact(entry.path().string(), {"sm_80"});
    EXPECT_TRUE(artifact.ok() && device->load(*artifact).ok());
    for (const auto &kernel : artifact->kernels)
      if (const ppx::ContractionT *contraction = kernel->body.AsContraction()) {
        SCOPED_TRACE(entry.path().filename().string() + ", " + kernel->name);
        const size_t before = device->unfusedProducts().size();
        expectRight(Sample(*contraction, *kernel));
        ++products;
        std::string kinds;
        for (const auto &epilogue : contraction->epilogues)
          kinds += ppx::EnumNameEpilogueKind(epilogue->kind) + std::string(" ");
        if (device->unfusedProducts().size() > before)
          unfused.insert(kinds);
      }
  }
  EXPECT_GE(products, 20);
  return unfused;
}

TEST_F(Products, OfRealModels) {
  if (artifactFolder.empty())
    GTEST_SKIP() << "no artifacts";
  EXPECT_TRUE(expectRightOfModels(/*areRefused=*/false).empty());
  const std::set<std::string> kinds = {"add ", "add add ", "add gelu_tanh ",
                                       "gelu_tanh_gradient ", "sum_rhs "};
  EXPECT_EQ(expectRightOfModels(/*areRefused=*/true), kinds);
}

TEST_F(Products, RefusesWhatTheTargetRefuses) {
  const Expected<Bytes> got = run(Sample({{}, 5, 6, 7, Layout::steps}));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), ExitCode::badArtifact);
  EXPECT_EQ(got.status().message(),
            "kernel 'product_1': expects neighbours along rows or columns of "
            "lhs, got strides 14 and 2");
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string option = "--artifacts=";
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]).rfind(option, 0) == 0)
      artifactFolder = argv[i] + option.size();
  return RUN_ALL_TESTS();
}

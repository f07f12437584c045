//===- StructureViewsTest.cpp - views of loops, windows, second results ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction's view determines which elements a library reads; a view that
// could lead out of its parameter is refused. So are such second results, a
// workspace that the device cannot use, and orders of dimensions that are no
// permutations. StructureTest.cpp has the plain views, and all other slots.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "pprt/Checks.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

namespace {

/// A pipeline, and [4, 3] x [3, 2] -> [4, 2] among its kernels.
ppx::ArtifactT soundArtifact() {
  ppx::ArtifactT artifact = makePipeline(PipelineShape());
  ppx::ContractionT body;
  body.m = 4;
  body.n = 2;
  body.k = 3;
  for (auto *view : {&body.lhs, &body.rhs, &body.out}) {
    *view = std::make_unique<ppx::MatrixViewT>();
    (*view)->row_stride = view == &body.lhs ? 3 : 2;
    (*view)->column_stride = 1;
  }
  body.out_parameter = 2;
  auto kernel = std::make_unique<ppx::KernelT>();
  kernel->name = "linear";
  for (uint64_t elements : {12, 6, 8}) {
    kernel->parameters.push_back(std::make_unique<ppx::KernelParameterT>());
    kernel->parameters.back()->bytes = 4 * elements;
  }
  kernel->parameters.back()->access = ppx::Access_write;
  kernel->body.Set(std::move(body));
  artifact.kernels.push_back(std::move(kernel));
  return artifact;
}

void addLoop(ppx::MatrixViewT &view, uint64_t extent, uint64_t stride,
             int window) {
  view.rows.push_back(std::make_unique<ppx::ViewLoopT>());
  view.rows.back()->extent = extent;
  view.rows.back()->stride = stride;
  view.rows.back()->window = window;
  view.rows.back()->step = window < 0 ? 0 : 1;
}

/// Adds a window that goes through rows of three elements.
void addWindow(ppx::MatrixViewT &view, uint64_t size, uint64_t divisor) {
  view.windows.push_back(std::make_unique<ppx::WindowT>());
  view.windows.back()->size = size;
  view.windows.back()->stride = 3;
  view.windows.back()->divisor = divisor;
}

/// Returns the first finding after `change`; empty if there is none.
template <typename Change> std::string findingAfter(Change change) {
  ppx::ArtifactT artifact = soundArtifact();
  change(*artifact.kernels.back()->body.AsContraction());
  const CheckResult result = checkStructure(artifact);
  return result.ok() ? "" : result.findings.front().message;
}

TEST(StructureViews, LoopsInPlaceOfAStrideAreSound) {
  EXPECT_EQ(findingAfter([](auto &) {}), "");
  EXPECT_EQ(findingAfter([](auto &c) {
              addLoop(*c.lhs, 2, 6, -1);
              addLoop(*c.lhs, 2, 3, -1);
            }),
            "");
  // A window may begin outside and end there.
  EXPECT_EQ(findingAfter([](auto &c) {
              addLoop(*c.lhs, 4, 0, 0);
              addWindow(*c.lhs, 4, 1);
              c.lhs->windows.back()->offset = -2;
            }),
            "");
}

TEST(StructureViews, RowsMayBeFurtherApartThanTheyAreLong) {
  // Four rows of two, three apart, end with element 10.
  const auto finding = [](uint64_t elements, uint64_t apart, uint64_t batch) {
    ppx::ArtifactT artifact = soundArtifact();
    ppx::KernelT &kernel = *artifact.kernels.back();
    kernel.parameters.back()->bytes = 4 * elements;
    ppx::ContractionT &c = *kernel.body.AsContraction();
    c.out->row_stride = apart;
    if (batch) { // two items, `batch` elements apart
      c.batch = {2};
      c.lhs->batch = c.rhs->batch = {0};
      c.out->batch = {batch};
    }
    const CheckResult result = checkStructure(artifact);
    return result.ok() ? "" : result.findings.front().message;
  };
  EXPECT_EQ(finding(11, 3, 0), "");
  EXPECT_EQ(finding(23, 3, 12), "");
  EXPECT_EQ(finding(10, 3, 0),
            "kernel 'linear' expects out within the 40 bytes of parameter 2, "
            "got element 10 of f32");
  EXPECT_EQ(finding(22, 3, 12),
            "kernel 'linear' expects out within the 88 bytes of parameter 2, "
            "got element 22 of f32");
  EXPECT_EQ(finding(11, 1, 0), "kernel 'linear' expects a place for each "
                               "element of out, got stride 1 over 2 elements");
  // Items may not lie in each other's padding either.
  EXPECT_EQ(finding(24, 3, 2), "kernel 'linear' expects a place for each "
                               "element of out, got stride 3 over 4 elements");
}

/// The finding for a bias, or for the sums of rhs, with an unfused kernel
/// behind the product.
template <typename Change>
std::string findingOfUnfused(bool isSum, Change change) {
  ppx::ArtifactT artifact = soundArtifact();
  ppx::KernelT &kernel = *artifact.kernels.back();
  auto &c = *kernel.body.AsContraction();
  auto beside = std::make_unique<ppx::KernelParameterT>();
  beside->bytes = 2 * 4;
  c.epilogues.push_back(std::make_unique<ppx::EpilogueT>());
  c.epilogues[0]->kind =
      isSum ? ppx::EpilogueKind_sum_rhs : ppx::EpilogueKind_add;
  c.epilogues[0]->parameter = isSum ? 3 : 2;
  c.epilogues[0]->view = std::make_unique<ppx::MatrixViewT>();
  c.epilogues[0]->view->column_stride = 1;
  c.out_parameter = isSum ? 2 : 3;
  beside->access = isSum ? ppx::Access_write : ppx::Access_read;
  kernel.parameters.insert(kernel.parameters.begin() + (isSum ? 3 : 2),
                           std::move(beside));
  c.unfused = std::make_unique<ppx::CompiledKernelT>();
  c.unfused->grid = 2;
  c.unfused->block = 32;
  c.unfused->symbol = "pp_" + unfusedSignature(kernel);
  change(kernel, c);
  const CheckResult result = checkStructure(artifact);
  return result.ok() ? "" : result.findings.front().message;
}

TEST(StructureViews, UnfusedEpiloguesAreMadeForWhatTheyStandFor) {
  using Kernel = ppx::KernelT;
  using Product = ppx::ContractionT;
  using Edit = void (*)(Kernel &, Product &);
  for (const bool isSum : {false, true}) {
    // They do not depend on what is multiplied.
    for (const Edit edit :
         std::initializer_list<Edit>{[](Kernel &, Product &) {},
                                     [](Kernel &, Product &c) { c.alpha = 2; },
                                     [](Kernel &k, Product &c) {
                                       c.accumulate = true;
                                       k.parameters[c.out_parameter]->access =
                                           ppx::Access_read_write;
                                     }})
      EXPECT_EQ(findingOfUnfused(isSum, edit), "");
    for (const Edit edit : std::initializer_list<Edit>{
             [](Kernel &, Product &c) {
               using namespace ppx;
               c.epilogues[0]->kind = c.out_parameter == 2
                                          ? EpilogueKind_sum_lhs
                                          : EpilogueKind_multiply;
               if (c.out_parameter == 2) {
                 c.m = 2; // as many sums
                 std::swap(c.epilogues[0]->view->row_stride,
                           c.epilogues[0]->view->column_stride);
               }
             },
             [](Kernel &k, Product &c) {
               k.parameters[c.epilogues[0]->parameter]->bytes += 4;
             },
             [](Kernel &k, Product &c) {
               k.parameters[c.epilogues[0]->parameter]->bytes += 4;
               c.epilogues[0]->view->offset = 1;
             },
             [](Kernel &, Product &c) { c.m = 3; },
             [](Kernel &, Product &c) {
               c.out->offset = 0, c.out->row_stride = 2, c.n = 1;
             },
             [](Kernel &, Product &c) { --c.unfused->grid; },
             [](Kernel &, Product &c) { c.unfused->symbol.back() ^= 1; }}) {
      const std::string finding = findingOfUnfused(isSum, edit);
      EXPECT_EQ(finding.find("kernel 'linear' expects unfused epilogues made "
                             "for its own and their parameters, "),
                0u)
          << finding;
    }
    EXPECT_EQ(findingOfUnfused(isSum,
                               [](Kernel &, Product &c) {
                                 c.unfused->grid = c.unfused->block = 0;
                               }),
              "kernel 'linear' expects unfused epilogues that a GPU launches, "
              "without scratch, got 0 blocks and 0 bytes");
  }
  EXPECT_EQ(findingAfter([](Product &c) {
              c.unfused = std::make_unique<ppx::CompiledKernelT>();
            }),
            "kernel 'linear' expects epilogues for an unfused form of them, "
            "got none");
}

TEST(StructureViews, WhatCouldLeadOutsideIsRefused) {
  EXPECT_EQ(findingAfter([](auto &c) { addLoop(*c.out, 4, 2, -1); }),
            "kernel 'linear' expects out of one stride for rows and one for "
            "columns, got loops");
  EXPECT_EQ(findingAfter([](auto &c) { addLoop(*c.lhs, 3, 2, -1); }),
            "kernel 'linear' expects lhs of loops over 4 elements, got 3");
  EXPECT_EQ(findingAfter([](auto &c) { addLoop(*c.lhs, 4, 0, 0); }),
            "kernel 'linear' expects lhs of loops within its windows and "
            "2^40, got extent 4, window 0, step 1");
  EXPECT_EQ(findingAfter([](auto &c) {
              addLoop(*c.lhs, 4, 0, 0);
              addWindow(*c.lhs, 4, 0);
            }),
            "kernel 'linear' expects lhs of windows that begin within 2^40 "
            "and are divided by 1 or more, got 0 and 0");
  EXPECT_EQ(findingAfter([](auto &c) {
              addLoop(*c.lhs, 4, 0, 0);
              addWindow(*c.lhs, 5, 1);
            }),
            "kernel 'linear' expects lhs within the 48 bytes of parameter 0, "
            "got element 14 of f32");
  EXPECT_EQ(findingAfter([](auto &c) { addWindow(*c.lhs, 4, 1); }),
            "kernel 'linear' expects lhs of loops that move along its "
            "windows, got none");
}

/// The same for a contraction with another result, the output of `epilogue`: 16
/// bytes.
template <typename Change> std::string findingWith(Change change) {
  ppx::ArtifactT artifact = soundArtifact();
  ppx::KernelT &kernel = *artifact.kernels.back();
  kernel.parameters.push_back(std::make_unique<ppx::KernelParameterT>());
  kernel.parameters.back()->bytes = 16;
  kernel.parameters.back()->access = ppx::Access_write;
  ppx::ContractionT &body = *kernel.body.AsContraction();
  body.epilogues.push_back(std::make_unique<ppx::EpilogueT>());
  ppx::EpilogueT &epilogue = *body.epilogues.back();
  epilogue.kind = ppx::EpilogueKind_sum_lhs;
  epilogue.parameter = 3;
  epilogue.view = std::make_unique<ppx::MatrixViewT>();
  epilogue.view->row_stride = 1;
  change(kernel, body, epilogue);
  const CheckResult result = checkStructure(artifact);
  return result.ok() ? "" : result.findings.front().message;
}

TEST(StructureViews, WhatAnEpilogueWritesHasAParameterOfItsOwn) {
  EXPECT_EQ(findingWith([](auto &, auto &, auto &) {}), "");
  EXPECT_EQ(findingWith(
                [](auto &, auto &, auto &epilogue) { epilogue.parameter = 2; }),
            "kernel 'linear' expects what an epilogue writes in parameter 3, "
            "got parameter 2");
  EXPECT_EQ(findingWith([](auto &kernel, auto &, auto &) {
              kernel.parameters.pop_back();
            }),
            "kernel 'linear' expects what an epilogue writes in one of 3 "
            "parameters, got parameter 3");
  EXPECT_EQ(findingWith([](auto &kernel, auto &, auto &) {
              kernel.parameters.back()->access = ppx::Access_read;
            }),
            "kernel 'linear' expects to write what an epilogue writes, got "
            "access read");
  EXPECT_EQ(findingWith([](auto &, auto &, auto &epilogue) {
              epilogue.view->row_stride = 0;
            }),
            "kernel 'linear' expects a place for each element of what an "
            "epilogue writes, got stride 0 over 1 elements");
  EXPECT_EQ(findingWith([](auto &, auto &, auto &epilogue) {
              epilogue.view->row_stride = 2;
            }),
            "kernel 'linear' expects what an epilogue writes within the 16 "
            "bytes of parameter 3, got element 6 of f32");
  EXPECT_EQ(findingWith([](auto &, auto &body, auto &epilogue) {
              body.batch = {1};
              for (auto *view : {body.lhs.get(), body.rhs.get(), body.out.get(),
                                 epilogue.view.get()})
                view->batch = {0};
            }),
            "kernel 'linear' expects sums of one product, got a batch of 1 "
            "dimensions");
  // GELU writes its whole input if it has a view: here two columns.
  EXPECT_EQ(findingWith([](auto &kernel, auto &, auto &epilogue) {
              epilogue.kind = ppx::EpilogueKind_gelu_tanh;
              epilogue.view->row_stride = 2;
              epilogue.view->column_stride = 1;
              kernel.parameters.back()->bytes = 32;
            }),
            "");
  EXPECT_EQ(findingWith([](auto &, auto &, auto &epilogue) {
              epilogue.kind = ppx::EpilogueKind_gelu_tanh_gradient;
              epilogue.view.reset();
            }),
            "kernel 'linear' expects a view of an epilogue, got none");
}

TEST(StructureViews, NumbersOfParametersDoNotCountOver) {
  ppx::ArtifactT artifact = soundArtifact();
  ppx::KernelT &kernel = *artifact.kernels.back();
  kernel.body.AsContraction()->out_parameter = UINT32_MAX;
  kernel.parameters.clear();
  const CheckResult result = checkStructure(artifact);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.findings.front().message.find("of 0 parameters"),
            std::string::npos);
}

TEST(StructureViews, AWorkspaceLiesWhereLibrariesTakeIt) {
  ppx::ArtifactT artifact = soundArtifact();
  artifact.programs[0]->slots[0]->slot_class = ppx::SlotClass_workspace;
  artifact.programs[0]->slots[0]->offset = 64;
  const CheckResult result = checkStructure(artifact);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.findings.front().message,
            "program 'program0', slot 0 'master' expects an offset aligned to "
            "256, got 64");
}

} // namespace

TEST(StructureOrders, NameDimensions) {
  ppx::ArtifactT artifact = soundArtifact();
  artifact.arguments[1]->batch = 1;
  EXPECT_EQ(checkStructure(artifact).findings.front().message,
            "argument 'input' expects its batch to be -1 or one of 1 "
            "dimensions, got 1");
  artifact.arguments[1]->batch = -1;
  EXPECT_TRUE(checkStructure(artifact).ok());
  artifact.arguments[0]->stored_order = {1};
  EXPECT_EQ(checkStructure(artifact).findings.front().message,
            "argument 'master' expects a stored order of its dimensions");
}

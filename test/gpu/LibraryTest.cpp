//===- LibraryTest.cpp - NVIDIA's libraries, found or named ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against libraries that export what real ones do (exports/*.txt, of their
// symbol tables): every call that the engine makes is found in them. Against
// others: what is missing is named.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/Library.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::cuda;

static std::string library(const char *name) {
  return std::string(PP_EXPORTS) + name + ".so";
}

TEST(Library, FindsEveryCallInWhatRealLibrariesExport) {
  Expected<Driver> driver = openDriver({library("PPExportsDriver")});
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_EQ(driver->version, 12020);
  EXPECT_EQ(driver->file, library("PPExportsDriver"));
  EXPECT_FALSE(driver->isEmulated);
  Expected<Blas> blas =
      openBlas(13000, {"libppmissing.so", library("PPExportsBlas")});
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  EXPECT_EQ(blas->version, 130100u);
  Expected<Nccl> nccl = openNccl(13000, {library("PPExportsNccl")});
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
  EXPECT_EQ(nccl->version, 22809);
}

template <typename Table>
static void expectFailure(const Expected<Table> &table,
                          const std::string &words) {
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), ExitCode::device);
  EXPECT_NE(table.status().message().find(words), std::string::npos)
      << table.status().message();
}

// What is of a later CUDA than the driver does not work.
TEST(Library, FitsTheDriver) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(blasFiles(12080), Files({"libcublasLt.so.12"}));
  EXPECT_EQ(blasFiles(13000),
            Files({"libcublasLt.so.13", "libcublasLt.so.12"}));
  expectFailure(
      openBlas(12080, {"libppmissing.so"}),
      "of pip the package nvidia-cublas-cu12, with LD_LIBRARY_PATH at "
      "nvidia/cublas/lib of its site-packages)");
  expectFailure(openBlas(13000, {"libppmissing.so"}),
                "of pip the package nvidia-cublas, with LD_LIBRARY_PATH at "
                "nvidia/cu13/lib of its site-packages)");
  expectFailure(openNccl(12080, {"libppmissing.so"}),
                "of pip the package nvidia-nccl-cu12, with LD_LIBRARY_PATH at "
                "nvidia/nccl/lib of its site-packages)");
  expectFailure(openNccl(13000, {"libppmissing.so"}),
                "of pip the package nvidia-nccl-cu13, with LD_LIBRARY_PATH at "
                "nvidia/nccl/lib of its site-packages)");
}

TEST(Library, NamesTheCallThatIsMissing) {
  expectFailure(openDriver({library("PPExportsLacking")}),
                "expects NVIDIA's driver for CUDA 12.0 or newer, got one "
                "without cuMemAlloc_v2 in " +
                    library("PPExportsLacking") +
                    " (install or update the driver)");
}

TEST(Library, NamesTheVersionThatIsTooOld) {
  expectFailure(openDriver({library("PPExportsOld")}),
                "expects NVIDIA's driver for CUDA 12.0 or newer, got 11.8 in ");
  expectFailure(openBlas(13000, {library("PPExportsOld")}),
                "expects cuBLAS 12.0 or newer, got 11.6 in ");
  expectFailure(openNccl(13000, {library("PPExportsOld")}),
                "expects NCCL 2.22 or newer, got 2.18 in ");
}

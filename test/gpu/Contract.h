//===- Contract.h - what a library of NVIDIA's answers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: rows, which are sequences of calls and what they return, and a library
// that was opened by name. Out: a test for each row. The emulated library is
// held to them everywhere, the real library where there is one, which judges
// the rows and with them the emulated library.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CONTRACT_H
#define PP_TEST_GPU_CONTRACT_H

#include "backends/cuda/Library.h"

#include <cctype>
#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>

namespace pprt::cuda::contract {

using Results = std::vector<int>;

/// A Sequence makes what calls need, notes results, and frees what it made.
template <typename Sequence> struct Row {
  const char *name;
  std::function<void(Sequence &)> run;
  Results results;
  bool needsDevice = false;
};

inline Driver driver;
inline CUcontext context = nullptr;
/// Whether there is a driver with a GPU, for the library, too.
inline bool hasDevice = false;

template <typename Sequence> class Contract : public testing::Test {
public:
  explicit Contract(const Row<Sequence> &row) : row(row) {}

private:
  void TestBody() override {
    if (row.needsDevice && !hasDevice)
      GTEST_SKIP() << "no device";
    Sequence sequence;
    row.run(sequence);
    EXPECT_EQ(sequence.results, row.results) << row.name;
  }
  const Row<Sequence> &row;
};

template <typename Sequence, size_t number>
int runRows(const Row<Sequence> (&rows)[number]) {
  for (const Row<Sequence> &row : rows) {
    std::string name = row.name;
    for (char &letter : name)
      letter = std::isalnum(letter) ? letter : '_';
    testing::RegisterTest(
        "Contract", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&row]() -> testing::Test * { return new Contract<Sequence>(row); });
  }
  const int failures = RUN_ALL_TESTS();
  if (context)
    driver.cuDevicePrimaryCtxRelease(0);
  return failures;
}

/// Whether the driver's first GPU is there for calls.
inline bool enterDevice() {
  return driver.cuInit(0) == CUDA_SUCCESS &&
         driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
         driver.cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

/// Of CUDA, the driver's version, or the newest without one.
inline int findVersion() {
  const auto found = openDriver();
  return found.ok() ? found->version : 13000;
}

/// Of a library above the driver, which is an emulated library if it has the
/// symbol.
template <typename Library, typename Sequence, size_t number>
int runRows(Library &library, const Expected<Library> &opened,
            const char *emulator, const Row<Sequence> (&rows)[number]) {
  if (!opened.ok()) {
    std::printf("skipped: %s\n", opened.status().message().c_str());
    return 0;
  }
  library = *opened;
  void *loaded = dlopen(library.file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const bool isEmulated = loaded && dlsym(loaded, emulator);
  if (auto found = openDriver(); found.ok()) {
    driver = *found;
    // A library of the one kind does nothing on a driver of the other.
    hasDevice = driver.isEmulated == isEmulated && enterDevice();
  }
  std::printf("%s, %s%s, %s device\n", library.file.c_str(),
              std::to_string(library.version).c_str(),
              isEmulated ? " (emulated)" : "", hasDevice ? "a" : "no");
  return runRows(rows);
}

} // namespace pprt::cuda::contract

#endif // PP_TEST_GPU_CONTRACT_H

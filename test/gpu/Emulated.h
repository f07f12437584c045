//===- Emulated.h - tests that take faults of emulated libraries -----------*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the emulated library of libcuda, found by name as a driver is, and one of
// a library above it. Out: a fixture in which a fault is noted and does not end
// the process.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PLAYED_H
#define PP_TEST_GPU_PLAYED_H

#include "backends/cuda/Library.h"
#include "cuda/Emulator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace emulated {

/// What the emulated library of libcuda offers to tests; null where it is not
/// loaded.
inline const Control *findControl() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library ? static_cast<const Control *>(dlsym(library, "ppEmulator"))
                 : nullptr;
}

/// Whether all that a stream was given has ended. The engine asks events.
inline CUresult queryStream(CUstream stream) {
  static const auto query = reinterpret_cast<decltype(&cuStreamQuery)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuStreamQuery"));
  return query(stream);
}

class Emulated : public testing::Test {
protected:
  void SetUp() override {
    auto opened = pprt::cuda::openDriver();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    driver = *opened;
    control = findControl();
    ASSERT_TRUE(control) << driver.file;
  }
  /// A library above the driver, which is an emulated library if it has the
  /// symbol.
  template <typename Library>
  void take(Library &library, const pprt::Expected<Library> &opened,
            const char *symbol) {
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    library = *opened;
    void *loaded = dlopen(library.file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_TRUE(loaded && dlsym(loaded, symbol)) << library.file;
  }
  void TearDown() override {
    control->takeFaults(nullptr);
    control->reset("");
  }

  /// As in a new process, in which faults are only noted.
  void reset(const std::string &settings) {
    faults.clear();
    control->takeFaults([](const char *fault) { faults.push_back(fault); });
    control->reset(settings.c_str());
  }
  /// All faults, a line each.
  static std::string allFaults() {
    std::string text;
    for (const std::string &fault : faults)
      text += fault + "\n";
    return text;
  }
  /// One fault there is, in which these words are.
  static void expectFault(const std::string &words) {
    EXPECT_EQ(faults.size(), 1u) << allFaults();
    EXPECT_NE(allFaults().find(words), std::string::npos) << allFaults();
  }

  pprt::cuda::Driver driver;
  const Control *control = nullptr;
  static inline std::vector<std::string> faults;
};

} // namespace emulated

#endif // PP_TEST_GPU_PLAYED_H

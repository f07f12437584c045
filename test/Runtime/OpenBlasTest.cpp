//===- OpenBlasTest.cpp - a library that the process shares ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loading it leaves the program unchanged: no additional thread, the same
// environment, the same cores. More threads may compute than it has buffers.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/OpenBlas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pprt;

namespace {

size_t countThreads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return size_t(std::distance(begin(threads), end(threads)));
}

/// Returns the number of threads of the process's OpenBLAS; sets it unless 0.
int threadsOfLibrary(int set = 0) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  const auto get =
      reinterpret_cast<int (*)()>(dlsym(library, "openblas_get_num_threads"));
  if (set)
    reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(
        set);
  return get();
}

} // namespace

// In processes of their own: each loads once.
TEST(OpenBlas, LeavesTheProcessAsItWas) {
  const auto load = [] {
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof(before), &before);
    char **const environment = environ;
    const size_t threads = countThreads();
    if (!cpu::openBlas().ok())
      std::exit(1);
    sched_getaffinity(0, sizeof(after), &after);
    if (countThreads() != threads)
      std::exit(2);
    // Another variable would move the environment to another array.
    if (environ != environment)
      std::exit(3);
    if (!CPU_EQUAL(&before, &after))
      std::exit(4);
    std::exit(threadsOfLibrary() == 1 ? 0 : 5);
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(0), "");
}

TEST(OpenBlas, SharesWhatTheProgramHasLoaded) {
  const auto share = [] {
    if (threadsOfLibrary(3) != 3 || !cpu::openBlas().ok())
      std::exit(1);
    std::exit(threadsOfLibrary() == 1 ? 0 : 2);
  };
  EXPECT_EXIT(share(), testing::ExitedWithCode(0), "");
}

// Debian's library has 128 buffers, and ends a process that needs more.
TEST(OpenBlas, ServesMoreThreadsThanItHasBuffers) {
  const auto multiply = [] {
    if (!cpu::openBlas().ok())
      std::exit(1);
    constexpr unsigned count = 400;
    constexpr blasint size = 48;
    const Expected<std::shared_ptr<const void>> reserved =
        cpu::reserveBuffers(count);
    if (!reserved.ok())
      std::exit(2);
    std::atomic<unsigned> right{0}, held{0}, most{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([&] {
        const std::vector<double> ones(size * size, 1);
        std::vector<double> sums(size * size);
        for (int round = 0; round < 3; ++round) {
          const cpu::ProductTurn turn;
          const unsigned now = ++held;
          for (unsigned seen = most; seen < now;)
            most.compare_exchange_weak(seen, now);
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          cpu::openBlas()->dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans,
                                 size, size, size, 1, ones.data(), size,
                                 ones.data(), size, 0, sums.data(), size);
          --held;
        }
        if (sums == std::vector<double>(size * size, size))
          ++right;
      });
    for (std::thread &thread : threads)
      thread.join();
    std::exit(right != count ? 3 : most > 128 ? 4 : 0);
  };
  EXPECT_EXIT(multiply(), testing::ExitedWithCode(0), "");
}

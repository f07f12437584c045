//===- Settings.h - what the emulated library is told to be -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: lines of text (Emulator.h), and CUDA_VISIBLE_DEVICES. Out: values. What
// is not understood in full ends the process with one line.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_SETTINGS_H
#define PP_TEST_GPU_CUDA_SETTINGS_H

#include <cuda.h>

#include <map>
#include <string>
#include <vector>

namespace emulated {

struct Settings {
  uint64_t seed = 0, devices = 1, other = UINT64_MAX, version = 13000;
  uint64_t capability = 90, memory = uint64_t(16) << 30;
  uint64_t algorithm = 0, refused = 0, errors = 0, places = 3, drivers = 0;
  std::string processes; ///< folder of what they leave for each other
  std::string counts;    ///< file for how often each call was made
  struct Failure {
    uint64_t number = 0;
    CUresult result = CUDA_SUCCESS;
    bool isLate = false; ///< in the stream
  };
  std::multimap<std::string, Failure> failures; ///< by call
};

/// Of a text, which messages call by this name.
Settings parseSettings(const std::string &text, const std::string &name);
/// Of the file that PP_EMULATED names.
Settings readSettings();

/// Those of so many devices that are seen, as CUDA_VISIBLE_DEVICES has them;
/// all where it is null.
std::vector<int> findVisible(uint64_t devices, const char *list);

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_SETTINGS_H

//===- SettingsTest.cpp - what settings say, and which devices are seen ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A line that is not obeyed in full ends the process with one line, which names
// the file, the line and what was expected. Of the devices those are seen that
// CUDA's documentation says of CUDA_VISIBLE_DEVICES.
//
//===----------------------------------------------------------------------===//
#include "Played.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace {

class Settings : public standin::Played {
protected:
  /// Ends with code 2 and this line.
  void expectEnd(const std::string &settings, const std::string &line) {
    EXPECT_EXIT(control->reset(settings.c_str()), testing::ExitedWithCode(2),
                "^libcuda stand-in: settings of a test:" + line + "\n$")
        << settings;
  }
  /// What a process says whose environment names this file.
  void expectEndOfFile(const std::string &path, const std::string &line) {
    EXPECT_EXIT(
        {
          setenv("PP_STANDIN", path.c_str(), 1);
          control->reset(nullptr);
        },
        testing::ExitedWithCode(2), "^libcuda stand-in: " + line + "\n$");
  }
  /// The first bytes of the UUIDs of those that are seen, which number them.
  std::vector<int> seen(const char *visible, const char *settings) {
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    control->reset(settings);
    unsetenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> result;
    if (driver.cuInit(0) == CUDA_ERROR_NO_DEVICE)
      return result;
    int count = 0;
    EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    for (int i = 0; i < count; ++i) {
      CUuuid id;
      EXPECT_EQ(driver.cuDeviceGetUuid(&id, i), CUDA_SUCCESS);
      result.push_back(id.bytes[0]);
    }
    return result;
  }
};

} // namespace

TEST_F(Settings, AreObeyedInFullOrNotAtAll) {
  expectEnd("speed 2\n", "1: expects one of seed, devices, .*, got 'speed 2'");
  expectEnd("seed 1\n\ncapability 80, memory 1000\n",
            "3: expects 'capability N', N from 10 to 999, got 'capability 80, "
            "memory 1000'");
  for (const char *wrong : {"memory", "memory x", "memory -1", "memory 1.5",
                            "memory 99999999999999999999"})
    expectEnd(wrong, std::string("1: expects 'memory N', N from 0 to [0-9]*, "
                                 "got '") +
                         wrong + "'");
  expectEnd("devices 257", "1: expects 'devices N', N from 0 to 256, got "
                           "'devices 257'");
  expectEnd("places 0",
            "1: expects 'places N', N from 1 to .*, got 'places 0'");
  expectEnd("counts", "1: expects 'counts FILE', a file to write, got 'counts'");
  expectEnd("processes", "1: expects 'processes FOLDER', a folder that takes "
                         "files, got 'processes'");
  expectEnd("processes /none/at all",
            "1: expects 'processes FOLDER', a folder that takes files, got "
            "'processes /none/at all'");
}

TEST_F(Settings, FailCallsThatTheStandInsHave) {
  for (const char *right :
       {"fail cuInit 1 3", "fail cuMemAlloc_v2 1 2", "fault cuGraphLaunch 2 7",
        "fail cublasLtMatmulDescSetAttribute 3 1", "fail ncclGroupEnd 1 1",
        "fail cuEventElapsedTime 1 1", "fail ncclGetErrorString 1 1"})
    control->reset(right);
  expectEnd("fail cuLaunchKernelEx 5 700",
            "1: expects a call that the stand-ins have, got "
            "'cuLaunchKernelEx'");
  expectEnd("fault cuMemAlloc 1 2",
            "1: expects a call that the stand-ins have, as cuMemAlloc_v2, got "
            "'cuMemAlloc'");
  for (const char *wrong :
       {"fail", "fail cuInit", "fail cuInit 1", "fail cuInit 0 3",
        "fail cuInit 1 0", "fail cuInit 1 3 4", "fail cuInit 1 x"})
    expectEnd(wrong, std::string("1: expects 'fail CALL K CODE', the K-th call "
                                 "from 1 on and an error's code, got '") +
                         wrong + "'");
}

TEST_F(Settings, NameTheirFile) {
  const std::string path = testing::TempDir() + "settings";
  std::ofstream(path) << "devices 2\nspeed 2\n";
  expectEndOfFile(path, path + ":2: expects one of .*, got 'speed 2'");
  expectEndOfFile("/none",
                  "PP_STANDIN expects a file of settings, got '/none': "
                  "No such file or directory");
  expectEndOfFile("/", "PP_STANDIN expects a file of settings, got '/': Is a "
                       "directory");
  unlink(path.c_str());
}

TEST_F(Settings, SeeTheDevicesThatCudaWouldSee) {
  const std::string uuid = "GPU-02000000-0000-0000-0000-000000000000";
  const std::pair<std::string, std::vector<int>> cases[] = {
      {"0,1,2,3", {0, 1, 2, 3}},
      {"2,1", {2, 1}},
      {"3", {3}},
      // The list ends with the first entry that is no device's.
      {"0,2,-1,1", {0, 2}},
      {"1,-1,2", {1}},
      {"-1", {}},
      {"9", {}},
      {"1,4", {1}},
      {"abc", {}},
      {"1,2x", {1}},
      {"1,,2", {1}},
      {"", {}},
      {" 1, 2", {1, 2}},
      // UUIDs, and what is enough of one.
      {uuid, {2}},
      {"GPU-03,GPU-01", {3, 1}},
      {"GPU-03,1", {3, 1}},
      {"GPU-0", {}},
      {"GPU-", {}},
      {"GPU-04", {}},
      {uuid + "0", {}},
      {"02000000", {}},
      {"MIG-" + uuid + "/0/0", {}},
      // A device twice.
      {"0,0", {}},
      {"1,GPU-01", {}},
      {"0,1,-1,1", {0, 1}},
  };
  for (const auto &[visible, expected] : cases)
    EXPECT_EQ(seen(visible.c_str(), "devices 4\n"), expected) << visible;
  EXPECT_EQ(seen("0", "devices 0\n"), std::vector<int>());
}

TEST_F(Settings, NumberOtherModelsBeforeTheyAreHidden) {
  EXPECT_EQ(seen("2,1", "devices 3\nother 2\n"), (std::vector<int>{2, 1}));
  char name[100] = {};
  driver.cuDeviceGetName(name, sizeof(name), 0);
  EXPECT_STREQ(name, "another stand-in of pp");
}

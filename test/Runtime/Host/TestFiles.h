//===- TestFiles.h - A folder that a test may fill --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two tests may run at once: each has its own folder.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_HOST_TESTFILES_H
#define PP_TEST_RUNTIME_HOST_TESTFILES_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// A fixture with an empty folder, removed after the test.
class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pp-run-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }

  /// Writes a file and returns its path.
  std::string put(const std::string &name, const std::string &content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string get(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  size_t fileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }

  std::string folder;
};

/// `message` without the path of the folder, which differs from run to run.
inline std::string shorten(std::string message, const std::string &folder) {
  for (size_t at; (at = message.find(folder + "/")) != std::string::npos;)
    message.erase(at, folder.size() + 1);
  return message;
}

#endif // PP_TEST_RUNTIME_HOST_TESTFILES_H

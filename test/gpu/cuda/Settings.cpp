//===- Settings.cpp - what the emulated library is told to be -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: lines of text (Emulator.h), and CUDA_VISIBLE_DEVICES. Out: values. What
// is not understood in full ends the process with one line.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

using namespace emulated;

/// Ends the process as a wrong option does, before anything was done.
[[noreturn]] static void refuse(const std::string &what) {
  std::fprintf(stderr, "emulated libcuda: %s\n", what.c_str());
  std::_Exit(2);
}

static const std::map<std::string, uint64_t Settings::*> kNumbers = {
    {"seed", &Settings::seed},
    {"devices", &Settings::devices},
    {"other", &Settings::other},
    {"memory", &Settings::memory},
    {"capability", &Settings::capability},
    {"version", &Settings::version},
    {"errors", &Settings::errors},
    {"algorithm", &Settings::algorithm},
    {"refuse", &Settings::refused},
    {"places", &Settings::places},
    {"drivers", &Settings::drivers}};

/// As the libraries export them: the header gives plain names to later forms.
static bool isKnown(const std::string &call) {
#undef cuEventElapsedTime // defined under this name
#define PP_SPELL(name) #name
#define PP_CALL(name) PP_SPELL(name),
  static const std::set<std::string> calls = {
#include "KnownCalls.inc"
  };
#undef PP_CALL
#undef PP_SPELL
  return calls.count(call) > 0;
}

/// Whether the words are those of a setting, which is taken.
static bool take(std::istringstream &words, Settings &settings) {
  std::string word, call;
  words >> word;
  if (const auto found = kNumbers.find(word); found != kNumbers.end())
    return bool(words >> settings.*found->second);
  if (word == "processes" || word == "counts") // names may have spaces
    return bool(std::getline(words >> std::ws, word == "counts"
                                                   ? settings.counts
                                                   : settings.processes));
  Settings::Failure failure;
  failure.isLate = word == "fault";
  int code = 0;
  if ((word != "fail" && word != "fault") ||
      !(words >> call >> failure.number >> code) || !isKnown(call))
    return false;
  failure.result = CUresult(code);
  settings.failures.insert({call, failure});
  return true;
}

Settings emulated::parseSettings(const std::string &text,
                                 const std::string &name) {
  Settings settings;
  std::istringstream lines(text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string more;
    if (!line.empty() && (!take(words, settings) || words >> more))
      refuse(name + ':' + std::to_string(number) +
             ": expects a setting of test/gpu/cuda/Emulator.h, got '" + line +
             "'");
  }
  return settings;
}

Settings emulated::readSettings() {
  const char *path = std::getenv("PP_EMULATED");
  if (!path)
    return {};
  std::ifstream file(path);
  if (!file)
    refuse("PP_EMULATED expects a file of settings, got '" + std::string(path) +
           "': " + std::strerror(errno));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parseSettings(text, path);
}

std::vector<int> emulated::findVisible(uint64_t devices, const char *list) {
  std::vector<int> seen;
  for (uint64_t device = 0; !list && device < devices; ++device)
    seen.push_back(int(device));
  std::istringstream entries(list ? list : "");
  for (uint64_t device; entries >> device && device < devices;
       entries.ignore(1))
    seen.push_back(int(device));
  return seen;
}

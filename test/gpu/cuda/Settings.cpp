//===- Settings.cpp - what the emulated library is told to be -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Settings.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace emulated;

/// Ends the process as a wrong option does, before anything was done.
[[noreturn]] static void refuse(const std::string &what) {
  std::fprintf(stderr, "emulated libcuda: %s\n", what.c_str());
  std::_Exit(2);
}

static std::optional<uint64_t> takeNumber(std::string_view text) {
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

namespace {

struct Number {
  const char *word;
  uint64_t least, most;
  void (*set)(Settings &settings, uint64_t value);
};

/// One line, and who has to be told where it is wrong.
struct Line {
  const std::string &name;
  int number;
  std::string text;
  std::vector<std::string> words;

  [[noreturn]] void expect(const std::string &what,
                           const std::string &got) const {
    refuse(name + ':' + std::to_string(number) + ": expects " + what +
           ", got '" + got + "'");
  }
};

} // namespace

static const Number kNumbers[] = {
    {"seed", 0, UINT64_MAX, [](Settings &s, uint64_t v) { s.seed = v; }},
    {"devices", 0, 256, [](Settings &s, uint64_t v) { s.devices = int(v); }},
    {"other", 0, 255, [](Settings &s, uint64_t v) { s.other = int(v); }},
    {"memory", 0, uint64_t(1) << 48,
     [](Settings &s, uint64_t v) { s.memory = v; }},
    {"capability", 10, 999,
     [](Settings &s, uint64_t v) { s.capability = int(v); }},
    {"version", 1000, 99999,
     [](Settings &s, uint64_t v) { s.version = int(v); }},
    {"errors", 0, UINT64_MAX, [](Settings &s, uint64_t v) { s.errors = v; }},
    {"algorithm", 0, UINT64_MAX,
     [](Settings &s, uint64_t v) { s.algorithm = v; }},
    {"refuse", 0, UINT32_MAX, [](Settings &s, uint64_t v) { s.refused = v; }},
    {"places", 1, 1024, [](Settings &s, uint64_t v) { s.places = int(v); }},
    {"drivers", 0, 1024, [](Settings &s, uint64_t v) { s.drivers = int(v); }},
};

/// As the libraries export them: the header gives plain names to later forms.
static const std::set<std::string> &knownCalls() {
#undef cuEventElapsedTime // defined under this name
#define PP_SPELL(name) #name
#define PP_CALL(name) PP_SPELL(name),
  static const std::set<std::string> calls = {
#include "KnownCalls.inc"
  };
#undef PP_CALL
#undef PP_SPELL
  return calls;
}

static void takeNumber(const Line &line, const Number &number,
                       Settings &settings) {
  const auto value = line.words.size() == 2 ? takeNumber(line.words[1])
                                            : std::optional<uint64_t>();
  if (!value || *value < number.least || *value > number.most)
    line.expect("'" + std::string(number.word) + " N', N from " +
                    std::to_string(number.least) + " to " +
                    std::to_string(number.most),
                line.text);
  number.set(settings, *value);
}

/// The rest of the line: it may have spaces.
static std::string takeRest(const Line &line) {
  const std::string &word = line.words[0];
  const size_t begin = line.text.find(word) + word.size();
  const size_t first = line.text.find_first_not_of(' ', begin);
  return first == std::string::npos ? "" : line.text.substr(first);
}

static void takePath(const Line &line, std::string &path) {
  path = takeRest(line);
  if (path.empty())
    line.expect("'" + line.words[0] + " PATH'", line.text);
}

static void takeFailure(const Line &line, Settings &settings) {
  const std::vector<std::string> &words = line.words;
  const bool isWhole = words.size() == 4;
  const auto number = isWhole ? takeNumber(words[2]) : std::nullopt;
  const auto code = isWhole ? takeNumber(words[3]) : std::nullopt;
  if (!number || !code || *number == 0 || *code == 0 || *code > INT32_MAX)
    line.expect("'" + words[0] +
                    " CALL K CODE', the K-th call from 1 on and an error's "
                    "code",
                line.text);
  if (!knownCalls().count(words[1]))
    line.expect(
        "a call that the emulated libraries have, as the library exports it",
        words[1]);
  settings.failures.insert(
      {words[1], {*number, CUresult(*code), words[0] == "fault"}});
}

static void take(const Line &line, Settings &settings) {
  const std::string &word = line.words[0];
  std::string all;
  for (const Number &number : kNumbers) {
    if (word == number.word)
      return takeNumber(line, number, settings);
    all += number.word + std::string(", ");
  }
  if (word == "processes")
    return takePath(line, settings.processes);
  if (word == "counts")
    return takePath(line, settings.counts);
  if (word == "fail" || word == "fault")
    return takeFailure(line, settings);
  line.expect("one of " + all + "processes, counts, fail, fault", line.text);
}

Settings emulated::parseSettings(const std::string &text,
                                 const std::string &name) {
  Settings settings;
  std::istringstream lines(text);
  Line line = {name, 0, "", {}};
  while (std::getline(lines, line.text)) {
    ++line.number;
    std::istringstream words(line.text);
    line.words.clear();
    for (std::string word; words >> word;)
      line.words.push_back(word);
    if (!line.words.empty())
      take(line, settings);
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

//===----------------------------------------------------------------------===//
// Devices that are seen
//===----------------------------------------------------------------------===//

CUuuid emulated::uuidOf(int device) {
  CUuuid uuid = {};
  uuid.bytes[0] = char(device);
  return uuid;
}

std::vector<int> emulated::findVisible(int devices, const char *list) {
  std::vector<int> seen;
  if (!list) {
    for (int device = 0; device < devices; ++device)
      seen.push_back(device);
    return seen;
  }
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const auto device = takeNumber(entry);
    if (!device || *device >= uint64_t(devices))
      break;
    seen.push_back(int(*device));
  }
  return seen;
}

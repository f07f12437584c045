//===- Command.cpp - the command of a job ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Command.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <sys/stat.h>
#include <unistd.h>

using namespace pp::run;

namespace {

/// A number, and the text around it.
struct Place {
  size_t begin = 0, end = 0; ///< in its text
  uint64_t number = 0;
};

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// The number from 1 on at `begin`, behind which a word ends.
std::optional<Place> numberAt(std::string_view text, size_t begin) {
  Place place = {begin, begin};
  const char *const last = text.data() + text.size();
  const auto [end, error] =
      std::from_chars(text.data() + begin, last, place.number);
  place.end = size_t(end - text.data());
  const bool isWhole =
      error == std::errc() && (end == last || isBlank(*end)) && place.number;
  return isWhole ? std::optional(place) : std::nullopt;
}

/// The size that the key dp has.
std::optional<Place> findDataParallel(std::string_view keys) {
  constexpr std::string_view key = "dp=";
  for (size_t at = keys.find(key); at != keys.npos; at = keys.find(key, at + 1))
    if (at == 0 || isBlank(keys[at - 1]))
      return numberAt(keys, at + key.size());
  return std::nullopt;
}

/// The word that says how many processes to start, and where in it.
std::optional<std::pair<size_t, Place>>
findProcessCount(const std::vector<std::string> &launcher) {
  for (size_t i = 0; i < launcher.size(); ++i)
    for (const std::string name : {"-n", "-np", "--n", "--np", "--ntasks"}) {
      const bool isAlone = launcher[i] == name;
      if (!isAlone && launcher[i].rfind(name + "=", 0) != 0)
        continue;
      const size_t word = isAlone ? i + 1 : i;
      if (word == launcher.size())
        return std::nullopt;
      const std::optional<Place> place =
          numberAt(launcher[word], isAlone ? 0 : name.size() + 1);
      return place ? std::optional(std::pair(word, *place)) : std::nullopt;
    }
  return std::nullopt;
}

void replace(std::string &text, const Place &place, uint64_t number) {
  text.replace(place.begin, place.end - place.begin, std::to_string(number));
}

/// Whether the word is one of these options.
bool isOption(std::string_view word,
              std::initializer_list<std::string_view> names) {
  return word.substr(0, 2) == "--" &&
         std::count(names.begin(), names.end(),
                    word.substr(2, word.find('=') - 2)) > 0;
}

void removeOptions(std::vector<std::string> &words,
                   std::initializer_list<std::string_view> names) {
  words.erase(std::remove_if(words.begin(), words.end(),
                             [&](const std::string &word) {
                               return isOption(word, names);
                             }),
              words.end());
}

} // namespace

std::optional<std::vector<std::string>>
pp::run::splitWords(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool isInWord = false;
  for (char c : text) {
    if (!quote && isBlank(c)) {
      isInWord = false;
      continue;
    }
    // Quotes around nothing are a word, too.
    if (!isInWord)
      words.emplace_back();
    isInWord = true;
    if (quote ? c == quote : c == '\'' || c == '"')
      quote = quote ? 0 : c;
    else
      words.back() += c;
  }
  return quote ? std::nullopt : std::optional(std::move(words));
}

bool pp::run::isProgram(const std::string &name) {
  const auto runs = [](const std::string &path) {
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos)
    return runs(name);
  const char *const variable = std::getenv("PATH");
  const std::string path = variable ? variable : "/bin:/usr/bin";
  for (size_t begin = 0, end = 0; end < path.size(); begin = end + 1) {
    end = std::min(path.find(':', begin), path.size());
    // An empty folder is this one.
    const std::string folder = path.substr(begin, end - begin);
    if (runs((folder.empty() ? "." : folder) + "/" + name))
      return true;
  }
  return false;
}

std::optional<uint64_t> pp::run::dataParallelOf(std::string_view keys) {
  const std::optional<Place> place = findDataParallel(keys);
  return place ? std::optional(place->number) : std::nullopt;
}

std::optional<uint64_t>
pp::run::processCountOf(const std::vector<std::string> &launcher) {
  const auto found = findProcessCount(launcher);
  return found ? std::optional(found->second.number) : std::nullopt;
}

Command pp::run::commandOf(int argc, const char *const *argv,
                           const std::vector<std::string> &launcher) {
  Command command = {launcher, {argv + 1, argv + argc}};
  removeOptions(command.options, {"restart", "elastic"});
  // That of the job is the one that it is started by.
  if (!launcher.empty())
    removeOptions(command.options, {"launcher"});
  return command;
}

Command pp::run::resumed(Command command) {
  removeOptions(command.options,
                {"parameters", "resume", "resume-parameters-only"});
  command.options.push_back("--resume");
  return command;
}

Command pp::run::shrunk(Command command, uint64_t before, uint64_t dp) {
  for (std::string &word : command.options)
    if (isOption(word, {"parallelize"})) {
      const size_t begin = word.find('=') + 1;
      std::string keys = word.substr(begin);
      if (const std::optional<Place> place = findDataParallel(keys))
        replace(keys, *place, dp);
      word = word.substr(0, begin) + keys;
    }
  if (const auto found = findProcessCount(command.launcher)) {
    const auto &[word, place] = *found;
    replace(command.launcher[word], place,
            std::max<uint64_t>(1, place.number * dp / before));
  }
  return command;
}

//===- OptionReaders.cpp - values of options ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OptionReaders.h"
#include "pprt/Bytes.h"

#include <charconv>

using namespace pp::run;

const char *pp::run::readNumber(std::string_view text, uint64_t &number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size()
             ? nullptr
             : "a number from 0 on";
}

const char *pp::run::readCount(std::string_view text, uint64_t &number) {
  return readNumber(text, number) || number == 0 ? "a number from 1 on"
                                                 : nullptr;
}

const char *pp::run::readText(std::string_view text, std::string &field) {
  field = text;
  return text.empty() ? "a value" : nullptr;
}

const char *pp::run::readResult(std::string_view text, std::string &field) {
  field = text;
  return text.empty()  ? "a file"
         : text == "-" ? "a file; /dev/stdout is standard output"
                       : nullptr;
}

bool pp::run::isOfOtherFormat(std::string_view file) {
  for (std::string_view suffix : {".npz", ".npy", ".pt", ".pth", ".bin"})
    if (file.size() > suffix.size() &&
        file.substr(file.size() - suffix.size()) == suffix)
      return true;
  return false;
}

const char *pp::run::readLimit(std::string_view text,
                               std::optional<uint64_t> &limit) {
  const std::optional<uint64_t> bytes = pprt::parseBytes(text);
  if (bytes && *bytes > 0)
    limit = bytes;
  return bytes ? nullptr : pprt::kBytesSyntax;
}

const char *pp::run::readInterval(std::string_view text, Options &options) {
  static constexpr char kExpected[] =
      "a number of steps, or a time such as 30s, 10m or 2h";
  const std::string_view units = "smh";
  const size_t unit = text.empty() ? units.npos : units.find(text.back());
  uint64_t number = 0;
  if (readNumber(text.substr(0, text.size() - (unit != units.npos)), number) ||
      number == 0 || number > 1'000'000'000)
    return kExpected;
  static constexpr uint64_t kSeconds[] = {1, 60, 3600};
  (unit == units.npos ? options.saveEvery : options.saveSeconds) =
      number * (unit == units.npos ? 1 : kSeconds[unit]);
  return nullptr;
}

const char *pp::run::setSwitch(bool &field) {
  field = true;
  return nullptr;
}

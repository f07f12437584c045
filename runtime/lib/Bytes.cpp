//===- Bytes.cpp - amounts of memory as people write them -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Bytes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

using namespace pprt;

const char *const pprt::kBytesSyntax =
    "a number of bytes, as 4096, 512M or 1.5GiB";

static constexpr std::string_view units = "KMGT";

/// Returns the factor of `K`, `kb`, `KiB` ...; nothing for other words.
static std::optional<double> parseUnit(std::string_view text) {
  if (text.empty() || text == "B" || text == "b")
    return 1;
  const size_t power = units.find(char(std::toupper(text.front())));
  std::string rest(text.substr(1));
  std::transform(rest.begin(), rest.end(), rest.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (power == units.npos || (!rest.empty() && rest != "b" && rest != "ib"))
    return std::nullopt;
  return std::pow(rest == "b" ? 1000.0 : 1024.0, double(power + 1));
}

std::optional<uint64_t> pprt::parseBytes(std::string_view text) {
  const char *const end = text.data() + text.size();
  // Whole numbers of bytes are exact.
  uint64_t whole = 0;
  if (const auto [next, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && next == end)
    return whole >> 63 ? std::nullopt : std::optional(whole);
  double number = 0;
  const auto [next, error] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || text.front() == '-')
    return std::nullopt;
  std::string_view word(next, size_t(end - next));
  if (word.size() > 1 && word.front() == ' ') // as printBytes() writes it
    word.remove_prefix(1);
  const std::optional<double> unit = parseUnit(word);
  // A fraction of a byte means that the unit was forgotten.
  if (!unit || !(number * *unit < 0x1p63) ||
      (*unit == 1 && number != std::floor(number)))
    return std::nullopt;
  return uint64_t(std::llround(number * *unit));
}

/// With three digits, of which `round` rounds the last.
static std::string print(double bytes, double (*round)(double)) {
  char text[32];
  if (bytes < 1024) {
    std::snprintf(text, sizeof(text), "%.0f B", bytes);
    return text;
  }
  size_t unit = 0;
  // A number that would round to 1000 is printed in the next unit.
  for (bytes /= 1024; bytes >= 999.5 && unit + 1 < units.size(); bytes /= 1024)
    ++unit;
  const int decimals = bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
  const double power = std::pow(10.0, decimals);
  std::snprintf(text, sizeof(text), "%.*f %ciB", decimals,
                round(bytes * power) / power, units[unit]);
  return text;
}

static double keep(double number) { return number; }
static double roundUp(double number) { return std::ceil(number); }

std::string pprt::printBytes(double bytes) { return print(bytes, keep); }

std::string pprt::printLimit(uint64_t bytes) {
  const std::string text = std::to_string(bytes) + " bytes";
  return bytes < 1024 ? text
                      : text + " (" + print(double(bytes), roundUp) + ")";
}

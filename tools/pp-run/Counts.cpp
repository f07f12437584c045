//===- Counts.cpp - sums counts of devices --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Only numbers travel between processes: all have the same names.
//
//===----------------------------------------------------------------------===//
#include "Run.h"

#include <cstring>

using namespace pp::run;
using namespace pprt;

Expected<std::vector<NamedCount>>
pp::run::sumCounts(World &world, std::vector<NamedCount> counts) {
  std::vector<std::byte> bytes(counts.size() * sizeof(uint64_t));
  for (size_t i = 0; i < counts.size(); ++i)
    std::memcpy(&bytes[i * sizeof(uint64_t)], &counts[i].value,
                sizeof(uint64_t));
  Expected<std::vector<std::vector<std::byte>>> all =
      world.gather(std::move(bytes));
  if (!all)
    return all.status();
  for (NamedCount &count : counts)
    count.value = 0;
  for (const std::vector<std::byte> &process : *all)
    for (size_t i = 0; i < counts.size(); ++i) {
      uint64_t value = 0;
      std::memcpy(&value, &process[i * sizeof(value)], sizeof(value));
      counts[i].value += value;
    }
  return counts;
}

std::string pp::run::printCounts(const std::vector<NamedCount> &counts) {
  std::string text;
  for (const NamedCount &count : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count.value) + " " +
            count.name;
  return text;
}

//===- Shadow.cpp - who touched a byte, and when --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Shadow.h"

#include <algorithm>

using namespace ptx;

bool Shadow::isBefore(const Access &before, const Moment &now) {
  if (!before.isThere())
    return true;
  return before.block == now.block &&
         (before.thread == now.thread || before.blockEpoch < now.blockEpoch);
}

bool Shadow::isOrdered(const Access &before, const Moment &now) {
  return isBefore(before, now) || (before.isAtomic && now.isAtomic);
}

const Shadow::Access *Shadow::touch(Byte &byte, const Moment &moment,
                                    bool writes, const char *&did) {
  const auto meets = [&](const Access &before, const char *verb) {
    did = verb;
    return &before;
  };
  if (!isOrdered(byte.writer, moment))
    return meets(byte.writer, " writes ");
  const Access now{moment.block, moment.thread, moment.blockEpoch,
                   moment.isAtomic};
  if (moment.isNonCoherent && byte.writer.isThere())
    return meets(byte.writer, " writes, and ld.global.nc reads, ");
  if (writes && byte.nonCoherent.isThere())
    return meets(byte.nonCoherent, " reads by ld.global.nc ");
  if (moment.isNonCoherent)
    byte.nonCoherent = now;
  if (writes) {
    for (const Access *reader : {&byte.first, &byte.second})
      if (!isOrdered(*reader, moment))
        return meets(*reader, " reads ");
    byte.writer = now;
  } else if (isBefore(byte.first, moment)) {
    // Who comes behind this reader comes behind that one.
    byte.first = now;
  } else {
    byte.second = now;
  }
  return nullptr;
}

Shadow::Cell &Shadow::cellOf(uint64_t address) {
  if (const uint64_t number = address / kPage; number != lastNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    lastPage = page.get();
    lastNumber = number;
  }
  return lastPage->cells[address % kPage / kCell];
}

bool Shadow::touch(uint64_t address, uint64_t size, const Moment &moment,
                   bool writes, std::string &conflict) {
  const uint64_t end = address + size;
  for (uint64_t at = address, next; at < end; at = next) {
    Cell &cell = cellOf(at);
    next = at + 1;
    if (!cell.parts && at % kCell == 0 && at + kCell <= end)
      next = at + kCell;
    else if (!cell.parts)
      cell.parts =
          std::make_unique<std::array<Byte, kCell>>(std::array<Byte, kCell>{
              cell.whole, cell.whole, cell.whole, cell.whole});
    const char *did = "";
    if (const Access *other =
            touch(cell.parts ? (*cell.parts)[at % kCell] : cell.whole, moment,
                  writes, did)) {
      conflict = "thread " + std::to_string(other->thread) + " of block " +
                 std::to_string(other->block) + did + "byte " +
                 std::to_string(at - address) +
                 " of this, and nothing orders the two";
      return false;
    }
  }
  return true;
}

void Shadow::collect(Accesses &accesses) const {
  std::vector<uint64_t> numbers;
  for (auto &[number, page] : pages)
    numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  auto add = [](std::vector<Accesses::Range> &ranges, uint64_t at,
                uint64_t bytes) {
    if (!ranges.empty() && ranges.back().end == at)
      ranges.back().end += bytes;
    else
      ranges.push_back({at, at + bytes});
  };
  auto addAll = [&](const Byte &byte, uint64_t at, uint64_t bytes) {
    if (byte.first.isThere())
      add(accesses.read, at, bytes);
    if (byte.writer.isThere())
      add(accesses.written, at, bytes);
  };
  for (uint64_t number : numbers) {
    const Page &page = *pages.at(number);
    for (uint64_t index = 0; index < kPage / kCell; ++index) {
      const Cell &cell = page.cells[index];
      const uint64_t at = number * kPage + index * kCell;
      if (!cell.parts)
        addAll(cell.whole, at, kCell);
      else
        for (uint64_t part = 0; part < kCell; ++part)
          addAll((*cell.parts)[part], at + part, 1);
    }
  }
}

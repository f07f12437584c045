//===- Shadow.cpp - who touched a byte, and when --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Shadow.h"

#include <algorithm>

using namespace ptx;

bool Shadow::isOrdered(const Access &before, const Moment &now) {
  if (!before.isThere())
    return true;
  if (before.block != now.block)
    return before.isAtomic && now.isAtomic;
  if (before.thread == now.thread || before.blockEpoch < now.blockEpoch)
    return true;
  if (before.thread / 32 == now.thread / 32 &&
      before.warpEpoch < now.heard[before.thread % 32])
    return true;
  return before.isAtomic && now.isAtomic;
}

static std::string describe(uint32_t block, uint32_t thread) {
  return "thread " + std::to_string(thread) + " of block " +
         std::to_string(block);
}

bool Shadow::touch(uint64_t address, uint64_t size, const Moment &moment,
                   bool writes, std::string &conflict) {
  for (uint64_t at = address; at < address + size; ++at) {
    if (const uint64_t number = at / kPage; number != lastNumber) {
      std::unique_ptr<Page> &page = pages[number];
      if (!page)
        page = std::make_unique<Page>();
      lastPage = page.get();
      lastNumber = number;
    }
    Byte &byte = lastPage->bytes[at % kPage];
    auto fails = [&](const Access &before, const char *did) {
      if (isOrdered(before, moment))
        return false;
      conflict = describe(before.block, before.thread) + std::string(did) +
                 "byte " + std::to_string(at - address) +
                 " of this, and nothing orders the two";
      return true;
    };
    if (fails(byte.writer, " writes "))
      return false;
    const Access now{moment.block, moment.thread, moment.blockEpoch,
                     moment.warpEpoch, moment.isAtomic};
    if (writes) {
      if (fails(byte.first, " reads ") || fails(byte.second, " reads "))
        return false;
      byte.writer = now;
    } else if (!byte.first.isThere() || (byte.first.block == now.block &&
                                         byte.first.thread == now.thread)) {
      byte.first = now;
    } else {
      byte.second = now;
    }
  }
  return true;
}

void Shadow::collect(Accesses &accesses) const {
  std::vector<uint64_t> numbers;
  for (auto &[number, page] : pages)
    numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  auto add = [](std::vector<Accesses::Range> &ranges, uint64_t at) {
    if (!ranges.empty() && ranges.back().end == at)
      ++ranges.back().end;
    else
      ranges.push_back({at, at + 1});
  };
  for (uint64_t number : numbers) {
    const Page &page = *pages.at(number);
    for (uint64_t index = 0; index < kPage; ++index) {
      if (page.bytes[index].first.isThere())
        add(accesses.read, number * kPage + index);
      if (page.bytes[index].writer.isThere())
        add(accesses.written, number * kPage + index);
    }
  }
}

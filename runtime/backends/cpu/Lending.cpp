//===- Lending.cpp - heap memory from a block of the caller ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Lending.h"

#include <cstdio>
#include <cstdlib>

using namespace pprt;

// Read inside malloc, which must not allocate to find it in a shared library.
[[gnu::tls_model("initial-exec")]] static thread_local Lending *lending =
    nullptr;

Lending::Lending(std::byte *memory, uint64_t bytes, uint64_t smallest)
    : memory(memory), size(bytes), smallest(smallest) {
  lending = this;
}

Lending::~Lending() {
  lending = nullptr;
  if (live == 0)
    return;
  std::fputs("error: expects a library to free what it allocates in a call, "
             "got memory that it keeps\n",
             stderr);
  std::abort();
}

Lending *Lending::current() { return lending; }

void *Lending::allocate(std::size_t alignment, std::size_t bytes) {
  if (bytes < smallest || bytes == 0)
    return nullptr;
  const auto free = reinterpret_cast<uintptr_t>(memory) + used;
  const uint64_t gap = (alignment - free % alignment) % alignment;
  if (gap > size - used || bytes > size - used - gap)
    return nullptr;
  void *result = memory + used + gap;
  used += gap + bytes;
  ++live;
  return result;
}

//===- Memory.cpp - memory of devices, and pinned memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The handler of SIGSEGV knows the blocks of the one memory there is. Where a
// page is closed for the sake of other bytes, it opens the page and lets the
// host go on: what is missed then are later accesses to that page.
//
//===----------------------------------------------------------------------===//
#include "Memory.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

using namespace emulated;

static constexpr uint64_t kPage = 4096;
/// What an address of CUDA is a multiple of, and no more.
static constexpr uint64_t kAlignment = 256;
/// Not a number in every floating-point type, -1 as an integer.
static constexpr int kUnwritten = 0xff;

/// Whose blocks the handler looks through.
static Memory *current;
static struct sigaction previous;

/// The bit of x86's page-fault code that says: a write.
static bool isWriteFault(void *context) {
  auto *state = static_cast<ucontext_t *>(context);
  return (state->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

static void onSegv(int signal, siginfo_t *info, void *context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  Block *block = current ? current->find(address, 1) : nullptr;
  if (block && block->device < 0) {
    for (const Block::Use &use : block->uses)
      if (use.begin <= address && address < use.end &&
          (use.isWrite || isWriteFault(context))) {
        dprintf(2,
                "emulated libcuda: fault: the host %s byte %zu of %zu bytes of "
                "pinned memory, which %s %s and is not known to have ended\n",
                isWriteFault(context) ? "writes" : "reads",
                size_t(address - block->address), size_t(block->size),
                use.by->what.c_str(), use.isWrite ? "writes" : "reads");
        _exit(134);
      }
    mprotect(reinterpret_cast<void *>(address / kPage * kPage), kPage,
             PROT_READ | PROT_WRITE);
    return;
  }
  if (current) {
    if (const std::string what = current->describe(address); !what.empty()) {
      dprintf(2, "emulated libcuda: fault: the host touches %s\n",
              what.c_str());
      _exit(134);
    }
  }
  // Not ours: as if nobody had been here.
  sigaction(signal, &previous, nullptr);
}

static void *map(uint64_t size, int protection, int flags, int file = -1) {
  void *mapped =
      mmap(nullptr, size, protection, flags | MAP_NORESERVE, file, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

/// Bytes that nobody has written, for whoever maps them to change. They are one
/// file, again and again: pages at which nobody looks take no time.
static std::byte *mapUnwritten(uint64_t size) {
  constexpr uint64_t kFileBytes = 2 << 20;
  static const int file = [] {
    const std::vector<char> bytes(kFileBytes, char(kUnwritten));
    const int made = memfd_create("unwritten", MFD_CLOEXEC);
    if (made >= 0 && write(made, bytes.data(), kFileBytes) == kFileBytes)
      return made;
    return -1;
  }();
  void *place = map(size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (file < 0 || !place)
    return nullptr;
  auto *bytes = static_cast<std::byte *>(place);
  for (uint64_t at = 0; at < size; at += kFileBytes)
    if (mmap(bytes + at, std::min(kFileBytes, size - at),
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
             file, 0) == MAP_FAILED)
      return nullptr;
  return bytes;
}

Memory::~Memory() {
  while (!blocks.empty())
    free(blocks.begin()->second.get());
  if (current == this)
    current = nullptr;
}

void Block::spoil(uint64_t at, uint64_t count) {
  const uint64_t end = at + count;
  while (at < end) {
    const uint64_t i = at / kTouch, next = std::min(end, (i + 1) * kTouch);
    if (touched[i]) {
      std::memset(written + at, 0, next - at);
      std::memset(bytes + at, kUnwritten, next - at);
      touched[i] = next - at < kTouch;
    }
    at = next;
  }
}

Block *Memory::allocate(int device, uint64_t size) {
  if (!current) {
    struct sigaction action = {};
    action.sa_sigaction = onSegv;
    action.sa_flags = SA_SIGINFO;
    struct sigaction before;
    sigaction(SIGSEGV, &action, &before);
    if (before.sa_sigaction != onSegv)
      previous = before;
  }
  current = this;
  auto block = std::make_unique<Block>();
  block->device = device;
  block->size = size;
  block->touched.resize((size + Block::kTouch - 1) / Block::kTouch);
  block->mappedBytes = (size + kAlignment + kPage - 1) / kPage * kPage;
  if (device >= 0) {
    block->mapping = static_cast<std::byte *>(
        map(block->mappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS));
    block->bytes = mapUnwritten(size);
    block->written = static_cast<std::byte *>(
        map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS));
    if (!block->mapping || !block->bytes || !block->written)
      return nullptr;
    // Aligned as promised, and not to more.
    block->address = reinterpret_cast<uint64_t>(block->mapping) + kAlignment;
  } else {
    const int file = memfd_create("pinned", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(block->mappedBytes)) != 0)
      return nullptr;
    block->mapping = static_cast<std::byte *>(
        map(block->mappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file));
    block->bytes = static_cast<std::byte *>(
        map(block->mappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file));
    close(file);
    block->written = static_cast<std::byte *>(
        map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS));
    if (!block->mapping || !block->bytes || !block->written)
      return nullptr;
    // Whatever the host writes, it writes unseen.
    std::memset(block->written, 1, size);
    block->address = reinterpret_cast<uint64_t>(block->mapping);
    std::memset(block->bytes, kUnwritten, size);
  }
  Block *result = block.get();
  bytes[device] += size;
  blocks[result->address] = std::move(block);
  return result;
}

void Memory::free(Block *block) {
  bytes[block->device] -= block->size;
  lent.erase(block);
  munmap(block->written, block->size);
  if (block->device >= 0) {
    munmap(block->bytes, block->size);
    // The address stays reserved: nothing else will lie there.
    freed[block->address] = block->size;
  } else {
    munmap(block->bytes, block->mappedBytes);
    munmap(block->mapping, block->mappedBytes);
  }
  blocks.erase(block->address);
}

Block *Memory::at(uint64_t address) {
  const auto found = blocks.find(address);
  return found == blocks.end() ? nullptr : found->second.get();
}

Block *Memory::find(uint64_t address, uint64_t size) {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  Block *block = std::prev(next)->second.get();
  return block->holds(address, size) ? block : nullptr;
}

std::string Memory::describe(uint64_t address) const {
  auto say = [&](uint64_t begin, uint64_t size, const char *what) {
    return "byte " + std::to_string(address - begin) + " of " +
           std::to_string(size) + " bytes of " + what;
  };
  for (const auto &[begin, block] : blocks)
    if (begin <= address && address < begin + block->size)
      return say(begin, block->size,
                 block->device < 0 ? "pinned memory" : "device memory");
  for (const auto &[begin, size] : freed)
    if (begin <= address && address < begin + size)
      return say(begin, size, "device memory that was freed");
  return "";
}

void Memory::takeForWritten() {
  for (const auto &[address, block] : blocks)
    std::memset(block->touch(0, block->size), 1, block->size);
}

uint64_t Memory::count(bool isDevice) const {
  uint64_t result = 0;
  for (const auto &[address, block] : blocks)
    result += (block->device >= 0) == isDevice;
  return result;
}

uint64_t Memory::allocated(int device) const {
  const auto found = bytes.find(device);
  return found == bytes.end() ? 0 : found->second;
}

/// Closes the pages of what copies use, and opens all others.
static void protect(Block &block) {
  mprotect(block.mapping, block.mappedBytes, PROT_READ | PROT_WRITE);
  for (const bool isWrite : {false, true})
    for (const Block::Use &use : block.uses)
      if (use.isWrite == isWrite) {
        const uint64_t begin = use.begin / kPage * kPage;
        mprotect(reinterpret_cast<void *>(begin), use.end - begin,
                 isWrite ? PROT_NONE : PROT_READ);
      }
}

void Memory::lend(Block *block, uint64_t begin, uint64_t end, bool isWrite,
                  const History::By &by) {
  block->uses.push_back({begin, end, isWrite, by});
  lent.insert(block);
  protect(*block);
}

void Memory::giveBack(const Clock &host) {
  for (auto at = lent.begin(); at != lent.end();) {
    Block *block = *at;
    const size_t before = block->uses.size();
    block->uses.remove_if(
        [&](const Block::Use &use) { return host.covers(use.by->moment); });
    if (block->uses.size() != before)
      protect(*block);
    at = block->uses.empty() ? lent.erase(at) : std::next(at);
  }
}

//===- CallsMemory.cpp - allocations, copies, fills -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills run in pieces. Bytes that were never written stay so where
// they are copied to. A copy from memory that is not pinned takes it at once,
// one to such memory ends before its call does, as the driver has it.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <cstring>

using namespace emulated;

static constexpr uint64_t kContextBytes = uint64_t(300) << 20;

static uint64_t freeBytes(int device) {
  const uint64_t used = machine->memory.allocated(device) + kContextBytes;
  return used < machine->settings.memory ? machine->settings.memory - used : 0;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  PP_BEGIN(Call::context)
  *free = freeBytes(currentDevice()->ordinal);
  *total = machine->settings.memory;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  PP_BEGIN(Call::context)
  if (const CUresult refused = refuseUnsafe())
    return refused;
  machine->waitForDevices();
  const int device = currentDevice()->ordinal;
  Block *block = size <= freeBytes(device)
                     ? machine->memory.allocate(device, size)
                     : nullptr;
  if (!block)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = block->address;
  return CUDA_SUCCESS;
}

static CUresult release(uint64_t address, bool isDevice) {
  if (address == 0)
    return CUDA_SUCCESS;
  if (const CUresult refused = refuseUnsafe())
    return refused;
  Block *block = machine->memory.at(address);
  if (!block || (block->device >= 0) != isDevice)
    return CUDA_ERROR_INVALID_VALUE;
  const uint64_t end = address + block->size;
  if (const std::string open =
          machine->history.findOpen(machine->host, address, end);
      !open.empty())
    fault("the host frees " + machine->memory.describe(address) + ", and " +
          open + " is not known to have ended");
  for (const Block::Use &use : block->uses)
    fault("the host frees " + machine->memory.describe(address) + ", and " +
          use.by->what + " is not known to have ended");
  // What is given and not known to have ended finds that out only if this does
  // not wait.
  if (machine->settings.seed % 2 == 1)
    machine->waitForDevices();
  machine->history.forget(address, end);
  machine->memory.free(block);
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  PP_BEGIN(Call::context)
  return release(address, true);
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  PP_BEGIN(Call::context)
  if (const CUresult refused = refuseUnsafe())
    return refused;
  machine->waitForDevices();
  Block *block = machine->memory.allocate(-1, size);
  if (!block)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<void *>(block->address);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
  PP_BEGIN(Call::context)
  return release(reinterpret_cast<uint64_t>(address), false);
}

//===----------------------------------------------------------------------===//
// What streams are given
//===----------------------------------------------------------------------===//

/// [begin, end) of a piece of `size` bytes; ends are multiples of `unit`.
static std::pair<uint64_t, uint64_t>
getPiece(uint64_t size, uint32_t pieces, uint32_t piece, uint64_t unit = 1) {
  const uint64_t units = size / unit;
  return {units * piece / pieces * unit, units * (piece + 1) / pieces * unit};
}

static uint32_t countPieces(uint64_t size) {
  return uint32_t(std::clamp<uint64_t>(size / 64, 1, 8));
}

/// The block, or a fault: it was there when the operation was given.
static Block *findStill(const Operation &operation, uint64_t address,
                        uint64_t size) {
  Block *block = machine->memory.find(address, size);
  if (!block)
    fault(operation.by->what + " uses " + machine->memory.describe(address));
  return block;
}

static CUresult copyBytes(const Operation &operation, uint64_t to,
                          uint64_t from, uint64_t size) {
  Block *target = findStill(operation, to, size);
  Block *source = findStill(operation, from, size);
  if (!target || !source)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  machine->touch(operation, from, from + size, false);
  machine->touch(operation, to, to + size, true);
  const uint64_t at = to - target->address, there = from - source->address;
  std::memmove(target->bytes + at, source->bytes + there, size);
  if (target->device >= 0)
    std::memmove(target->touch(at, size), source->written + there, size);
  return CUDA_SUCCESS;
}

/// A copy between blocks.
static Work makeCopy(const char *what, uint64_t to, uint64_t from,
                     uint64_t size) {
  Work work;
  work.what = what;
  work.pieces = countPieces(size);
  work.run = [=, pieces = work.pieces](Operation &operation, uint32_t piece) {
    const auto [begin, end] = getPiece(size, pieces, piece);
    return copyBytes(operation, to + begin, from + begin, end - begin);
  };
  return work;
}

static bool isOnDevice(uint64_t address, uint64_t size) {
  const Block *block = machine->memory.find(address, size);
  return block && block->device >= 0;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size,
                           CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (!isOnDevice(to, size))
    return CUDA_ERROR_INVALID_VALUE;
  const auto source = reinterpret_cast<uint64_t>(from);
  if (machine->memory.find(source, size)) {
    Work work = makeCopy("cuMemcpyHtoDAsync", to, source, size);
    work.loans = {{source, source + size, false}};
    return machine->submit(stream, std::move(work));
  }
  if (stream.capture)
    notModelled("a copy from memory that is not pinned, captured");
  Work work;
  work.what = "cuMemcpyHtoDAsync";
  work.pieces = countPieces(size);
  auto staged = std::make_shared<std::vector<std::byte>>(size);
  std::memcpy(staged->data(), from, size);
  work.run = [=, pieces = work.pieces](Operation &operation, uint32_t piece) {
    const auto [begin, end] = getPiece(size, pieces, piece);
    Block *target = findStill(operation, to + begin, end - begin);
    if (!target)
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    machine->touch(operation, to + begin, to + end, true);
    const uint64_t at = to + begin - target->address;
    std::memcpy(target->bytes + at, staged->data() + begin, end - begin);
    std::memset(target->touch(at, end - begin), 1, end - begin);
    return CUDA_SUCCESS;
  };
  return machine->submit(stream, std::move(work));
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size,
                           CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (!isOnDevice(from, size))
    return CUDA_ERROR_INVALID_VALUE;
  const auto target = reinterpret_cast<uint64_t>(to);
  if (machine->memory.find(target, size)) {
    Work work = makeCopy("cuMemcpyDtoHAsync", target, from, size);
    work.loans = {{target, target + size, true}};
    return machine->submit(stream, std::move(work));
  }
  if (stream.capture)
    notModelled("a copy to memory that is not pinned, captured");
  Work work;
  work.what = "cuMemcpyDtoHAsync";
  work.run = [=](Operation &operation, uint32_t) {
    Block *source = findStill(operation, from, size);
    if (!source)
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    machine->touch(operation, from, from + size, false);
    std::memcpy(to, source->bytes + (from - source->address), size);
    return CUDA_SUCCESS;
  };
  machine->submit(stream, std::move(work));
  machine->finish(stream.last);
  return machine->devices[stream.device].failure;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                           CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (!isOnDevice(to, size) || !isOnDevice(from, size))
    return CUDA_ERROR_INVALID_VALUE;
  if (from < to + size && to < from + size)
    fault("cuMemcpyDtoDAsync copies between ranges that overlap");
  return machine->submit(stream, makeCopy("cuMemcpyDtoDAsync", to, from, size));
}

/// Rows of a box, on one side of a copy.
struct Rows {
  uint64_t base, pitch, height;
  uint64_t at(uint64_t row, uint64_t rows) const {
    return base + (row / rows * height + row % rows) * pitch;
  }
};

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *box, CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  if (box->srcMemoryType != CU_MEMORYTYPE_DEVICE ||
      box->dstMemoryType != CU_MEMORYTYPE_DEVICE || box->srcXInBytes ||
      box->srcY || box->srcZ || box->srcLOD || box->dstXInBytes || box->dstY ||
      box->dstZ || box->dstLOD)
    notModelled("cuMemcpy3DAsync with offsets, or not between device memory");
  const uint64_t width = box->WidthInBytes, height = box->Height;
  const uint64_t number = height * box->Depth;
  const Rows from = {box->srcDevice, box->srcPitch, box->srcHeight};
  const Rows to = {box->dstDevice, box->dstPitch, box->dstHeight};
  for (const Rows &side : {from, to})
    if (side.pitch < width || (box->Depth > 1 && side.height < height) ||
        !isOnDevice(side.base, side.at(number - 1, height) + width - side.base))
      return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.what = "cuMemcpy3DAsync";
  work.pieces = countPieces(width * number);
  work.run = [=, pieces = work.pieces](Operation &operation, uint32_t piece) {
    const auto [begin, end] = getPiece(number, pieces, piece);
    for (uint64_t row = begin; row < end; ++row)
      if (const CUresult result = copyBytes(operation, to.at(row, height),
                                            from.at(row, height), width);
          result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  };
  return machine->submit(stream, std::move(work));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t elements,
                          CUstream handle) {
  PP_BEGIN(Call::context)
  Stream &stream = streamOf(handle);
  constexpr uint64_t kWord = sizeof(value);
  const uint64_t size = elements * kWord;
  if (!isOnDevice(to, size) || to % kWord != 0)
    return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.what = "cuMemsetD32Async";
  work.pieces = countPieces(size);
  work.run = [=, pieces = work.pieces](Operation &operation, uint32_t piece) {
    const auto [begin, end] = getPiece(size, pieces, piece, kWord);
    Block *target = findStill(operation, to + begin, end - begin);
    if (!target)
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    machine->touch(operation, to + begin, to + end, true);
    const uint64_t at = to - target->address;
    for (uint64_t i = begin; i < end; i += kWord)
      std::memcpy(target->bytes + at + i, &value, kWord);
    std::memset(target->touch(at + begin, end - begin), 1, end - begin);
    return CUDA_SUCCESS;
  };
  return machine->submit(stream, std::move(work));
}

//===- GpuBuffers.h - what a kernel is given as PTX -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a launch, far apart, so that what is behind one is nobody's.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TARGET_GPUBUFFERS_H
#define PP_TEST_TARGET_GPUBUFFERS_H

#include "KernelRunner.h"
#include "Ptx.h"

namespace pp::testing {

class GpuBuffers : public ptx::Memory {
public:
  /// The address. `isWritten`: whether kernels may read it from the start.
  uint64_t add(std::shared_ptr<Bytes> bytes, bool isWritten) {
    const size_t size = bytes->size();
    buffers.push_back(
        {std::move(bytes), std::vector<std::byte>(size, std::byte(isWritten))});
    return uint64_t(buffers.size()) << 32;
  }
  uint64_t add(Bytes bytes, bool isWritten) {
    return add(std::make_shared<Bytes>(std::move(bytes)), isWritten);
  }
  const Bytes &bytes(size_t number) const { return *buffers[number].bytes; }
  /// Whether a buffer has been written but for what is behind `size` bytes of
  /// each `pitch`; from now on that counts as written, too.
  bool isCompleteBut(size_t number, size_t size, size_t pitch) {
    bool is = true;
    std::vector<std::byte> &written = buffers[number].written;
    for (size_t at = 0; at < written.size(); ++at) {
      is &= (written[at] == std::byte(1)) == (at % pitch < size);
      written[at] = std::byte(1);
    }
    return is;
  }
  /// Whether all of every buffer has been written.
  bool isComplete() const {
    return llvm::all_of(buffers, [](const Buffer &buffer) {
      return !llvm::is_contained(buffer.written, std::byte(0));
    });
  }

  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const uint64_t number = (address >> 32) - 1, offset = uint32_t(address);
    if (number < buffers.size() &&
        offset + size <= buffers[number].bytes->size())
      return reinterpret_cast<std::byte *>(buffers[number].bytes->data()) +
             offset;
    error = "expects an address inside of a buffer, got parameter " +
            std::to_string(number) + ", byte " + std::to_string(offset);
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    return buffers[(address >> 32) - 1].written.data() + uint32_t(address);
  }

private:
  struct Buffer {
    std::shared_ptr<Bytes> bytes;
    std::vector<std::byte> written;
  };
  std::vector<Buffer> buffers;
};

} // namespace pp::testing

#endif // PP_TEST_TARGET_GPUBUFFERS_H

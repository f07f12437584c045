//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads .npy files of versions 1 and 2 that hold a row-major, little-endian
// array of f2, f4, f8, i1, i2, i4, i8, u1, u2 or u4, and writes those types of
// them that models have.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_NPY_H
#define PPRT_HOST_NPY_H

#include "pprt/Files.h"
#include "pprt/Ppx.h"

#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

class NpyFile {
public:
  /// Reads and checks the header; elements are read on demand.
  static Expected<NpyFile> open(const std::string &path);

  /// As "f32", "i16" or "u8".
  const char *typeName() const;
  bool holdsIntegers() const;
  const std::vector<uint64_t> &shape() const { return dimensions; }
  const std::string &path() const { return file.path(); }
  Expected<uint32_t> fingerprint(uint64_t part = kFingerprintPart) const {
    return file.fingerprint(part);
  }

  /// Reads `count` elements from element `first` on (row-major) to `out`,
  /// converted to `element`: floats to floats (rounded to nearest even),
  /// integers to integers that can hold them.
  Status read(uint64_t first, uint64_t count, ppx::ElementType element,
              void *out) const;

  struct [[gnu::visibility("hidden")]] Type;

private:
  explicit NpyFile(InputFile file) : file(std::move(file)) {}

  InputFile file;
  const Type *type = nullptr;
  std::vector<uint64_t> dimensions;
  uint64_t dataOffset = 0;
};

/// Returns what stands before the elements of such an array. Fails (io), naming
/// the file, if `element` is another type or the array is too large.
Expected<std::string> printNpyHeader(const std::string &path,
                                     ppx::ElementType element,
                                     const std::vector<uint64_t> &shape);

/// Writes the array at `data`; `element` is one of these types.
Status writeNpy(const std::string &path, ppx::ElementType element,
                const std::vector<uint64_t> &shape, const void *data);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_NPY_H

//===- TensorFile.h - one tensor, written in parts --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor that is larger than memory may be: its parts follow each other. The
// name says the format: FILE.npy or FILE.safetensors.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_TENSORFILE_H
#define PPRT_HOST_TENSORFILE_H

#include "pprt/host/SafeTensors.h"

#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

class TensorFile {
public:
  /// Whether the name says a format.
  static bool isNamed(const std::string &path);
  /// Fails (io, badParameters) if the file cannot be written or cannot hold the
  /// tensor.
  static Expected<TensorFile> create(const std::string &path,
                                     const TensorToStore &tensor);

  /// Writes the next elements, row-major.
  Status write(const void *elements, uint64_t bytes) {
    return file.write(elements, bytes);
  }
  /// Must be called once, when all elements are written: only then the file
  /// appears.
  Status commit() { return file.commit(); }

private:
  explicit TensorFile(OutputFile file) : file(std::move(file)) {}

  OutputFile file;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_TENSORFILE_H

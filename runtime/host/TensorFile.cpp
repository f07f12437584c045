//===- TensorFile.cpp - one tensor, written in parts ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/TensorFile.h"
#include "pprt/host/Npy.h"

using namespace pprt;
using namespace pprt::host;

static bool endsIn(const std::string &path, const std::string &suffix) {
  return path.size() > suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

static bool isNpy(const std::string &path) { return endsIn(path, ".npy"); }

bool TensorFile::isNamed(const std::string &path) {
  return isNpy(path) || endsIn(path, ".safetensors");
}

Expected<TensorFile> TensorFile::create(const std::string &path,
                                        const TensorToStore &tensor) {
  const Expected<std::string> header =
      isNpy(path) ? printNpyHeader(path, tensor.element, tensor.shape)
                  : printSafeTensorsHeader(path, {tensor});
  if (!header)
    return header.status();
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(header->data(), header->size()); !status.ok())
    return status;
  return TensorFile(std::move(*file));
}

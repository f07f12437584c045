//===- TokenStream.cpp - files of tokens, read as one ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "TokenStream.h"

#include "pprt/host/Elements.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace pprt::host;
using pprt::ExitCode;
using pprt::Expected;
using pprt::InputFile;
using pprt::Status;

/// A process may have about a thousand files open.
static constexpr size_t kMostOpenFiles = 256;
/// Of all files together.
static constexpr uint64_t kLeastFingerprintPart = 4096;

static constexpr char kArray[] = ".npy";

namespace {
struct RawType {
  const char *suffix;
  uint64_t width;
};
} // namespace

/// The first that fits counts.
static const RawType rawTypes[] = {
    {".u32.bin", 4}, {".u16.bin", 2}, {".u32", 4}, {".u16", 2}, {".bin", 2}};

static bool endsIn(const std::string &name, const char *suffix) {
  const size_t length = std::strlen(suffix);
  return name.size() > length &&
         name.compare(name.size() - length, length, suffix) == 0;
}

static uint64_t widthOf(const std::string &path) {
  for (const RawType &type : rawTypes)
    if (endsIn(path, type.suffix))
      return type.width;
  return 0;
}

//===----------------------------------------------------------------------===//
// TokenFile
//===----------------------------------------------------------------------===//

bool TokenFile::isNamedAsOne(const std::string &path) {
  return widthOf(path) > 0 || endsIn(path, kArray);
}

Expected<TokenFile> TokenFile::openText(const std::string &path) {
  Expected<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  return TokenFile(std::move(*file), 1);
}

Expected<TokenFile> TokenFile::open(const std::string &path) {
  if (endsIn(path, kArray)) {
    Expected<NpyFile> file = NpyFile::open(path);
    if (!file)
      return file.status();
    if (!file->holdsIntegers() || file->shape().size() != 1)
      return Status(ExitCode::io,
                    path +
                        ": expects tokens, an array of integers with one "
                        "dimension, got " +
                        file->typeName() + printShape(file->shape()));
    return TokenFile(std::move(*file));
  }
  Expected<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  const uint64_t width = widthOf(path);
  if (width == 0)
    return Status(ExitCode::io,
                  path + ": expects a name that says how tokens are stored, "
                         "which ends in .bin (u16), .u32.bin or .npy, got "
                         "another");
  if (file->size() % width != 0)
    return Status(ExitCode::io,
                  path + ": expects tokens of " + std::to_string(width) +
                      " bytes, got " + std::to_string(file->size()) +
                      " bytes, which are no whole number of them; the file is "
                      "not whole, or holds something else");
  return TokenFile(std::move(*file), width);
}

uint64_t TokenFile::size() const {
  return raw ? raw->size() / width : array->shape()[0];
}

const std::string &TokenFile::path() const {
  return raw ? raw->path() : array->path();
}

Expected<uint32_t> TokenFile::fingerprint(uint64_t part) const {
  return raw ? raw->fingerprint(part) : array->fingerprint(part);
}

Status TokenFile::read(uint64_t first, uint64_t count, int64_t *out) const {
  if (array)
    return array->read(first, count, ppx::ElementType_i64, out);
  // They fit into the end of what they become, and are widened from the front.
  auto *stored =
      reinterpret_cast<uint8_t *>(out) + count * (sizeof(*out) - width);
  if (Status status = raw->read(first * width, stored, count * width);
      !status.ok())
    return status;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t token = 0; // little-endian, as this machine is
    std::memcpy(&token, stored + i * width, width);
    out[i] = token;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// TokenStream
//===----------------------------------------------------------------------===//

void TokenStream::add(TokenFile file) {
  total += file.size();
  files.push_back({file.path(), total, std::nullopt});
  if (files.size() <= kMostOpenFiles)
    files.back().file.emplace(std::move(file));
}

Expected<TokenStream> TokenStream::openText(const std::string &path) {
  Expected<TokenFile> file = TokenFile::openText(path);
  if (!file)
    return file.status();
  TokenStream stream;
  stream.add(std::move(*file));
  return Expected<TokenStream>(std::move(stream));
}

/// The files of tokens in a folder, or the path if it is no folder.
static Expected<std::vector<std::string>> listFiles(const std::string &path) {
  std::error_code error;
  std::vector<std::string> paths;
  if (!std::filesystem::is_directory(path, error))
    return std::vector<std::string>{path};
  std::filesystem::directory_iterator entry(path, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name[0] != '.' && TokenFile::isNamedAsOne(name))
      paths.push_back(entry->path().string());
  }
  if (error)
    return Status(ExitCode::io,
                  path + ": cannot list its files: " + error.message());
  if (paths.empty())
    return Status(ExitCode::io, path + ": expects files of tokens (.bin, "
                                       ".u32.bin or .npy) in the folder, got "
                                       "none");
  std::sort(paths.begin(), paths.end());
  return paths;
}

Expected<TokenStream> TokenStream::open(const std::string &path) {
  const Expected<std::vector<std::string>> paths = listFiles(path);
  if (!paths)
    return paths.status();
  TokenStream stream;
  for (const std::string &its : *paths) {
    Expected<TokenFile> file = TokenFile::open(its);
    if (!file)
      return file.status();
    stream.add(std::move(*file));
  }
  return Expected<TokenStream>(std::move(stream));
}

size_t TokenStream::partOf(uint64_t token) const {
  return std::upper_bound(
             files.begin(), files.end(), token,
             [](uint64_t its, const Part &part) { return its < part.end; }) -
         files.begin();
}

std::pair<std::string, uint64_t> TokenStream::find(uint64_t token) const {
  const size_t part = partOf(token);
  return {files[part].path, token - beginOf(part)};
}

template <typename Function>
Status TokenStream::with(const Part &part, Function &&f) const {
  if (part.file)
    return f(*part.file);
  const Expected<TokenFile> file = TokenFile::open(part.path);
  return file ? f(*file) : file.status();
}

Status TokenStream::read(uint64_t first, uint64_t count, int64_t *out) const {
  while (count > 0) {
    const size_t part = partOf(first);
    const uint64_t piece = std::min(count, files[part].end - first);
    if (Status status = with(files[part],
                             [&](const TokenFile &file) {
                               return file.read(first - beginOf(part), piece,
                                                out);
                             });
        !status.ok())
      return status;
    first += piece;
    count -= piece;
    out += piece;
  }
  return {};
}

Expected<uint32_t> TokenStream::fingerprint() const {
  const uint64_t piece =
      std::max(kLeastFingerprintPart, kFingerprintPart / files.size());
  uint32_t sum = 0;
  for (const Part &part : files)
    if (Status status = with(part,
                             [&](const TokenFile &file) {
                               const Expected<uint32_t> its =
                                   file.fingerprint(piece);
                               if (its)
                                 sum = sum * 31 + *its;
                               return its.status();
                             });
        !status.ok())
      return status;
  return sum;
}

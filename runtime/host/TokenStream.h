//===- TokenStream.h - files of tokens, read as one -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a text, a file of tokens, or a folder of such files. Out: any run of its
// tokens, also across files. Files stay open as far as the system likes; none
// is mapped, so that one which another process truncates is an error, not a
// signal.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_TOKENSTREAM_H
#define PPRT_HOST_TOKENSTREAM_H

#include "pprt/host/Npy.h"

#include <optional>
#include <string>
#include <vector>

namespace pprt::host {

/// An array of integers, or raw ones of `width` bytes without a sign.
class TokenFile {
public:
  /// The type follows from the name. Fails (io) if it does not, or if the file
  /// is no whole number of tokens.
  static Expected<TokenFile> open(const std::string &path);
  /// Every byte is a token.
  static Expected<TokenFile> openText(const std::string &path);
  /// Whether open() knows the type of a file with such a name.
  static bool isNamedAsOne(const std::string &path);

  uint64_t size() const;
  const std::string &path() const;
  Status read(uint64_t first, uint64_t count, int64_t *out) const;
  Expected<uint32_t> fingerprint(uint64_t part) const;

private:
  TokenFile(InputFile file, uint64_t width)
      : raw(std::move(file)), width(width) {}
  explicit TokenFile(NpyFile file) : array(std::move(file)) {}

  /// One of the two.
  std::optional<InputFile> raw;
  std::optional<NpyFile> array;
  uint64_t width = 0;
};

class TokenStream {
public:
  /// Opens the file, or all files of the folder by name.
  static Expected<TokenStream> open(const std::string &path);
  static Expected<TokenStream> openText(const std::string &path);

  uint64_t size() const { return total; }
  size_t fileCount() const { return files.size(); }
  /// Reads `count` tokens from `first` on, which the stream has.
  Status read(uint64_t first, uint64_t count, int64_t *out) const;
  /// The file that has a token, and the token's index in it.
  std::pair<std::string, uint64_t> find(uint64_t token) const;
  Expected<uint32_t> fingerprint() const;

private:
  struct Part {
    std::string path;
    uint64_t end; ///< tokens of the stream up to its end
    /// Nothing if there are too many: then it is opened for each use.
    std::optional<TokenFile> file;
  };
  void add(TokenFile file);
  uint64_t beginOf(size_t part) const {
    return part == 0 ? 0 : files[part - 1].end;
  }
  size_t partOf(uint64_t token) const;
  /// Calls f(file) with the file open.
  template <typename Function>
  Status with(const Part &part, Function &&f) const;

  std::vector<Part> files;
  uint64_t total = 0;
};

} // namespace pprt::host

#endif // PPRT_HOST_TOKENSTREAM_H

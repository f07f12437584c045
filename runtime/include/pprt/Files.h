//===- Files.h - reading and writing whole files ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every failure is a Status that begins with the file's name. A written file
// appears under its final name complete or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_FILES_H
#define PPRT_FILES_H

#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#pragma GCC visibility push(default)
namespace pprt {

/// Bytes that are read of each end of a file to tell it from others.
constexpr uint64_t kFingerprintPart = 1 << 20;

/// A file open for reading at any offset, from any number of threads.
class InputFile {
public:
  /// Fails (io) unless `path` is a regular file that can be read, or a pipe
  /// with a writer, which is read to its end at once.
  static Expected<InputFile> open(const std::string &path);

  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  const std::string &path() const { return name; }
  uint64_t size() const { return bytes; }

  /// Reads exactly `count` bytes at `offset`. Fails (io) if the file ends
  /// before, for example because another process truncates it.
  Status read(uint64_t offset, void *out, size_t count) const;

  /// Returns a checksum of the size and of so many bytes at each end: files
  /// with different fingerprints are different files.
  Expected<uint32_t> fingerprint(uint64_t part = kFingerprintPart) const;

private:
  InputFile(std::string name, int descriptor, uint64_t bytes)
      : name(std::move(name)), descriptor(descriptor), bytes(bytes) {}

  /// Reads a pipe until its writers are gone.
  Status fetch();

  std::string name;
  int descriptor = -1;
  uint64_t bytes = 0;
  /// All bytes of a pipe.
  std::string content;
};

/// Opens a file, pipe or device for writing, with further flags of open().
/// Fails (io) if that is impossible, for example on a pipe without a reader.
Expected<int> openToWrite(const std::string &path, int flags);

/// A file that appears when it is complete: it is written beside its path under
/// an unpredictable name, synced, then renamed. Without a successful `commit`
/// nothing stays behind. A path that is no regular file (a pipe, /dev/stdout)
/// is written as it is. What is large passes by the system's cache, where it
/// would take memory from a training run, and time to get there.
class OutputFile {
public:
  /// Fails (io) if the file cannot be created.
  static Expected<OutputFile> create(const std::string &path);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// A failure may show at a later call.
  Status write(const void *data, size_t count);
  /// Must be called once, last.
  Status commit();

private:
  OutputFile(std::string name, std::string temporary, int descriptor)
      : name(std::move(name)), temporary(std::move(temporary)),
        descriptor(descriptor) {}
  void discard();
  bool writeBlock();

  /// Writes past the system's cache want memory and places of this alignment.
  static constexpr std::align_val_t kAlignment{4096};
  struct Freed {
    void operator()(std::byte *block) const {
      ::operator delete(block, kAlignment);
    }
  };

  std::string name;
  /// Empty if the file is written as it is.
  std::string temporary;
  int descriptor = -1;
  std::unique_ptr<std::byte, Freed> block; ///< what is not written yet
  size_t filled = 0;                       ///< bytes of it
  int64_t end = 0;                         ///< of what is written
  bool isDirect = false; ///< whether writes pass by the system's cache
};

/// Writes all bytes. Returns false and sets errno if that fails.
bool writeAll(int descriptor, const void *data, size_t count);

/// Returns the failure (io) of a system call on `path`, with errno's reason.
Status systemFailure(const std::string &path, const char *action);

/// Occupies the descriptors of standard streams that were closed before the
/// process began. Otherwise the next file gets one, and receives what is
/// printed. Such a stream still fails at every use. Call it first.
void holdStandardStreams();

/// Removes files that OutputFile has written and not committed. Safe in the
/// handler of a signal that ends the process; call it last.
void removeUnfinishedFiles();

/// Fails (io) if OutputFile could not create `path`. Does not open pipes and
/// devices: their other end would take this for the output.
Status checkWritable(const std::string &path);

/// Returns whether writing `output` would destroy the content of `input`: both
/// paths lead to one file, which is no pipe or device.
bool isSameFile(const std::string &input, const std::string &output);

/// Reads a whole file. Fails (io) before it reads anything if the file is
/// longer than `most` bytes.
Expected<std::string> readFile(const std::string &path, uint64_t most);
Expected<std::string> readFile(const InputFile &file, uint64_t most);

/// Writes `count` bytes as the whole of `path`, as OutputFile does.
Status writeFile(const std::string &path, const void *data, size_t count);

/// The same, but `-` is standard output.
Status writeOutput(const std::string &path, const void *data, size_t count);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_FILES_H

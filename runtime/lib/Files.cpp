//===- Files.cpp - reading and writing whole files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// POSIX calls, because streams can neither read at an offset from several
// threads nor report why they failed.
//
//===----------------------------------------------------------------------===//
#include "pprt/Files.h"
#include "pprt/Artifact.h"
#include "pprt/Bytes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace pprt;

static constexpr uint64_t maxPipeBytes = uint64_t(4) << 30;
/// As many as Linux follows.
static constexpr int kMostLinks = 40;
/// Of writes that pass by the system's cache.
static constexpr size_t kBlockBytes = size_t(1) << 20;

Status pprt::systemFailure(const std::string &path, const char *action) {
  return Status(ExitCode::io,
                path + ": cannot " + action + ": " + std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// InputFile
//===----------------------------------------------------------------------===//

Expected<InputFile> InputFile::open(const std::string &path) {
  // Non-blocking, to refuse a pipe without a writer instead of waiting.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemFailure(path, "open");
  InputFile file(path, descriptor, 0);
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return systemFailure(path, "examine");
  if (S_ISFIFO(info.st_mode)) {
    if (Status status = file.fetch(); !status.ok())
      return status;
    return Expected<InputFile>(std::move(file));
  }
  if (!S_ISREG(info.st_mode))
    return Status(ExitCode::io,
                  path + ": expects a regular file or a pipe, got " +
                      (S_ISDIR(info.st_mode) ? "a directory" : "a device"));
  file.bytes = static_cast<uint64_t>(info.st_size);
  return Expected<InputFile>(std::move(file));
}

Status InputFile::fetch() {
  // Blocking reads are right from here on: there is a writer. A pipe without
  // writers ends at once.
  if (::fcntl(descriptor, F_SETFL, O_RDONLY) != 0)
    return systemFailure(name, "examine");
  std::vector<char> piece(1 << 16);
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemFailure(name, "read");
    if (got == 0)
      break;
    content.append(piece.data(), static_cast<size_t>(got));
    if (content.size() > maxPipeBytes)
      return Status(ExitCode::io, name + ": expects at most " +
                                      printBytes(maxPipeBytes) +
                                      " from a pipe, which is kept in memory, "
                                      "got more; write a file");
  }
  bytes = content.size();
  if (bytes == 0)
    return Status(ExitCode::io, name + ": expects data in the pipe, got an "
                                       "empty one");
  return Status();
}

InputFile::InputFile(InputFile &&other) noexcept
    : name(std::move(other.name)), descriptor(other.descriptor),
      bytes(other.bytes), content(std::move(other.content)) {
  other.descriptor = -1;
}

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(descriptor, other.descriptor);
  std::swap(bytes, other.bytes);
  std::swap(content, other.content);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<uint32_t> InputFile::fingerprint(uint64_t part) const {
  std::vector<uint8_t> text(sizeof(bytes));
  std::memcpy(text.data(), &bytes, sizeof(bytes));
  for (uint64_t begin : {uint64_t(0), bytes - std::min(bytes, part)}) {
    const uint64_t count = std::min(bytes - begin, part);
    text.resize(text.size() + count);
    if (Status status = read(begin, text.data() + text.size() - count, count);
        !status.ok())
      return status;
  }
  return artifactChecksum(text.data(), text.size());
}

Status InputFile::read(uint64_t offset, void *out, size_t count) const {
  const auto endOfFile = [&](size_t left) {
    return Status(ExitCode::io, name + ": expects " + std::to_string(left) +
                                    " more bytes at offset " +
                                    std::to_string(offset) +
                                    ", got the end of the file");
  };
  if (!content.empty()) {
    const size_t got = content.copy(static_cast<char *>(out), count,
                                    std::min<uint64_t>(offset, bytes));
    offset += got;
    return got == count ? Status() : endOfFile(count - got);
  }
  char *next = static_cast<char *>(out);
  size_t left = count;
  while (left > 0) {
    ssize_t got = ::pread(descriptor, next, left, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemFailure(name, "read");
    if (got == 0)
      return endOfFile(left);
    next += got;
    offset += got;
    left -= got;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Unfinished files
//===----------------------------------------------------------------------===//

namespace {
/// A name that a signal handler can read. The memory is never freed; a handler
/// that reads a name while it changes finds no such file.
struct UnfinishedFile {
  enum State : int { unused, reserved, named };
  std::atomic<int> state{unused};
  char path[PATH_MAX];
};
} // namespace

static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler takes no lock");

// More than are ever written at once; surplus files are not removed.
static UnfinishedFile unfinished[16];

static void noteUnfinished(const std::string &path) {
  if (path.size() >= PATH_MAX)
    return;
  for (UnfinishedFile &file : unfinished) {
    int expected = UnfinishedFile::unused;
    if (!file.state.compare_exchange_strong(expected, UnfinishedFile::reserved))
      continue;
    std::memcpy(file.path, path.c_str(), path.size() + 1);
    file.state = UnfinishedFile::named;
    return;
  }
}

static void noteFinished(const std::string &path) {
  for (UnfinishedFile &file : unfinished)
    if (file.state == UnfinishedFile::named && path == file.path) {
      file.state = UnfinishedFile::unused;
      return;
    }
}

void pprt::holdStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      // The lowest free number is this one.
      (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void pprt::removeUnfinishedFiles() {
  for (UnfinishedFile &file : unfinished)
    if (file.state == UnfinishedFile::named)
      ::unlink(file.path);
}

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

/// Creates a file beside `name`. Sets errno if that fails.
static int createBeside(const std::string &name, std::string &temporary) {
  constexpr int attempts = 8;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random))
      return -1;
    temporary = name + ".tmp.";
    for (int digit = 0; digit < 16; ++digit)
      temporary += "0123456789abcdef"[random >> (4 * digit) & 15];
    // First, so that no signal can leave the file behind.
    noteUnfinished(temporary);
    const int descriptor = ::open(
        temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return descriptor;
    noteFinished(temporary);
    if (errno != EEXIST)
      return -1;
  }
  return -1;
}

Expected<int> pprt::openToWrite(const std::string &path, int flags) {
  // Waiting for the reader of a pipe might never end.
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0666);
  if (descriptor < 0 && errno == ENXIO)
    return Status(ExitCode::io, path + ": expects a pipe with a reader, got "
                                       "one without");
  if (descriptor < 0)
    return systemFailure(path, "write");
  // Blocking writes are right from here on.
  if (::fcntl(descriptor, F_SETFL, O_WRONLY) != 0) {
    const Status failure = systemFailure(path, "write"); // before errno changes
    ::close(descriptor);
    return failure;
  }
  return descriptor;
}

Expected<OutputFile> OutputFile::create(const std::string &path) {
  std::error_code error;
  std::filesystem::file_status target = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(target))
    return Status(ExitCode::io, path + ": expects a file, got a directory");
  if (std::filesystem::exists(target) &&
      !std::filesystem::is_regular_file(target)) {
    const Expected<int> descriptor = openToWrite(path, 0);
    if (!descriptor)
      return descriptor.status();
    return OutputFile(path, "", *descriptor);
  }
  // A link stays a link: its target is replaced, or made.
  std::string name = path;
  for (int links = 0;
       links < kMostLinks && std::filesystem::is_symlink(name, error); ++links)
    name = (std::filesystem::path(name).parent_path() /
            std::filesystem::read_symlink(name, error))
               .string();
  std::string temporary;
  int descriptor = createBeside(name, temporary);
  if (descriptor < 0)
    return systemFailure(path, "create");
  return OutputFile(name, temporary, descriptor);
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : name(std::move(other.name)), temporary(std::move(other.temporary)),
      descriptor(other.descriptor), block(std::move(other.block)),
      filled(other.filled), end(other.end), isDirect(other.isDirect) {
  other.descriptor = -1;
}

void OutputFile::discard() {
  if (temporary.empty())
    return;
  ::unlink(temporary.c_str());
  noteFinished(temporary);
}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  discard();
}

bool pprt::writeAll(int descriptor, const void *data, size_t count) {
  const char *next = static_cast<const char *>(data);
  while (count > 0) {
    const ssize_t written = ::write(descriptor, next, count);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    next += written;
    count -= size_t(written);
  }
  return true;
}

/// Lets writes pass by the system's cache, or not; not all file systems can.
static bool setDirect(int descriptor, bool isDirect) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 &&
         ::fcntl(descriptor, F_SETFL,
                 isDirect ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/// Writes the full block. Sets errno if that fails.
bool OutputFile::writeBlock() {
  if (end == 0)
    isDirect = setDirect(descriptor, true);
  bool isWritten = writeAll(descriptor, block.get(), kBlockBytes);
  // Some devices want another alignment, which may show behind a part.
  if (!isWritten && std::exchange(isDirect, false))
    isWritten = setDirect(descriptor, false) &&
                ::lseek(descriptor, end, SEEK_SET) == end &&
                writeAll(descriptor, block.get(), kBlockBytes);
  end += kBlockBytes;
  filled = 0;
  return isWritten;
}

Status OutputFile::write(const void *data, size_t count) {
  if (temporary.empty())
    return writeAll(descriptor, data, count) ? Status()
                                             : systemFailure(name, "write");
  if (!block)
    block.reset(
        static_cast<std::byte *>(::operator new(kBlockBytes, kAlignment)));
  for (const auto *next = static_cast<const std::byte *>(data); count > 0;) {
    const size_t part = std::min(count, kBlockBytes - filled);
    std::memcpy(block.get() + filled, next, part);
    filled += part;
    next += part;
    count -= part;
    if (filled == kBlockBytes && !writeBlock())
      return systemFailure(name, "write");
  }
  return {};
}

Status OutputFile::commit() {
  if (filled > 0 && !((!isDirect || setDirect(descriptor, false)) &&
                      writeAll(descriptor, block.get(), filled)))
    return systemFailure(name, "write");
  // The content is on disk before the name is, so that a power failure leaves
  // either the old file or the new one.
  if (!temporary.empty() && ::fsync(descriptor) != 0)
    return systemFailure(name, "write");
  int closed = ::close(descriptor);
  descriptor = -1;
  if (temporary.empty())
    return closed == 0 ? Status() : systemFailure(name, "write");
  if (closed != 0 || ::rename(temporary.c_str(), name.c_str()) != 0) {
    Status failure = systemFailure(name, "write");
    discard();
    return failure;
  }
  noteFinished(temporary);
  return Status();
}

Status pprt::checkWritable(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_other(std::filesystem::status(path, error)))
    return Status();
  return OutputFile::create(path).status();
}

bool pprt::isSameFile(const std::string &input, const std::string &output) {
  const auto namesFile = [](const std::string &path) {
    return !path.empty() && path != "-"; // "-" is a standard stream
  };
  if (!namesFile(input) || !namesFile(output))
    return false;
  std::error_code error;
  if (std::filesystem::equivalent(input, output, error))
    return std::filesystem::is_regular_file(output, error);
  // Files that do not exist yet have only a name.
  if (std::filesystem::exists(input, error) ||
      std::filesystem::exists(output, error))
    return false;
  auto spell = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path),
                                             error);
  };
  return spell(input) == spell(output) && !error;
}

Expected<std::string> pprt::readFile(const std::string &path, uint64_t most) {
  const Expected<InputFile> file = InputFile::open(path);
  return file ? readFile(*file, most) : Expected<std::string>(file.status());
}

Expected<std::string> pprt::readFile(const InputFile &file, uint64_t most) {
  if (file.size() > most)
    return Status(ExitCode::io, file.path() + ": expects at most " +
                                    std::to_string(most) + " bytes, got " +
                                    std::to_string(file.size()));
  std::string content(file.size(), '\0');
  if (Status status = file.read(0, content.data(), content.size());
      !status.ok())
    return status;
  return content;
}

Status pprt::writeFile(const std::string &path, const void *data,
                       size_t count) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(data, count); !status.ok())
    return status;
  return file->commit();
}

Status pprt::writeOutput(const std::string &path, const void *data,
                         size_t count) {
  if (path != "-")
    return writeFile(path, data, count);
  return writeAll(STDOUT_FILENO, data, count)
             ? Status()
             : systemFailure("standard output", "write");
}

//===- Artifact.cpp - reading and writing .ppx files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"

#include "pprt/Checks.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pprt;

namespace {

/// A file descriptor that is closed on every path.
class File {
public:
  File(const std::string &path, int flags, mode_t mode = 0)
      : descriptor(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() { close(); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  /// False if the system reports a late write error.
  bool close() {
    const int closed = descriptor;
    descriptor = -1;
    return closed < 0 || ::close(closed) == 0;
  }

private:
  int descriptor;
};

} // namespace

static Status bad(const std::string &name, const std::string &message) {
  return Status(ExitCode::badArtifact, name + ": " + message);
}

/// FlatBuffers 2.0 verifies the alignment of fields and of the lengths of
/// vectors, but not that of vector elements, which matters for 8-byte ones.
static bool elementsAreAligned(const ppx::Artifact &artifact) {
  bool aligned = true;
  auto look = [&](const flatbuffers::Vector<uint64_t> *vector) {
    if (vector && reinterpret_cast<uintptr_t>(vector->Data()) % 8 != 0)
      aligned = false;
  };
  auto lookAtView = [&](const ppx::MatrixView *view) {
    if (view)
      look(view->batch());
  };
  auto forEach = [](const auto *tables, auto visit) {
    for (flatbuffers::uoffset_t i = 0; tables && i < tables->size(); ++i)
      visit(*tables->Get(i));
  };
  forEach(artifact.programs(), [&](const ppx::Program &program) {
    forEach(program.slots(), [&](const ppx::Slot &s) { look(s.shape()); });
  });
  forEach(artifact.kernels(), [&](const ppx::Kernel &kernel) {
    const ppx::Contraction *body = kernel.body_as_Contraction();
    if (!body)
      return;
    look(body->batch());
    for (const ppx::MatrixView *view : {body->lhs(), body->rhs(), body->out()})
      lookAtView(view);
    forEach(body->epilogues(),
            [&](const ppx::Epilogue &e) { lookAtView(e.view()); });
  });
  forEach(artifact.arguments(), [&](const ppx::Argument &argument) {
    look(argument.shape());
    look(argument.stored_shape());
    look(argument.padded_shape());
  });
  forEach(artifact.outputs(), [&](const ppx::Output &output) {
    look(output.shape());
    look(output.padded_shape());
  });
  return aligned;
}

Expected<ppx::ArtifactT> pprt::parseArtifact(const uint8_t *bytes, size_t size,
                                             const std::string &name) {
  // Root offset and file identifier.
  constexpr size_t headerSize = 8;
  if (size < headerSize)
    return bad(name, "expects an artifact, got a file of " +
                         std::to_string(size) + " bytes");
  if (!ppx::ArtifactBufferHasIdentifier(bytes))
    return bad(name, std::string("expects the file identifier ") +
                         ppx::ArtifactIdentifier() + ", got another format");
  // Each table takes an entry in a vector and its own head: a file in which
  // the verifier meets more refers to the same tables over and over.
  constexpr size_t smallestTable = 8;
  constexpr unsigned maximumDepth = 16;
  flatbuffers::Verifier verifier(
      bytes, size, maximumDepth,
      flatbuffers::uoffset_t(size / smallestTable + 16));
  if (size > FLATBUFFERS_MAX_BUFFER_SIZE ||
      !ppx::VerifyArtifactBuffer(verifier) ||
      !elementsAreAligned(*ppx::GetArtifact(bytes)))
    return bad(name, "expects a complete artifact, got " +
                         std::to_string(size) +
                         " bytes that are truncated or damaged");
  ppx::ArtifactT artifact;
  ppx::GetArtifact(bytes)->UnPackTo(&artifact);
  CheckResult structure = checkStructure(artifact);
  if (!structure.ok())
    return bad(name, structure.status().message());
  return artifact;
}

/// Fills `bytes` with the content of `path`; false with errno set on failure.
static bool readFile(const std::string &path, std::vector<uint8_t> &bytes) {
  File file(path, O_RDONLY);
  struct stat properties;
  if (!file.isOpen() || ::fstat(file.get(), &properties) != 0)
    return false;
  if (!S_ISREG(properties.st_mode)) {
    errno = S_ISDIR(properties.st_mode) ? EISDIR : EINVAL;
    return false;
  }
  // Longer ones need not be read to be refused.
  if (uint64_t(properties.st_size) > FLATBUFFERS_MAX_BUFFER_SIZE) {
    errno = EFBIG;
    return false;
  }
  bytes.resize(size_t(properties.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return false;
    if (got == 0)
      break;
    done += size_t(got);
  }
  // A file that shrank meanwhile is judged by what is left of it.
  bytes.resize(done);
  return true;
}

Expected<ppx::ArtifactT> pprt::loadArtifact(const std::string &path) {
  std::vector<uint8_t> bytes;
  if (!readFile(path, bytes))
    return bad(path, std::string("expects a readable artifact, got: ") +
                         std::strerror(errno));
  return parseArtifact(bytes.data(), bytes.size(), path);
}

std::vector<uint8_t> pprt::packArtifact(const ppx::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  ppx::FinishArtifactBuffer(builder, ppx::Artifact::Pack(builder, &artifact));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

/// Writes all of `bytes` to the disk; false with errno set on failure.
static bool writeFile(const std::string &path,
                      const std::vector<uint8_t> &bytes) {
  File file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!file.isOpen())
    return false;
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    done += size_t(put);
  }
  return ::fsync(file.get()) == 0 && file.close();
}

Status pprt::saveArtifact(const ppx::ArtifactT &artifact,
                          const std::string &path) {
  // A rename would replace a device, as /dev/null, by a file.
  struct stat properties;
  if (::stat(path.c_str(), &properties) == 0 && !S_ISREG(properties.st_mode) &&
      !S_ISDIR(properties.st_mode))
    return Status(ExitCode::io, path + ": expects a file, got a device");
  // In the same folder, so that the rename stays within one file system; with
  // the process in its name, so that two writers do not meet.
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  if (writeFile(temporary, packArtifact(artifact)) &&
      std::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  const int cause = errno;
  ::unlink(temporary.c_str());
  return Status(ExitCode::io,
                path + ": expects to be written, got: " + std::strerror(cause));
}

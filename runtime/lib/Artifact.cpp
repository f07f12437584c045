//===- Artifact.cpp - reading and writing .ppx files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a file is at the top of runtime/schema/ppx.fbs.
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "Encoding.h"
#include "OutOfMemory.h"
#include "pprt/Checks.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <optional>
#include <set>

using namespace pprt;

namespace {

constexpr size_t kPreambleBytes = 8, kChecksumBytes = 4, kAlignment = 8;

Status bad(const std::string &name, const std::string &message) {
  return Status(ExitCode::badArtifact, name + ": " + message);
}

void store(uint8_t *at, uint32_t number) {
  for (size_t i = 0; i < sizeof(number); ++i)
    at[i] = uint8_t(number >> 8 * i);
}

uint32_t load(const uint8_t *at) {
  uint32_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i)
    number |= uint32_t(at[i]) << 8 * i;
  return number;
}

/// Returns bytes of a file, which are valid until the next call.
using Fetch =
    std::function<Expected<const uint8_t *>(uint64_t offset, size_t count)>;

/// A file of `size` bytes.
struct Reader {
  const std::string &name;
  uint64_t size;
  Fetch fetch;
  uint64_t headBytes = 0; ///< set once the head is read

  Expected<ppx::HeadT> readHead();
  Expected<ppx::ArtifactT> readArtifact(const ImageChoice &choice);

  /// The failure for bytes that differ from those that were written.
  Status damaged(const std::string &what, const std::string &how) const {
    return bad(name, "expects the bytes that were written, got " + what +
                         " that " + how);
  }
  /// Returns the FlatBuffer in a part of the file, behind `begin` bytes.
  template <typename Table>
  Expected<const Table *> readPart(const std::string &what, uint64_t offset,
                                   uint64_t count, size_t begin,
                                   const flatbuffers::TypeTable &type,
                                   uint32_t *checksum = nullptr);
  Status checkSizes(const ppx::HeadT &head) const;
};

} // namespace

uint32_t pprt::artifactChecksum(const uint8_t *bytes, size_t size) {
  return uint32_t(crc32_z(0, bytes, size));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

template <typename Table>
Expected<const Table *>
Reader::readPart(const std::string &what, uint64_t offset, uint64_t count,
                 size_t begin, const flatbuffers::TypeTable &type,
                 uint32_t *checksum) {
  if (count > FLATBUFFERS_MAX_BUFFER_SIZE)
    return bad(name, "expects parts of at most " +
                         std::to_string(FLATBUFFERS_MAX_BUFFER_SIZE) +
                         " bytes, got " + what + " of " +
                         std::to_string(count));
  if (offset > size || size - offset < count)
    return damaged(std::to_string(size), "are truncated");
  if (count % kAlignment != 0 || count < begin + kAlignment)
    return damaged(what + " of " + std::to_string(count), "is damaged");
  const Expected<const uint8_t *> bytes = fetch(offset, count);
  if (!bytes)
    return bytes.status();
  const uint32_t written = load(*bytes + count - kChecksumBytes);
  if (written != artifactChecksum(*bytes, count - kChecksumBytes))
    return damaged(what, "is damaged: its checksum differs");
  if (checksum)
    *checksum = written;
  const uint8_t *content = *bytes + begin;
  const size_t contentBytes = count - begin - kChecksumBytes;
  // Each table takes an entry in a vector and its own head: if the verifier
  // visits more tables, the file refers to the same ones repeatedly.
  constexpr size_t smallestTable = 8;
  constexpr unsigned maximumDepth = 16;
  flatbuffers::Verifier verifier(
      content, contentBytes, maximumDepth,
      flatbuffers::uoffset_t(contentBytes / smallestTable + 16));
  if (!verifier.VerifyBuffer<Table>(nullptr))
    return bad(
        name,
        "expects a FlatBuffer, got offsets out of bounds or repeated tables");
  const auto *table = flatbuffers::GetRoot<Table>(content);
  if (Status status = checkEncoding(reinterpret_cast<const uint8_t *>(table),
                                    type, contentBytes);
      !status.ok())
    return bad(name, status.message());
  return table;
}

/// Checks that head and images make up the file.
Status Reader::checkSizes(const ppx::HeadT &head) const {
  if (head.images.empty())
    return bad(name, "expects an image for some target, got none");
  std::set<std::string> targets;
  uint64_t end = headBytes;
  for (const auto &image : head.images) {
    if (image->bytes > size - end)
      return damaged(std::to_string(size), "are truncated");
    end += image->bytes;
    if (!targets.insert(image->target).second)
      return bad(name, "expects images for different targets, got two for '" +
                           image->target + "'");
  }
  if (end != size)
    return damaged(std::to_string(size),
                   "are more than " + std::to_string(end));
  return {};
}

Expected<ppx::HeadT> Reader::readHead() {
  if (size < kPreambleBytes + kAlignment)
    return bad(name, "expects an artifact, got a file of " +
                         std::to_string(size) + " bytes");
  const Expected<const uint8_t *> preamble = fetch(0, kPreambleBytes);
  if (!preamble)
    return preamble.status();
  const std::string found(*preamble + 4, *preamble + kPreambleBytes);
  if (found != kArtifactIdentifier) {
    const bool isOther = found.compare(0, 3, kArtifactIdentifier, 3) == 0 &&
                         std::isalnum(static_cast<unsigned char>(found[3]));
    return bad(name, std::string("expects an artifact of format ") +
                         kArtifactIdentifier + ", got " +
                         (isOther ? "one of format " + found +
                                        ", by another version of pp; make it "
                                        "again from its module, with pp-opt "
                                        "--emit=ppx"
                                  : "another kind of file"));
  }
  headBytes = load(*preamble);
  const Expected<const ppx::Head *> head = readPart<ppx::Head>(
      "a head", 0, headBytes, kPreambleBytes, *ppx::HeadTypeTable());
  if (!head)
    return head.status();
  ppx::HeadT result;
  (*head)->UnPackTo(&result);
  if (Status status = checkSizes(result); !status.ok())
    return status;
  return result;
}

Expected<ppx::ArtifactT> Reader::readArtifact(const ImageChoice &choice) {
  Expected<ppx::HeadT> head = readHead();
  if (!head)
    return head.status();
  const Expected<size_t> taken = chooseImage(head->images, choice);
  if (!taken)
    return Status(taken.status().code(),
                  name + ": " + taken.status().message());
  uint64_t offset = headBytes;
  for (size_t i = 0; i < *taken; ++i)
    offset += head->images[i]->bytes;
  const ppx::ImageEntryT entry = *head->images[*taken];
  uint32_t imageChecksum = 0;
  const Expected<const ppx::Image *> image =
      readPart<ppx::Image>("an image for " + entry.target, offset, entry.bytes,
                           0, *ppx::ImageTypeTable(), &imageChecksum);
  if (!image)
    return image.status();
  if (imageChecksum != entry.checksum)
    return damaged("an image for " + entry.target,
                   "was not written with its head");
  ppx::ArtifactT artifact;
  static_cast<ppx::HeadT &>(artifact) = std::move(*head);
  artifact.images.clear();
  (*image)->UnPackTo(&artifact);
  artifact.target = entry.target;
  artifact.processor = entry.processor;
  CheckResult structure = checkStructure(artifact);
  if (structure.lacksMemory)
    return structure.status();
  if (!structure.ok())
    return bad(name, structure.status().message());
  return artifact;
}

Expected<ppx::ArtifactT> pprt::parseArtifact(const uint8_t *bytes, size_t size,
                                             const std::string &name,
                                             const ImageChoice &choice) {
  return orOutOfMemory([&] {
    return Reader{name, size,
                  [&](uint64_t offset, size_t) -> Expected<const uint8_t *> {
                    return bytes + offset;
                  }}
        .readArtifact(choice);
  });
}

/// Calls f(reader) with a reader of `file`.
template <typename Function>
static auto withReader(const InputFile &file, Function &&f) {
  std::vector<uint64_t> part; // aligned
  const auto fetch = [&](uint64_t offset,
                         size_t count) -> Expected<const uint8_t *> {
    part.resize((count + 7) / 8);
    Status status = file.read(offset, part.data(), count);
    if (!status.ok())
      return status;
    return reinterpret_cast<const uint8_t *>(part.data());
  };
  return orOutOfMemory(
      [&] { return f(Reader{file.path(), file.size(), fetch}); });
}

Expected<ppx::ArtifactT> pprt::loadArtifact(const InputFile &file,
                                            const ImageChoice &choice) {
  return withReader(file,
                    [&](Reader reader) { return reader.readArtifact(choice); });
}

Expected<ppx::ArtifactT> pprt::loadArtifact(const std::string &path,
                                            const ImageChoice &choice) {
  return orOutOfMemory([&]() -> Expected<ppx::ArtifactT> {
    const Expected<InputFile> file = InputFile::open(path);
    if (!file)
      return file.status();
    return loadArtifact(*file, choice);
  });
}

Expected<ppx::HeadT> pprt::loadHead(const InputFile &file) {
  return withReader(file, [](Reader reader) { return reader.readHead(); });
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

static bool isOfGpus(const std::string &level) {
  return !level.empty() && !isProcessorLevel(level);
}

Expected<size_t>
pprt::chooseImage(const std::vector<std::unique_ptr<ppx::ImageEntryT>> &images,
                  const ImageChoice &choice) {
  const bool wantsBest = choice.target.empty() || choice.target == "cpu";
  std::optional<size_t> best;
  std::string targets;
  bool hasGpus = false;
  for (size_t i = 0; i < images.size(); ++i) {
    const ppx::ImageEntryT &image = *images[i];
    targets += (i > 0 ? ", " : "") + image.target;
    hasGpus |= isOfGpus(image.processor);
    if (!wantsBest && image.target == choice.target)
      return i;
    if (wantsBest && runsOn(image.processor, choice.level) &&
        (!best || !runsOn(image.processor, images[*best]->processor)))
      best = i;
  }
  if (best)
    return *best;
  if (!wantsBest)
    return Status(ExitCode::usage, "expects the name of a target that it has "
                                   "an image for (" +
                                       targets + "), got '" + choice.target +
                                       "'");
  const std::string level =
      choice.level.empty() ? std::string("cpu") : choice.level;
  const bool isGpu = isOfGpus(level);
  return Status(ExitCode::device,
                "expects an image that " +
                    std::string(isGpu ? "GPUs" : "processors") + " of level " +
                    (choice.level.empty() ? "none" : choice.level) +
                    " run, got those for " + targets +
                    "; make it again from its module by pp-opt --emit=ppx "
                    "--targets=" +
                    (isGpu ? "sm_80, which all GPUs from 8.0 on run" : level) +
                    (isGpu == hasGpus ? ""
                     : isGpu          ? ", or give --device=cpu"
                                      : ", or give --device=cuda"));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns a part of a file: the contents of `builder` behind `begin` bytes.
static std::vector<uint8_t> finishPart(flatbuffers::FlatBufferBuilder &builder,
                                       size_t begin) {
  const size_t used = begin + builder.GetSize() + kChecksumBytes;
  std::vector<uint8_t> part((used + kAlignment - 1) / kAlignment * kAlignment);
  std::memcpy(&part[begin], builder.GetBufferPointer(), builder.GetSize());
  return part;
}

static void sealPart(uint8_t *part, size_t size) {
  store(part + size - kChecksumBytes,
        artifactChecksum(part, size - kChecksumBytes));
}

static std::vector<uint8_t> packHead(const ppx::HeadT &head) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(ppx::Head::Pack(builder, &head));
  std::vector<uint8_t> part = finishPart(builder, kPreambleBytes);
  store(part.data(), uint32_t(part.size()));
  std::memcpy(&part[4], kArtifactIdentifier, 4);
  sealPart(part.data(), part.size());
  return part;
}

static std::vector<uint8_t> packImage(const ppx::ImageT &image) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(ppx::Image::Pack(builder, &image));
  std::vector<uint8_t> part = finishPart(builder, 0);
  sealPart(part.data(), part.size());
  return part;
}

Expected<std::vector<uint8_t>>
pprt::packArtifacts(const std::vector<const ppx::ArtifactT *> &images) {
  ppx::HeadT head = *images.front();
  head.images.clear();
  const std::vector<uint8_t> common = packHead(head);
  std::vector<uint8_t> bytes;
  for (const ppx::ArtifactT *artifact : images) {
    ppx::HeadT other = *artifact;
    other.images.clear();
    if (packHead(other) != common)
      return Status(ExitCode::badArtifact,
                    "expects one program for all targets, got another mesh, "
                    "plan, argument or output for " +
                        artifact->target + " than for " +
                        images.front()->target);
    const std::vector<uint8_t> image = packImage(*artifact);
    bytes.insert(bytes.end(), image.begin(), image.end());
    auto entry = std::make_unique<ppx::ImageEntryT>();
    entry->target = artifact->target;
    entry->processor = artifact->processor;
    entry->bytes = image.size();
    entry->checksum = load(&image[image.size() - kChecksumBytes]);
    head.images.push_back(std::move(entry));
  }
  const std::vector<uint8_t> first = packHead(head);
  bytes.insert(bytes.begin(), first.begin(), first.end());
  return bytes;
}

std::vector<uint8_t> pprt::packArtifact(const ppx::ArtifactT &artifact) {
  return *packArtifacts({&artifact}); // a single image always fits
}

uint32_t pprt::artifactIdentity(const ppx::ArtifactT &artifact) {
  const std::vector<uint8_t> file = packArtifact(artifact);
  return load(&file[load(file.data()) - kChecksumBytes]);
}

Status pprt::saveArtifacts(const std::vector<const ppx::ArtifactT *> &images,
                           const std::string &path) {
  const Expected<std::vector<uint8_t>> bytes = packArtifacts(images);
  return bytes ? writeFile(path, bytes->data(), bytes->size()) : bytes.status();
}

Status pprt::saveArtifact(const ppx::ArtifactT &artifact,
                          const std::string &path) {
  return saveArtifacts({&artifact}, path);
}

void pprt::sealArtifact(std::vector<uint8_t> &file) {
  const auto isPart = [&](uint64_t offset, uint64_t count) {
    return count >= kPreambleBytes + kAlignment && offset <= file.size() &&
           count <= file.size() - offset;
  };
  const uint64_t headBytes = file.size() < kAlignment ? 0 : load(file.data());
  if (!isPart(0, headBytes))
    return;
  uint8_t *content = &file[kPreambleBytes];
  flatbuffers::Verifier verifier(content,
                                 headBytes - kPreambleBytes - kChecksumBytes);
  if (!verifier.VerifyBuffer<ppx::Head>(nullptr))
    return sealPart(file.data(), headBytes);
  const auto *images = flatbuffers::GetRoot<ppx::Head>(content)->images();
  uint64_t offset = headBytes;
  for (flatbuffers::uoffset_t i = 0; images && i < images->size(); ++i) {
    const uint64_t count = images->Get(i)->bytes();
    if (!isPart(offset, count))
      break;
    sealPart(&file[offset], count);
    offset += count;
    // The head has it, too, if the field is present.
    if (uint8_t *checksum = const_cast<uint8_t *>(
            reinterpret_cast<const flatbuffers::Table *>(images->Get(i))
                ->GetAddressOf(ppx::ImageEntry::VT_CHECKSUM)))
      store(checksum, load(&file[offset - kChecksumBytes]));
  }
  sealPart(file.data(), headBytes);
}

//===- EventFile.cpp - steps for TensorBoard ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Protocol buffers are written by hand: five kinds of fields are all there is.
// Each record reaches the file by one call, so that a reader never waits for
// half of one longer than that.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/EventFile.h"
#include "Json.h"
#include "pprt/Files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

// Numbers of fields in event.proto and summary.proto.
namespace field {
static constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3,
                          kSummary = 5, kSessionLog = 7; // Event
static constexpr uint32_t kValue = 1;                    // Summary
static constexpr uint32_t kTag = 1, kSimpleValue = 2;    // Summary.Value
static constexpr uint32_t kStatus = 1;                   // SessionLog
} // namespace field

/// SessionLog.START: what follows replaces equal and later steps.
static constexpr uint64_t kStart = 1;

uint32_t pprt::host::crc32c(const std::string &bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table = {};
    for (uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0x82f63b78u : 0);
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 255] ^ (crc >> 8);
  return ~crc;
}

/// A number as its bytes, the lowest first, whatever the machine.
template <typename T> static std::string littleEndian(T number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes += char((number >> 8 * i) & 255);
  return bytes;
}

std::string pprt::host::frameRecord(const std::string &data) {
  // Checksums of data that hold checksums are weak, hence the mask.
  const auto checksum = [](const std::string &bytes) {
    const uint32_t crc = crc32c(bytes);
    return littleEndian((crc >> 15 | crc << 17) + 0xa282ead8u);
  };
  const std::string length = littleEndian(uint64_t(data.size()));
  return length + checksum(length) + data + checksum(data);
}

//===----------------------------------------------------------------------===//
// Protocol buffers
//===----------------------------------------------------------------------===//

static std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7)
    bytes += char((number & 127) | 128);
  return bytes + char(number);
}

static std::string key(uint32_t field, uint32_t wireType) {
  return varint(field << 3 | wireType);
}

static std::string printVarint(uint32_t field, uint64_t number) {
  return key(field, 0) + varint(number);
}

static std::string printDouble(uint32_t field, double number) {
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return key(field, 1) + littleEndian(bits);
}

static std::string printFloat(uint32_t field, double number) {
  const float narrow = float(number);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return key(field, 5) + littleEndian(bits);
}

/// A text or a message.
static std::string printBytes(uint32_t field, const std::string &bytes) {
  return key(field, 2) + varint(bytes.size()) + bytes;
}

/// A name of the model as UTF-8, without which no reader takes the message.
static std::string asUtf8(const std::string &name) {
  const auto json = nlohmann::json::parse(dumpJson(nlohmann::json(name)),
                                          nullptr, /*allow_exceptions=*/false);
  return json.is_string() ? json.get<std::string>() : "";
}

std::string pprt::host::printEvent(const StepReport &step, double wallTime) {
  std::string summary;
  const auto add = [&](const std::string &tag, double value) {
    summary +=
        printBytes(field::kValue, printBytes(field::kTag, asUtf8(tag)) +
                                      printFloat(field::kSimpleValue, value));
  };
  for (const auto &[name, value] : scalarsOf(step))
    add(name, value);
  return printDouble(field::kWallTime, wallTime) +
         printVarint(field::kStep, step.step) +
         printBytes(field::kSummary, summary);
}

//===----------------------------------------------------------------------===//
// EventFile
//===----------------------------------------------------------------------===//

static double secondsSince1970() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

static constexpr char kPrefix[] = "events.out.tfevents.";

/// The seconds of a new file's name. Readers go through a folder in the order
/// of names, so it is behind all others, whatever the clock says.
static uint64_t findPlace(const std::string &folder, uint64_t now) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    uint64_t time = 0;
    if (name.rfind(kPrefix, 0) == 0)
      std::from_chars(name.data() + sizeof(kPrefix) - 1,
                      name.data() + name.size(), time);
    // A name of more digits is not of this kind.
    if (time < 9999999999)
      now = std::max(now, time + 1);
  }
  return now;
}

Expected<std::unique_ptr<EventFile>>
EventFile::create(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Status(ExitCode::io,
                  folder + ": cannot create the folder: " + error.message());
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
    std::strcpy(host, "localhost");
  const double now = secondsSince1970();
  char time[32];
  std::snprintf(time, sizeof(time), "%010" PRIu64,
                findPlace(folder, uint64_t(now)));
  const std::string path = folder + "/" + kPrefix + time + "." + host + "." +
                           std::to_string(getpid()) + ".0";
  const Expected<int> descriptor = openToWrite(path, O_CREAT | O_TRUNC);
  if (!descriptor)
    return descriptor.status();
  std::unique_ptr<EventFile> file(new EventFile(path, *descriptor));
  if (Status status =
          file->write(printDouble(field::kWallTime, now) +
                      printBytes(field::kFileVersion, "brain.Event:2"));
      !status.ok())
    return status;
  return Expected<std::unique_ptr<EventFile>>(std::move(file));
}

EventFile::~EventFile() { close(descriptor); }

Status EventFile::write(const std::string &event) {
  const std::string record = frameRecord(event);
  return writeAll(descriptor, record.data(), record.size())
             ? Status()
             : systemFailure(path, "write");
}

Status EventFile::add(const StepReport &step) {
  const double now = secondsSince1970();
  if (isEmpty)
    if (Status status = write(printDouble(field::kWallTime, now) +
                              printVarint(field::kStep, step.step) +
                              printBytes(field::kSessionLog,
                                         printVarint(field::kStatus, kStart)));
        !status.ok())
      return status;
  isEmpty = false;
  return write(printEvent(step, now));
}

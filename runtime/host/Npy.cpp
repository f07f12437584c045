//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file is "\x93NUMPY", a version, the length of a header, the header (a
// Python dictionary literal with the keys descr, fortran_order and shape) and
// the elements.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Npy.h"

#include "Json.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace pprt::host;
using pprt::denseBytes;
using pprt::ExitCode;
using pprt::Expected;
using pprt::InputFile;
using pprt::OutputFile;
using pprt::Status;
using pprt::withFormat;
using namespace pprt::ppx;

// NumPy itself refuses longer headers unless told to trust the file.
static constexpr uint64_t maxHeaderBytes = 10000;

namespace {

struct Header {
  std::string type;
  bool isFortranOrder = false;
  std::vector<uint64_t> shape;
};

/// Parses the subset of Python that NumPy writes.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  std::optional<Header> parse();

private:
  bool parseString(std::string &value);
  bool parseBool(bool &value);
  bool parseShape(std::vector<uint64_t> &shape);
  bool parseItem();

  void skipSpace() {
    next = std::min(text.find_first_not_of(" \t\n\r", next), text.size());
  }
  bool consume(const char *token) {
    skipSpace();
    size_t length = std::strlen(token);
    if (text.compare(next, length, token) != 0)
      return false;
    next += length;
    return true;
  }

  const std::string &text;
  size_t next = 0;
  Header header;
  std::set<std::string> keys;
};
} // namespace

/// How a file stores an element.
struct NpyFile::Type {
  const char *name;
  uint64_t bytes;
  const char *printed;
  /// That of the same bytes in a model, if models have one.
  std::optional<ElementType> element;

  bool isFloat() const { return name[1] == 'f'; }
  bool isTruth() const { return name[1] == 'b'; }
  bool isSigned() const { return name[1] == 'i'; }
};

static const NpyFile::Type npyTypes[] = {
    {"<f2", 2, "f16", ElementType_f16}, {"<f4", 4, "f32", ElementType_f32},
    {"<f8", 8, "f64", ElementType_f64}, {"|i1", 1, "i8", ElementType_i8},
    {"<i2", 2, "i16", std::nullopt},    {"<i4", 4, "i32", ElementType_i32},
    {"<i8", 8, "i64", ElementType_i64}, {"|u1", 1, "u8", std::nullopt},
    {"<u2", 2, "u16", std::nullopt},    {"<u4", 4, "u32", std::nullopt},
    {"|b1", 1, "i1", ElementType_i1}};

static const NpyFile::Type *findType(ElementType element) {
  for (const NpyFile::Type &type : npyTypes)
    if (type.element == element)
      return &type;
  return nullptr;
}

const char *NpyFile::typeName() const { return type->printed; }
bool NpyFile::holdsIntegers() const {
  return !type->isFloat() && !type->isTruth();
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

std::optional<Header> HeaderParser::parse() {
  if (!consume("{"))
    return std::nullopt;
  while (!consume("}"))
    if (!parseItem() || (!consume(",") && text.compare(next, 1, "}") != 0))
      return std::nullopt;
  skipSpace();
  if (next != text.size() || keys.size() != 3)
    return std::nullopt;
  return header;
}

bool HeaderParser::parseItem() {
  std::string key;
  if (!parseString(key) || !consume(":") || !keys.insert(key).second)
    return false;
  if (key == "descr")
    return parseString(header.type);
  if (key == "fortran_order")
    return parseBool(header.isFortranOrder);
  return key == "shape" && parseShape(header.shape);
}

bool HeaderParser::parseString(std::string &value) {
  skipSpace();
  if (next == text.size() || (text[next] != '\'' && text[next] != '"'))
    return false;
  size_t end = text.find(text[next], next + 1);
  if (end == std::string::npos)
    return false;
  value = text.substr(next + 1, end - next - 1);
  next = end + 1;
  return true;
}

bool HeaderParser::parseBool(bool &value) {
  value = consume("True");
  return value || consume("False");
}

bool HeaderParser::parseShape(std::vector<uint64_t> &shape) {
  if (!consume("("))
    return false;
  while (!consume(")")) {
    skipSpace();
    uint64_t size = 0;
    size_t begin = next;
    for (; next < text.size() && text[next] >= '0' && text[next] <= '9'; ++next)
      if (__builtin_mul_overflow(size, 10, &size) ||
          __builtin_add_overflow(size, text[next] - '0', &size))
        return false;
    if (next == begin)
      return false;
    shape.push_back(size);
    skipSpace();
    if (!consume(",") && text.compare(next, 1, ")") != 0)
      return false;
  }
  return true;
}

Expected<NpyFile> NpyFile::open(const std::string &path) {
  Expected<InputFile> opened = InputFile::open(path);
  if (!opened)
    return opened.status();
  NpyFile result(std::move(*opened));
  const InputFile &file = result.file;
  auto malformed = [&](const std::string &expected, const std::string &found) {
    return Status(ExitCode::io,
                  path + ": expects " + expected + ", got " + found);
  };

  uint8_t start[12] = {};
  if (file.size() < sizeof(start))
    return malformed("a .npy file of at least 12 bytes",
                     std::to_string(file.size()));
  if (Status status = file.read(0, start, sizeof(start)); !status.ok())
    return status;
  if (std::memcmp(start, "\x93NUMPY", 6) != 0)
    return malformed("the magic bytes \\x93NUMPY", "others");
  unsigned version = start[6];
  if (version != 1 && version != 2)
    return malformed("version 1 or 2", std::to_string(version));
  uint64_t length = start[8] | start[9] << 8;
  if (version == 2)
    length |= uint64_t(start[10]) << 16 | uint64_t(start[11]) << 24;
  uint64_t headerOffset = version == 1 ? 10 : 12;
  uint64_t maxLength = std::min(maxHeaderBytes, file.size() - headerOffset);
  if (length > maxLength)
    return malformed("a header of at most " + std::to_string(maxLength) +
                         " bytes",
                     std::to_string(length));
  std::string text(length, '\0');
  if (Status status = file.read(headerOffset, text.data(), length);
      !status.ok())
    return status;

  std::optional<Header> header = HeaderParser(text).parse();
  if (!header)
    return malformed("a header with descr, fortran_order and shape",
                     dumpJson(nlohmann::json(text.substr(0, 120))));
  const Type *type = nullptr;
  for (const Type &candidate : npyTypes)
    if (header->type == candidate.name)
      type = &candidate;
  if (!type)
    return malformed("elements of type <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1, "
                     "<u2, <u4 or |b1",
                     dumpJson(nlohmann::json(header->type)));
  if (header->isFortranOrder)
    return malformed("an array in C order", "one in Fortran order");
  result.type = type;
  result.dimensions = header->shape;
  result.dataOffset = headerOffset + length;
  std::optional<uint64_t> bytes = denseBytes(header->shape, type->bytes);
  uint64_t found = file.size() - result.dataOffset;
  if (!bytes || *bytes != found)
    return malformed((bytes ? std::to_string(*bytes) : "too many") +
                         " bytes of elements for shape " +
                         printShape(header->shape),
                     std::to_string(found));
  return Expected<NpyFile>(std::move(result));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static int64_t readInteger(const NpyFile::Type &type, const char *from) {
  uint64_t bits = 0; // little-endian, as this machine is
  std::memcpy(&bits, from, type.bytes);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(type.bytes);
  return type.isSigned() ? static_cast<int64_t>(bits << unused) >> unused
                         : static_cast<int64_t>(bits);
}

/// Returns false if elements of this type cannot hold `value`.
static bool writeInteger(ElementType element, int64_t value, void *out,
                         uint64_t index) {
  return withFormat(element, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    static_cast<Stored *>(out)[index] = Stored(value);
    return int64_t(Stored(value)) == value;
  });
}

Status NpyFile::read(uint64_t first, uint64_t count, ElementType element,
                     void *out) const {
  const uint64_t bytes = type->bytes;
  uint64_t offset = dataOffset + first * bytes;
  if (type->element == element) {
    Status status = file.read(offset, out, count * bytes);
    const auto *truths = static_cast<const uint8_t *>(out);
    if (status.ok() && type->isTruth() &&
        std::any_of(truths, truths + count, [](uint8_t t) { return t > 1; }))
      return Status(ExitCode::io, path() + ": expects truth values, bytes of 0 "
                                           "or 1, got others");
    return status;
  }

  const bool areFloats = type->isFloat() && isFloat(element);
  if (!areFloats && !(holdsIntegers() && isInteger(element)))
    return Status(ExitCode::io, path() + ": expects elements of type " +
                                    EnumNameElementType(element) + ", got " +
                                    typeName());
  std::vector<char> stored(count * bytes);
  if (Status status = file.read(offset, stored.data(), stored.size());
      !status.ok())
    return status;
  if (areFloats) {
    convertFloats(*type->element, stored.data(), element, out, count);
    return Status();
  }
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t value = readInteger(*type, stored.data() + i * bytes);
    if (!writeInteger(element, value, out, i))
      return Status(ExitCode::io, path() + ": expects integers of " +
                                      std::to_string(8 * elementSize(element)) +
                                      " bits, got " + std::to_string(value) +
                                      " at element " +
                                      std::to_string(first + i));
  }
  return Status();
}

Expected<std::string>
pprt::host::printNpyHeader(const std::string &path, ElementType element,
                           const std::vector<uint64_t> &shape) {
  const NpyFile::Type *type = findType(element);
  std::optional<uint64_t> bytes;
  if (type)
    bytes = denseBytes(shape, type->bytes);
  if (!bytes)
    return Status(ExitCode::io,
                  path +
                      ": expects an array of f16, f32, f64, i8, i32 or i64 of "
                      "less than 2^63 bytes, got " +
                      EnumNameElementType(element) + printShape(shape));
  std::string header = std::string("{'descr': '") + type->name +
                       "', 'fortran_order': False, 'shape': (";
  for (uint64_t size : shape)
    header += std::to_string(size) + ",";
  header += ")}";
  // The elements begin at a multiple of 64.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';

  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 255);
  start += static_cast<char>(header.size() >> 8);
  return start + header;
}

Status pprt::host::writeNpy(const std::string &path, ElementType element,
                            const std::vector<uint64_t> &shape,
                            const void *data) {
  const Expected<std::string> header = printNpyHeader(path, element, shape);
  if (!header)
    return header.status();
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  Status status = file->write(header->data(), header->size());
  if (status.ok())
    status = file->write(data, *denseBytes(shape, findType(element)->bytes));
  return status.ok() ? file->commit() : status;
}

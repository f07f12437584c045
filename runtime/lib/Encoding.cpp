//===- Encoding.cpp - checks that FlatBuffers lacks -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the tables by the type descriptions that flatc generates, so that no
// field of the schema can be forgotten here; adds up the memory that they will
// take when they are unpacked.
//
//===----------------------------------------------------------------------===//
#include "Encoding.h"

#include <flatbuffers/minireflect.h>

#include <algorithm>

using namespace pprt;
using namespace flatbuffers;

namespace {

class Walk {
public:
  explicit Walk(uint64_t size)
      : size(size), room(size), memory(unpackedLimit(size)) {}

  bool visitTable(const uint8_t *table, const TypeTable &type);
  Status status() const { return failure; }

private:
  bool visitField(const TypeCode &code, const TypeTable *described,
                  const uint8_t *field, const uint8_t *previous);
  bool visitValue(ElementaryType type, const TypeTable *described,
                  const uint8_t *value);
  bool visitUnion(uint8_t member, const TypeTable &described,
                  const uint8_t *value);
  bool visitVector(ElementaryType type, const TypeTable *described,
                   const Vector<uint8_t> &vector);
  bool visitString(const String &string);
  /// Takes `bytes` from the rest of the file.
  bool take(uint64_t bytes);
  /// Takes a heap block of `bytes` from the memory that unpacking may use.
  bool allocate(uint64_t bytes);
  bool fail(const std::string &message) {
    failure = Status(ExitCode::badArtifact, message);
    return false;
  }

  const uint64_t size;
  uint64_t room;   ///< bytes of the file
  uint64_t memory; ///< bytes of the heap
  Status failure;
};

/// Returns the size of a table in memory, by a list of all types.
template <typename... Tables> uint64_t sizeAmong(const TypeTable &type) {
  // A type that the list lacks counts as the largest.
  uint64_t size = std::max({sizeof(Tables)...});
  ((&type == Tables::TableType::MiniReflectTypeTable() ? size = sizeof(Tables)
                                                       : 0),
   ...);
  return size;
}

uint64_t sizeInMemory(const TypeTable &type) {
  using namespace ppx;
  return sizeAmong<ArgumentT, AxisT, CallT, CompiledKernelT, ContractionT,
                   DimensionAxesT, EpilogueT, GroupT, HeadT, ImageEntryT,
                   ImageT, InitializerT, InstructionT, KernelParameterT,
                   KernelT, MatrixViewT, OutputT, ProgramT, QueueT, RoutineT,
                   SlotT, ViewLoopT, WindowT>(type);
}

/// Returns the target of an offset field.
const uint8_t *follow(const uint8_t *field) {
  return field + ReadScalar<uoffset_t>(field);
}

bool isUtf8(const String &string) {
  const char *at = string.c_str(), *end = at + string.size();
  while (at < end)
    if (FromUTF8(&at) < 0) // stops at the zero behind the string
      return false;
  return true;
}

} // namespace

bool Walk::take(uint64_t bytes) {
  if (bytes > room)
    return fail("expects strings and vectors that are referred to once, got "
                "more of them than the " +
                std::to_string(size) + " bytes they are in");
  room -= bytes;
  return true;
}

bool Walk::allocate(uint64_t bytes) {
  constexpr uint64_t head = 16; // of a block, including rounding
  if (bytes + head > memory)
    return fail("expects tables that take " +
                std::to_string(unpackedLimit(size)) +
                " bytes in memory at most, got more of them in " +
                std::to_string(size) + " bytes");
  memory -= bytes + head;
  return true;
}

bool Walk::visitString(const String &string) {
  return take(string.size()) && allocate(string.size()) &&
         (isUtf8(string) || fail("expects text in UTF-8, got other bytes"));
}

bool Walk::visitVector(ElementaryType type, const TypeTable *described,
                       const Vector<uint8_t> &vector) {
  const size_t width = InlineSize(type, described);
  // In memory a vector holds pointers to tables, but strings themselves.
  const uint64_t unpacked = type == ET_STRING ? sizeof(std::string)
                            : width == sizeof(uoffset_t) && type == ET_SEQUENCE
                                ? sizeof(void *)
                                : width;
  if (!take(uint64_t(vector.size()) * width) ||
      !allocate(vector.size() * unpacked))
    return false;
  // The verifier checks only the 4-byte length of a vector.
  if (width == 8 && type != ET_SEQUENCE &&
      reinterpret_cast<uintptr_t>(vector.Data()) % width != 0)
    return fail("expects elements aligned to 8 bytes, got a vector askew");
  if (type != ET_STRING && type != ET_SEQUENCE)
    return true; // any number is valid
  for (uoffset_t i = 0; i < vector.size(); ++i)
    if (!visitValue(type, described, vector.Data() + i * width))
      return false;
  return true;
}

bool Walk::visitValue(ElementaryType type, const TypeTable *described,
                      const uint8_t *value) {
  if (type == ET_STRING)
    return visitString(*reinterpret_cast<const String *>(follow(value)));
  return type != ET_SEQUENCE || described->st != ST_TABLE ||
         visitTable(follow(value), *described);
}

bool Walk::visitUnion(uint8_t member, const TypeTable &described,
                      const uint8_t *value) {
  // Member 0 is none. All members in this schema are tables.
  if (member == 0 || member >= described.num_elems)
    return true;
  const TypeCode code = described.type_codes[member];
  return visitTable(follow(value), *described.type_refs[code.sequence_ref]());
}

bool Walk::visitField(const TypeCode &code, const TypeTable *described,
                      const uint8_t *field, const uint8_t *previous) {
  const auto type = ElementaryType(code.base_type);
  if (code.is_repeating)
    return visitVector(
        type, described,
        *reinterpret_cast<const Vector<uint8_t> *>(follow(field)));
  // The field before a union selects its member.
  if (type == ET_SEQUENCE && described->st == ST_UNION)
    return visitUnion(previous ? *previous : 0, *described, field);
  return visitValue(type, described, field);
}

bool Walk::visitTable(const uint8_t *table, const TypeTable &type) {
  if (!allocate(sizeInMemory(type)))
    return false;
  const uint8_t *previous = nullptr;
  for (size_t i = 0; i < type.num_elems; ++i) {
    const TypeCode code = type.type_codes[i];
    const TypeTable *described =
        code.sequence_ref >= 0 ? type.type_refs[code.sequence_ref]() : nullptr;
    const uint8_t *field = reinterpret_cast<const Table *>(table)->GetAddressOf(
        FieldIndexToOffset(voffset_t(i)));
    if (field && !visitField(code, described, field, previous))
      return false;
    previous = field;
  }
  return true;
}

Status pprt::checkEncoding(const uint8_t *table, const TypeTable &type,
                           size_t size) {
  Walk walk(size);
  walk.visitTable(table, type);
  return walk.status();
}

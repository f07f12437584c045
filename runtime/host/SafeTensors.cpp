//===- SafeTensors.cpp - Parameter files ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing in a file is trusted: every length and offset is checked against the
// file's size before it is used.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/SafeTensors.h"

#include "Json.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"

#include <algorithm>
#include <cstring>

using namespace pprt::host;
using pprt::denseBytes;
using pprt::ExitCode;
using pprt::Expected;
using pprt::InputFile;
using pprt::isFloat;
using pprt::OutputFile;
using pprt::Status;
using namespace pprt::ppx;
using Json = nlohmann::json;

// The format's own limit.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

namespace {
/// A type of the format. Types without an element type can be skipped but not
/// read.
struct StoredType {
  const char *name;
  uint64_t bytes;
  std::optional<ElementType> element;
};
} // namespace

static const StoredType storedTypes[] = {
    {"F64", 8, ElementType_f64},  {"F32", 4, ElementType_f32},
    {"F16", 2, ElementType_f16},  {"BF16", 2, ElementType_bf16},
    {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt},
    {"I64", 8, ElementType_i64},  {"I32", 4, ElementType_i32},
    {"I16", 2, std::nullopt},     {"I8", 1, ElementType_i8},
    {"U64", 8, std::nullopt},     {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},     {"U8", 1, std::nullopt},
    {"BOOL", 1, ElementType_i1}};

static const StoredType *findType(const std::string &name) {
  for (const StoredType &type : storedTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

/// The format's name of an element type.
static const char *storedName(ElementType element) {
  for (const StoredType &type : storedTypes)
    if (type.element == element)
      return type.name;
  return "";
}

/// Whether elements can be read as others of another type.
static bool isConvertible(const StoredType &from, ElementType to) {
  return from.element && isFloat(*from.element) && isFloat(to);
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

static bool isUnsignedList(const Json &json) {
  return json.is_array() &&
         std::all_of(json.begin(), json.end(), [](const Json &item) {
           return item.is_number_unsigned();
         });
}

static bool isStringMap(const Json &json) {
  return json.is_object() &&
         std::all_of(json.begin(), json.end(),
                     [](const Json &item) { return item.is_string(); });
}

/// Reads one entry of the header; `offset` and `bytes` are relative to the
/// data. On failure returns what was expected of it.
static const char *parseEntry(const Json &json, StoredTensor &tensor) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets"))
    return "an object with dtype, shape and data_offsets";
  const Json &offsets = json["data_offsets"];
  if (!json["dtype"].is_string() || !findType(json["dtype"]))
    return "a known dtype";
  if (!isUnsignedList(json["shape"]))
    return "a shape of non-negative integers";
  if (!isUnsignedList(offsets) || offsets.size() != 2 ||
      offsets[0] > offsets[1])
    return "data_offsets [begin, end] with begin <= end";
  tensor.type = json["dtype"];
  tensor.shape = json["shape"].get<std::vector<uint64_t>>();
  tensor.offset = offsets[0];
  tensor.bytes = offsets[1].get<uint64_t>() - tensor.offset;
  std::optional<uint64_t> bytes =
      denseBytes(tensor.shape, findType(tensor.type)->bytes);
  if (!bytes || *bytes != tensor.bytes)
    return "as many bytes as dtype and shape need";
  return nullptr;
}

/// Whether the tensors cover `dataBytes` bytes without overlap or hole. If not,
/// returns the name of the first tensor out of place, or "" if it is the end.
static std::optional<std::string>
findGap(const std::map<std::string, StoredTensor> &table, uint64_t dataBytes) {
  using Item = std::pair<const std::string, StoredTensor>;
  std::vector<const Item *> order;
  for (const Item &item : table)
    order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const Item *a, const Item *b) {
    return std::pair(a->second.offset, a->second.bytes) <
           std::pair(b->second.offset, b->second.bytes);
  });
  uint64_t next = 0;
  for (const Item *item : order) {
    if (item->second.offset != next)
      return item->first;
    next += item->second.bytes;
  }
  return next == dataBytes ? std::nullopt : std::optional<std::string>("");
}

Expected<SafeTensors> SafeTensors::open(const std::string &path) {
  Expected<InputFile> opened = InputFile::open(path);
  if (!opened)
    return opened.status();
  SafeTensors result(std::move(*opened));
  const InputFile &file = result.file;
  auto malformed = [&](const std::string &expected, const std::string &found) {
    return Status(ExitCode::badParameters,
                  path + ": expects " + expected + ", got " + found);
  };

  uint8_t lengthBytes[8] = {};
  if (file.size() < 8)
    return malformed("a safetensors file of at least 8 bytes",
                     std::to_string(file.size()));
  if (Status status = file.read(0, lengthBytes, 8); !status.ok())
    return status;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | lengthBytes[i];
  uint64_t maxLength = std::min(maxHeaderBytes, file.size() - 8);
  if (length > maxLength)
    return malformed("a safetensors header of at most " +
                         std::to_string(maxLength) + " bytes",
                     std::to_string(length) +
                         ": it is no safetensors file, or a damaged one");
  std::string text(length, '\0');
  if (Status status = file.read(8, text.data(), length); !status.ok())
    return status;

  Json header = text.empty() || text[0] != '{'
                    ? Json(Json::value_t::discarded)
                    : parseStrictly<Json>(text, /*maxDepth=*/3);
  if (!header.is_object())
    return malformed("a JSON object of tensors with distinct names as header",
                     dumpJson(Json(text.substr(0, 40))));
  for (const auto &item : header.items()) {
    if (item.key() == "__metadata__") {
      if (!isStringMap(item.value()))
        return malformed("strings only in __metadata__",
                         dumpJson(item.value()).substr(0, 120));
      result.notes = item.value().get<std::map<std::string, std::string>>();
      continue;
    }
    StoredTensor tensor;
    if (const char *expected = parseEntry(item.value(), tensor))
      return malformed(std::string(expected) + " for tensor '" + item.key() +
                           "'",
                       dumpJson(item.value()).substr(0, 120));
    result.table.emplace(item.key(), tensor);
  }
  uint64_t dataBytes = file.size() - 8 - length;
  if (std::optional<std::string> name = findGap(result.table, dataBytes))
    return malformed("tensors that cover the " + std::to_string(dataBytes) +
                         " bytes after the header without overlap or hole",
                     name->empty() ? "another end of the last one"
                                   : "'" + *name + "' out of place");
  for (auto &[name, tensor] : result.table)
    tensor.offset += 8 + length;
  return Expected<SafeTensors>(std::move(result));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

const StoredTensor *SafeTensors::find(const std::string &name) const {
  for (const std::string &key : {name, "transformer." + name})
    if (auto found = table.find(key); found != table.end())
      return &found->second;
  return nullptr;
}

Status SafeTensors::expect(const std::string &name, ElementType element,
                           const std::vector<uint64_t> &shape) const {
  auto mismatch = [&](const std::string &expected, const std::string &found) {
    return Status(ExitCode::badParameters, path() + ": expects " + expected +
                                               " for '" + name + "', got " +
                                               found);
  };
  const StoredTensor *tensor = find(name);
  const std::string type = storedName(element);
  if (!tensor)
    return mismatch("a tensor " + type + printShape(shape), "none");
  if (tensor->shape != shape ||
      (tensor->type != type &&
       !isConvertible(*findType(tensor->type), element)))
    return mismatch(type + printShape(shape),
                    tensor->type + printShape(tensor->shape));
  return Status();
}

Status SafeTensors::read(const std::string &name, ElementType element,
                         const std::vector<uint64_t> &shape, void *out) const {
  if (Status status = expect(name, element, shape); !status.ok())
    return status;
  const StoredTensor &tensor = *find(name);
  if (tensor.type == storedName(element))
    return file.read(tensor.offset, out, tensor.bytes);
  std::vector<std::byte> stored(tensor.bytes);
  if (Status status = file.read(tensor.offset, stored.data(), stored.size());
      !status.ok())
    return status;
  convertFloats(*findType(tensor.type)->element, stored.data(), element, out,
                tensor.bytes / findType(tensor.type)->bytes);
  return Status();
}

Status SafeTensors::read(const std::string &name, ElementType element,
                         const std::vector<uint64_t> &shape,
                         const std::vector<ElementRun> &runs) const {
  if (Status status = expect(name, element, shape); !status.ok())
    return status;
  const StoredTensor &tensor = *find(name);
  const bool isConverted = tensor.type != storedName(element);
  const uint64_t width = findType(tensor.type)->bytes,
                 most = (uint64_t(1) << 20) / width;
  std::vector<std::byte> piece;
  // Copies the part of the run that lies in the piece [at, end).
  const auto take = [&](const ElementRun &run, uint64_t at, uint64_t end) {
    const uint64_t first = std::max(run.first, at),
                   last = std::min(run.first + run.count, end);
    if (first >= last)
      return;
    const std::byte *from = piece.data() + (first - at) * width;
    std::byte *to = run.values + (first - run.first) * elementSize(element);
    if (isConverted)
      convertFloats(*findType(tensor.type)->element, from, element, to,
                    last - first);
    else
      std::memcpy(to, from, (last - first) * width);
  };
  for (size_t i = 0, next = 0; i < runs.size(); i = next) {
    uint64_t end = runs[i].first + runs[i].count;
    if (!isConverted && runs[i].count >= most) {
      if (Status status = file.read(tensor.offset + runs[i].first * width,
                                    runs[i].values, runs[i].count * width);
          !status.ok())
        return status;
      next = i + 1;
      continue;
    }
    for (next = i + 1;
         next < runs.size() && runs[next].first >= end &&
         runs[next].first + runs[next].count - runs[i].first <= most;
         ++next)
      end = runs[next].first + runs[next].count;
    for (uint64_t at = runs[i].first; at < end; at += most) {
      const uint64_t last = std::min(at + most, end);
      piece.resize((last - at) * width);
      if (Status status =
              file.read(tensor.offset + at * width, piece.data(), piece.size());
          !status.ok())
        return status;
      for (size_t run = i; run < next; ++run)
        take(runs[run], at, last);
    }
  }
  return {};
}

Status SafeTensors::readBytes(const std::string &name, uint64_t begin,
                              uint64_t count, void *out) const {
  return file.read(find(name)->offset + begin, out, count);
}

Status pprt::host::checkTensorName(const std::string &path,
                                   const std::string &name) {
  // JSON supports only UTF-8: other bytes would be read back differently.
  const std::string text = dumpJson(Json(name));
  if (name != "__metadata__" &&
      Json::parse(text, nullptr, /*allow_exceptions=*/false) == Json(name))
    return Status();
  return Status(ExitCode::badParameters,
                path +
                    ": expects a tensor's name to be UTF-8 and not "
                    "\"__metadata__\", got " +
                    text);
}

static uint64_t storedBytes(ElementType element) {
  return findType(storedName(element))->bytes;
}

std::vector<size_t>
pprt::host::orderInFile(const std::vector<TensorToStore> &tensors) {
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const uint64_t width = storedBytes(tensors[a].element),
                   other = storedBytes(tensors[b].element);
    return width != other ? width > other : tensors[a].name < tensors[b].name;
  });
  return order;
}

Expected<std::string> pprt::host::printSafeTensorsHeader(
    const std::string &path, const std::vector<TensorToStore> &tensors,
    const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  header["__metadata__"] = metadata;
  header["__metadata__"]["format"] = "pt";
  uint64_t offset = 0;
  for (size_t i : orderInFile(tensors)) {
    const TensorToStore &tensor = tensors[i];
    if (Status status = checkTensorName(path, tensor.name); !status.ok())
      return status;
    std::optional<uint64_t> bytes =
        denseBytes(tensor.shape, storedBytes(tensor.element));
    if (!bytes || header.contains(tensor.name))
      return Status(ExitCode::badParameters,
                    path +
                        ": expects distinct tensors of less than 2^63 "
                        "bytes, got '" +
                        tensor.name + "' " + printShape(tensor.shape));
    header[tensor.name] = {{"dtype", storedName(tensor.element)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + *bytes}}};
    offset += *bytes;
  }
  std::string text = dumpJson(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i)
    length += static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

Status pprt::host::writeSafeTensors(
    const std::string &path, const std::vector<TensorToStore> &tensors,
    const std::function<Status(size_t, void *)> &read,
    const std::map<std::string, std::string> &metadata) {
  const Expected<std::string> header =
      printSafeTensorsHeader(path, tensors, metadata);
  if (!header)
    return header.status();
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  Status status = file->write(header->data(), header->size());
  std::vector<std::byte> buffer;
  for (size_t i : orderInFile(tensors)) {
    if (!status.ok())
      return status;
    const uint64_t bytes =
        *denseBytes(tensors[i].shape, storedBytes(tensors[i].element));
    if (bytes == 0)
      continue;
    const void *values = tensors[i].values;
    if (!values) {
      buffer.resize(bytes);
      status = read(i, buffer.data());
      values = buffer.data();
    }
    if (status.ok())
      status = file->write(values, bytes);
  }
  return status.ok() ? file->commit() : status;
}

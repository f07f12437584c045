//===- CheckpointIndex.cpp - index.json of a checkpoint -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: text from a file that nobody vouches for. Out: an index whose parts are
// boxes that tile their tensors.
//
//===----------------------------------------------------------------------===//
#include "Digest.h"
#include "Json.h"
#include "pprt/Program.h"
#include "pprt/host/Checkpoint.h"
#include "pprt/host/Elements.h"

#include <algorithm>

using namespace pprt::host;
using pprt::ArgumentPart;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Session;
using pprt::Status;
using namespace pprt::ppx;
// Sorted by name, so that its text does not depend on the order in a file.
using Json = nlohmann::json;

static constexpr char kFormat[] = "pp checkpoint";
static constexpr uint64_t kVersion = 1;

CheckpointIndex pprt::host::indexOf(const Session &session) {
  CheckpointIndex index;
  const ArtifactT &artifact = session.artifact();
  index.plan = artifact.plan;
  index.model = artifact.model;
  for (const auto &argument : artifact.arguments)
    if (argument->role == Role_input || argument->role == Role_label)
      index.inputs[argument->name] = argument->shape;
    else
      index.tensors[argument->name] = {
          argument->element, argument->shape, argument->is_models, {}};
  for (ArgumentPart &part : argumentParts(session.artifact(), session.mesh())) {
    const std::string &name = artifact.arguments[part.argument]->name;
    index.tensors[name].parts.push_back(std::move(part));
  }
  return index;
}

/// The digest of everything else.
static std::string digestOfRest(const Json &json) {
  const std::string text = dumpJson(json);
  return digestOf(text.data(), text.size());
}

std::string pprt::host::printIndex(const CheckpointIndex &index) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"step", index.step},
               {"seed", index.seed},
               {"id", index.id},
               {"plan", index.plan},
               {"model", index.model},
               {"data", index.data},
               {"data_fingerprint", index.dataFingerprint},
               {"metrics_digest", index.metricsDigest},
               {"inputs", index.inputs},
               {"tensors", Json::object()}};
  for (const auto &[name, tensor] : index.tensors) {
    Json parts = Json::array();
    for (const ArgumentPart &part : tensor.parts)
      parts.push_back(
          {{"rank", part.rank}, {"first", part.first}, {"size", part.size}});
    json["tensors"][name] = {{"element", EnumNameElementType(tensor.element)},
                             {"shape", tensor.shape},
                             {"of_model", tensor.isModels},
                             {"parts", std::move(parts)}};
  }
  json["xxh3"] = digestOfRest(json);
  return dumpJson(json, 1) + "\n";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A field of an object; null if there is none.
static const Json &fieldOf(const Json &object, const char *name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

static bool read(const Json &json, uint64_t &value) {
  const bool isNumber = json.is_number_unsigned();
  value = isNumber ? json.get<uint64_t>() : 0;
  return isNumber;
}

static bool read(const Json &json, std::string &value) {
  value = json.is_string() ? json.get<std::string>() : "";
  return json.is_string();
}

static bool read(const Json &json, std::vector<uint64_t> &values) {
  if (!json.is_array() ||
      !std::all_of(json.begin(), json.end(),
                   [](const Json &item) { return item.is_number_unsigned(); }))
    return false;
  values = json.get<std::vector<uint64_t>>();
  return true;
}

static bool readPart(const Json &json, ArgumentPart &part) {
  uint64_t rank = 0;
  if (!json.is_object() || !read(fieldOf(json, "rank"), rank) ||
      rank > UINT32_MAX || !read(fieldOf(json, "first"), part.first) ||
      !read(fieldOf(json, "size"), part.size))
    return false;
  part.rank = uint32_t(rank);
  return true;
}

static bool readTensor(const Json &json, CheckpointTensor &tensor) {
  std::string element;
  const Json &parts = json.is_object() ? fieldOf(json, "parts") : json;
  if (!parts.is_array() || !read(fieldOf(json, "element"), element) ||
      !read(fieldOf(json, "shape"), tensor.shape) ||
      !fieldOf(json, "of_model").is_boolean())
    return false;
  tensor.isModels = json["of_model"];
  const auto *const end =
      EnumValuesElementType() + std::size(EnumValuesElementType());
  const auto *const found =
      std::find_if(EnumValuesElementType(), end, [&](ElementType type) {
        return element == EnumNameElementType(type);
      });
  if (found == end)
    return false;
  tensor.element = *found;
  for (const Json &each : parts)
    if (ArgumentPart part; readPart(each, part))
      tensor.parts.push_back(std::move(part));
    else
      return false;
  return true;
}

/// Whether the parts are the cells of one grid over the tensor, each of another
/// rank, in whose file it has the tensor's name.
static bool isTiled(const CheckpointTensor &tensor) {
  const size_t rank = tensor.shape.size();
  if (tensor.parts.empty())
    return std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0;
  std::vector<std::set<uint64_t>> cuts(rank);
  std::set<std::vector<uint64_t>> cells;
  std::set<uint32_t> ranks;
  for (const ArgumentPart &part : tensor.parts) {
    if (part.first.size() != rank || part.size.size() != rank ||
        !cells.insert(part.first).second || !ranks.insert(part.rank).second)
      return false;
    for (size_t d = 0; d < rank; ++d)
      cuts[d].insert(part.first[d]);
  }
  uint64_t count = 1;
  for (const std::set<uint64_t> &each : cuts)
    if (__builtin_mul_overflow(count, each.size(), &count))
      return false;
  if (count != cells.size())
    return false;
  for (const ArgumentPart &part : tensor.parts)
    for (size_t d = 0; d < rank; ++d) {
      const auto next = cuts[d].upper_bound(part.first[d]);
      const uint64_t end = next == cuts[d].end() ? tensor.shape[d] : *next;
      if (end <= part.first[d] || part.size[d] != end - part.first[d] ||
          *cuts[d].begin() != 0)
        return false;
    }
  return true;
}

Expected<CheckpointIndex> pprt::host::parseIndex(const std::string &name,
                                                 const std::string &text) {
  const auto malformed = [&](const std::string &expected) {
    return Status(ExitCode::badParameters,
                  name + ": expects " + expected +
                      "; it is no index of a checkpoint, or a damaged one");
  };
  Json json = parseStrictly<Json>(text, /*maxDepth=*/6);
  if (!json.is_object() || fieldOf(json, "format") != kFormat)
    return malformed(std::string("a JSON object of format \"") + kFormat +
                     "\"");
  if (fieldOf(json, "version") != kVersion)
    return Status(ExitCode::badParameters,
                  name + ": expects version " + std::to_string(kVersion) +
                      " of the format, got " +
                      dumpJson(fieldOf(json, "version")) +
                      "; another version of pp wrote it");
  const Json written = fieldOf(json, "xxh3");
  json.erase("xxh3");
  if (written != digestOfRest(json))
    return malformed("its digest");
  CheckpointIndex index;
  uint64_t fingerprint = 0;
  if (!read(fieldOf(json, "step"), index.step) ||
      !read(fieldOf(json, "seed"), index.seed) ||
      !read(fieldOf(json, "id"), index.id) ||
      !read(fieldOf(json, "plan"), index.plan) ||
      !read(fieldOf(json, "data"), index.data) ||
      !read(fieldOf(json, "data_fingerprint"), fingerprint) ||
      fingerprint > UINT32_MAX ||
      !read(fieldOf(json, "metrics_digest"), index.metricsDigest) ||
      !fieldOf(json, "inputs").is_object() ||
      !fieldOf(json, "tensors").is_object())
    return malformed("step, seed, id, plan, data, data_fingerprint, "
                     "metrics_digest, inputs and tensors");
  (void)read(fieldOf(json, "model"), index.model); // which may lack
  for (const auto &item : fieldOf(json, "inputs").items())
    if (!read(item.value(), index.inputs[item.key()]))
      return malformed("a shape of '" + item.key() + "'");
  index.dataFingerprint = uint32_t(fingerprint);
  for (const auto &item : fieldOf(json, "tensors").items()) {
    CheckpointTensor tensor;
    if (!readTensor(item.value(), tensor))
      return malformed("element, shape, of_model and parts for '" + item.key() +
                       "'");
    if (!denseBytes(tensor.shape, elementSize(tensor.element)) ||
        !isTiled(tensor))
      return malformed("parts that tile " + printShape(tensor.shape) +
                       " for '" + item.key() + "'");
    index.tensors.emplace(item.key(), std::move(tensor));
  }
  return index;
}

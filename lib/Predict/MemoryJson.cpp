//===- MemoryJson.cpp - a memory report as JSON ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The keys of `memory` are those of a run's report (pprt/host/Report.h).
//
//===----------------------------------------------------------------------===//
#include "host/Json.h"
#include "pp/Predict/MemoryReport.h"

using namespace pp::predict;
using namespace pprt;
using Json = nlohmann::ordered_json;

static constexpr int kVersion = 1;

static Json describeUse(const ProgramMemory &memory) {
  const MemoryUse &use = memory.use;
  return {{"predicted_peak_bytes", use.peak},
          {"parameters", use.parameters},
          {"gathered", use.gathered},
          {"gradients", use.gradients},
          {"optimizer", use.optimizer},
          {"activations", use.activations},
          {"inputs_in_activations", memory.bytesOf(ppx::SlotClass_input)},
          {"workspace", use.workspace},
          {"communication", use.communication},
          {"staging", use.staging},
          {"alignment", memory.unused.alignment},
          {"fragmentation", memory.unused.fragmentation()},
          {"fragmentation_for_messages", memory.unused.messages},
          {"fragmentation_for_workspaces", memory.unused.workspaces},
          {"shared", memory.shared}};
}

static Json describePeak(const ProgramMemory &memory) {
  return {{"instruction", memory.peak},
          {"action", memory.peakAction},
          {"op", memory.peakOp},
          {"at", memory.peakPlace}};
}

static Json describeShares(const std::vector<MemoryShare> &shares) {
  Json json = Json::array();
  for (const MemoryShare &share : shares)
    json.push_back({{"name", share.name},
                    {"bytes", share.bytes},
                    {"values", share.values}});
  return json;
}

static Json describeValues(const std::vector<LiveValue> &values) {
  Json json = Json::array();
  for (const LiveValue &value : values)
    json.push_back(
        {{"slot", value.slot},
         {"class", ppx::EnumNameSlotClass(value.slotClass)},
         {"bytes", value.bytes},
         {"name", value.name},
         {"op", value.op},
         {"type", value.type},
         {"why", value.reason},
         {"until", value.until.empty() ? Json() : Json(value.until)}});
  return json;
}

static Json describeCurve(const ProgramMemory &memory) {
  Json json = Json::object();
  for (const MemoryClass &its : kMemoryClasses) {
    Json &bytes = json[ppx::EnumNameSlotClass(its.slotClass)] = Json::array();
    for (const ClassBytes &all : memory.curve)
      bytes.push_back(all[its.slotClass]);
  }
  return json;
}

static Json describeParts(const std::vector<BodyPart> &parts) {
  Json json = Json::array();
  for (const BodyPart &part : parts)
    json.push_back(
        {{"action", part.name}, {"first", part.first}, {"end", part.end}});
  return json;
}

std::string pp::predict::memoryJson(const MemoryReport &report) {
  Json json = {{"version", kVersion}, {"programs", Json::array()}};
  for (const ProgramMemory &memory : report)
    json["programs"].push_back({{"name", memory.name},
                                {"ranks", memory.ranks},
                                {"memory", describeUse(memory)},
                                {"peak", describePeak(memory)},
                                {"layers", describeShares(memory.layers)},
                                {"ops", describeShares(memory.ops)},
                                {"values", describeValues(memory.values)},
                                {"actions", describeParts(memory.parts)},
                                {"curve", describeCurve(memory)}});
  return host::dumpJson(json) + "\n";
}

//===- Durations.cpp - how long instructions take -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/Durations.h"
#include "host/Json.h"
#include "pp/Predict/PlanText.h"
#include "pp/Predict/Prediction.h"
#include "pprt/Files.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

using namespace pp::predict;
using namespace pprt;
using Json = nlohmann::json;

/// A trace has a line of 200 bytes for each instruction of each step.
static constexpr uint64_t kMostBytes = uint64_t(4) << 30;

static bool computes(const ppx::InstructionT &instruction) {
  return instruction.opcode == ppx::Opcode_run ||
         instruction.opcode == ppx::Opcode_gate;
}

/// The action without its micro-batch.
static std::string keyOf(const ppx::InstructionT &instruction) {
  return std::to_string(instruction.stage) + phaseLetter(instruction.phase);
}

/// The same of a slice's name, such as `3F12 matmul_4`; empty for others.
static std::string keyOf(const std::string &action) {
  const size_t letter = action.find_first_not_of("0123456789");
  return letter == 0 || letter == std::string::npos
             ? ""
             : action.substr(0, letter + 1);
}

/// A plan without what a run with the same stages may have otherwise.
static std::map<std::string, std::string>
withoutOrder(const std::string &plan) {
  std::map<std::string, std::string> keys = keysOfPlan(plan);
  for (const char *key : {"schedule", "links", "rates", "chunks"})
    keys.erase(key);
  return keys;
}

namespace {

/// Adds the kernels of a trace up to actions.
class TraceReader {
public:
  explicit TraceReader(const Json &events) : events(events) {}

  /// Fails with what is wrong with a slice.
  Expected<std::map<std::string, double>> read();

private:
  static bool isSlice(const Json &event);
  static const Json &timeOf(const Json &event);
  static bool isOutOfRange(const Json &event);
  /// How many steps have begun at a time.
  size_t stepAt(double microseconds) const {
    return size_t(std::upper_bound(steps.begin(), steps.end(), microseconds) -
                  steps.begin());
  }

  const Json &events;
  std::vector<double> steps;
};

bool TraceReader::isSlice(const Json &event) {
  return event.is_object() && event.value("ph", "") == "X" &&
         event.contains("name") && event["name"].is_string() &&
         event.contains("cat") && event["cat"].is_string() &&
         event.contains("ts") && event["ts"].is_number() &&
         event.contains("dur") && event["dur"].is_number() &&
         event.contains("pid") && event["pid"].is_number_integer();
}

/// Of ranks that share cores the processor's time: the rest they wait for one.
const Json &TraceReader::timeOf(const Json &event) {
  const auto processor = event.find("tdur");
  return processor != event.end() && processor->is_number() ? *processor
                                                            : event["dur"];
}

/// Whether a kernel takes no time, less, or more than a year.
bool TraceReader::isOutOfRange(const Json &event) {
  const double microseconds = timeOf(event).get<double>();
  return !(microseconds >= 0 && microseconds < 3e13);
}

Expected<std::map<std::string, double>> TraceReader::read() {
  for (const Json &event : events)
    if (isSlice(event) && event["cat"] == "step")
      steps.push_back(event["ts"].get<double>());
  std::sort(steps.begin(), steps.end());
  // Of a rank, a step and an action with its micro-batch.
  std::map<std::tuple<int64_t, size_t, std::string>, double> sums;
  for (const Json &event : events) {
    if (!isSlice(event))
      continue;
    const std::string category = event["cat"].get<std::string>(),
                      name = event["name"].get<std::string>();
    if (category == "communication" || category == "host" ||
        keyOf(name).empty())
      continue;
    if (isOutOfRange(event))
      return Status(ExitCode::io, "expects a time from 0 on for '" + name +
                                      "', got " + timeOf(event).dump() + " us");
    sums[{event["pid"].get<int64_t>(), stepAt(event["ts"].get<double>()),
          name.substr(0, name.find(' '))}] += timeOf(event).get<double>() / 1e6;
  }
  std::map<std::string, std::vector<double>> all;
  for (const auto &[at, seconds] : sums)
    all[keyOf(std::get<2>(at))].push_back(seconds);
  std::map<std::string, double> medians;
  for (auto &[key, seconds] : all) {
    const auto middle = seconds.begin() + ptrdiff_t(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    medians[key] = *middle;
  }
  return medians;
}

} // namespace

Expected<ActionSeconds> ActionSeconds::read(const std::string &path) {
  Expected<std::string> text = readFile(path, kMostBytes);
  if (!text)
    return text.status();
  const Json json = host::parseStrictly<Json>(*text, /*maxDepth=*/8);
  if (json.is_discarded())
    return Status(ExitCode::io,
                  path + ": expects a trace as JSON, got other text, or only a "
                         "part of one");
  const Json *events = &json;
  if (json.is_object() && json.contains("traceEvents"))
    events = &json["traceEvents"];
  ActionSeconds result;
  result.path = path;
  if (json.is_object() && json.contains("otherData") &&
      json["otherData"].is_object())
    for (auto [key, field] :
         {std::pair("model", &result.model), std::pair("plan", &result.plan)})
      if (const auto found = json["otherData"].find(key);
          found != json["otherData"].end() && found->is_string())
        *field = found->get<std::string>();
  if (events->is_array()) {
    Expected<std::map<std::string, double>> read = TraceReader(*events).read();
    if (!read)
      return Status(read.status().code(),
                    path + ": " + std::string(read.status().message()));
    result.seconds = std::move(*read);
  }
  if (result.seconds.empty())
    return Status(ExitCode::io, path + ": expects a trace of pp-run --trace, "
                                       "with slices such as 0F0, got none");
  return result;
}

std::optional<double> ActionSeconds::find(const std::string &action) const {
  const auto found = seconds.find(action);
  return found == seconds.end() ? std::nullopt : std::optional(found->second);
}

Durations::Durations(const ppx::ArtifactT &artifact, const Mesh &mesh)
    : artifact(&artifact), mesh(&mesh), topology(topologyOf(artifact)) {}

std::map<std::string, double> Durations::sumActions() const {
  std::map<std::string, double> result;
  for (const auto &program : artifact->programs) {
    std::map<std::string, double> sums;
    std::map<std::string, std::set<int32_t>> microBatches;
    for (const Instruction instruction :
         InstructionList(*program, Section::body))
      if (computes(*instruction)) {
        sums[keyOf(*instruction)] += of(instruction);
        microBatches[keyOf(*instruction)].insert(instruction.microBatch());
      }
    for (const auto &[key, seconds] : sums) {
      double &most = result[key];
      most = std::max(most, seconds / double(microBatches[key].size()));
    }
  }
  return result;
}

Expected<Durations> Durations::create(const ppx::ArtifactT &artifact,
                                      const Mesh &mesh,
                                      const ActionSeconds &measured) {
  if (!measured.model.empty() && !artifact.model.empty() &&
      measured.model != artifact.model)
    return Status(ExitCode::usage, "--durations expects a run of this model, "
                                   "got one of another in " +
                                       measured.path);
  Durations result(artifact, mesh);
  result.name = "kernel times of " + measured.path;
  if (withoutOrder(measured.plan) != withoutOrder(artifact.plan))
    result.name += " (whose plan is another one, not only in its schedule)";
  const std::map<std::string, double> modelled = result.sumActions();
  auto modelOf = [&](const std::string &key) {
    const auto found = modelled.find(key);
    return found == modelled.end() ? 0 : found->second;
  };
  const auto refuse = [](const std::string &what) {
    return Status(ExitCode::usage,
                  "--durations expects a run with the same stages, got one " +
                      what +
                      "; give both plans the same pp, chunks and cuts (a "
                      "searched schedule chooses chunks that the plan does not "
                      "say)");
  };
  for (const auto &[key, seconds] : measured.seconds)
    if (key.back() == 'F' && !modelled.count(key))
      return refuse("with " + key);
  for (const auto &[key, seconds] : modelled) {
    const std::string stage = key.substr(0, key.size() - 1);
    std::optional<double> took = measured.find(key);
    double model = seconds;
    // Both gradients are one action in one of the two, and two in the other.
    const std::string backward = stage + 'B', weight = stage + 'W';
    if ((key == backward || key == weight) &&
        measured.find(weight).has_value() != (modelOf(weight) > 0)) {
      model = modelOf(backward) + modelOf(weight);
      took = measured.find(backward);
      if (const std::optional<double> more = measured.find(weight))
        took = took.value_or(0) + *more;
    }
    const bool isAction =
        key == stage + 'F' || key == backward || key == weight;
    if (!took && isAction)
      return refuse("without " + key);
    if (took && model > 0)
      result.factors[key] = *took / model;
  }
  return result;
}

double Durations::of(const Instruction &instruction) const {
  const double seconds = secondsOf(*artifact, *mesh, instruction, topology);
  if (!computes(*instruction))
    return seconds;
  const auto factor = factors.find(keyOf(*instruction));
  return factor == factors.end() ? seconds : seconds * factor->second;
}

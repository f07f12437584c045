//===- Report.cpp - What a run measured -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Non-finite numbers become null, as JSON has no other way.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Report.h"

#include "Json.h"
#include "pprt/Files.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace pprt::host;
using Json = nlohmann::ordered_json;

static constexpr int reportVersion = 3;

double pprt::host::quantile(std::vector<double> values, double q) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double position = q * static_cast<double>(values.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, values.size() - 1);
  double weight = position - static_cast<double>(below);
  return values[below] + weight * (values[above] - values[below]);
}

/// A metric of one element is a number.
template <typename T> static void addMetrics(Json &json, const T &report) {
  for (const auto &[name, values] : report.metrics)
    json["metrics"][name] =
        values.size() == 1 ? Json(values.front()) : Json(values);
  json["ms"] = report.ms;
}

static Json toJson(const EvaluationReport &evaluation) {
  Json json = {{"loss", evaluation.loss}};
  addMetrics(json, evaluation);
  return json;
}

static Json toJson(const StepReport &step) {
  Json json = {{"step", step.step}, {"loss", step.loss}};
  addMetrics(json, step);
  if (step.itemsPerSecond > 0)
    json["items_per_s"] = step.itemsPerSecond;
  if (step.residentBytes > 0)
    json["rss_bytes"] = step.residentBytes;
  if (step.evaluation)
    json["eval"] = toJson(*step.evaluation);
  return json;
}

std::string pprt::host::printEvaluation(uint64_t step,
                                        const EvaluationReport &evaluation) {
  return dumpJson(Json{{"step", step}, {"eval", toJson(evaluation)}});
}

pprt::Expected<std::string>
pprt::host::addEvaluation(const std::string &line,
                          const EvaluationReport &evaluation) {
  Json json = parseStrictly<Json>(line, /*maxDepth=*/4);
  if (!json.is_object())
    return Status(ExitCode::badParameters,
                  "expects a line of --metrics, got '" + line.substr(0, 80) +
                      "'");
  json["eval"] = toJson(evaluation);
  return dumpJson(json);
}

std::string pprt::host::printStep(const StepReport &step) {
  return dumpJson(toJson(step));
}

/// A number; what is not finite was written as null.
static double readNumber(const Json &json) {
  return json.is_number() ? json.get<double>()
                          : std::numeric_limits<double>::quiet_NaN();
}

/// Reads what addMetrics() wrote.
template <typename T> static void readMetrics(const Json &json, T &report) {
  report.loss = readNumber(json.value("loss", Json()));
  report.ms = readNumber(json.value("ms", Json()));
  const Json metrics = json.value("metrics", Json::object());
  for (const auto &[name, values] : metrics.items()) {
    std::vector<double> elements;
    if (values.is_array())
      for (const Json &value : values)
        elements.push_back(readNumber(value));
    else
      elements.push_back(readNumber(values));
    report.metrics.emplace_back(name, std::move(elements));
  }
}

pprt::Expected<StepReport> pprt::host::parseStep(const std::string &line) {
  const Json json = parseStrictly<Json>(line, /*maxDepth=*/4);
  if (!json.is_object() || !json.contains("step") ||
      !json["step"].is_number_unsigned() || !json.contains("loss"))
    return Status(ExitCode::badParameters,
                  "expects a line of --metrics, got '" + line.substr(0, 80) +
                      "'");
  StepReport step;
  step.step = json["step"].get<uint64_t>();
  readMetrics(json, step);
  if (const Json eval = json.value("eval", Json()); eval.is_object())
    readMetrics(eval, step.evaluation.emplace());
  if (const Json items = json.value("items_per_s", Json()); items.is_number())
    step.itemsPerSecond = items.get<double>();
  if (const Json bytes = json.value("rss_bytes", Json());
      bytes.is_number_unsigned())
    step.residentBytes = bytes.get<uint64_t>();
  return step;
}

std::optional<double> pprt::host::findMetric(const StepReport &step,
                                             std::string_view name) {
  for (const auto &[metric, values] : step.metrics)
    if (metric == name && !values.empty())
      return values.front();
  return std::nullopt;
}

using Scalars = std::vector<std::pair<std::string, double>>;

template <typename T>
static void addScalars(Scalars &scalars, const std::string &prefix,
                       const T &report) {
  scalars.emplace_back(prefix + "loss", report.loss);
  for (const auto &[name, values] : report.metrics)
    for (size_t i = 0; i < values.size(); ++i)
      scalars.emplace_back(
          prefix + (values.size() == 1 ? name : name + "/" + std::to_string(i)),
          values[i]);
}

Scalars pprt::host::scalarsOf(const StepReport &step) {
  Scalars scalars;
  addScalars(scalars, "", step);
  if (step.evaluation)
    addScalars(scalars, "eval/", *step.evaluation);
  scalars.emplace_back("ms", step.ms);
  if (step.itemsPerSecond > 0)
    scalars.emplace_back("items_per_s", step.itemsPerSecond);
  if (step.residentBytes > 0)
    scalars.emplace_back("rss_bytes", double(step.residentBytes));
  return scalars;
}

static Json toJson(const MemoryReport &memory) {
  const pprt::MemoryUse &use = memory.predicted;
  Json json = {{"rank", memory.rank}, {"predicted_peak_bytes", use.peak}};
  json["measured_peak_bytes"] =
      memory.measuredPeak ? Json(*memory.measuredPeak) : Json();
  json.update({{"parameters", use.parameters},
               {"gathered", use.gathered},
               {"gradients", use.gradients},
               {"optimizer", use.optimizer},
               {"activations", use.activations},
               {"workspace", use.workspace},
               {"communication", use.communication},
               {"staging", use.staging}});
  return json;
}

static Json toJson(const pprt::DeviceMemory &memory) {
  Json json = {{"ranks", memory.ranks}, {"lines", Json::array()}};
  for (const pprt::MemoryLine &line : memory.lines)
    json["lines"].push_back(
        {{"name", line.name},
         {"predicted_bytes", line.predicted ? Json(*line.predicted) : Json()},
         {"measured_bytes", line.measured ? Json(*line.measured) : Json()},
         {"origin", line.origin}});
  return json;
}

/// By kind, and then by kind and axes.
static Json toJson(const CommunicationReport &communication) {
  Json json = {{"rank", communication.rank}};
  Json byAxes = Json::array();
  for (const pprt::Traffic &traffic : communication.traffic) {
    const std::string kind = communicationName(traffic.kind);
    const std::pair<const char *, uint64_t> amounts[] = {
        {"count", traffic.count},
        {"bytes", traffic.bytes},
        {"wire_bytes", traffic.wireBytes}};
    byAxes.push_back({{"kind", kind}, {"axes", traffic.axes}});
    for (const auto &[key, amount] : amounts) {
      Json &sum = json[kind][key];
      sum = amount + (sum.is_null() ? 0 : sum.get<uint64_t>());
      byAxes.back()[key] = amount;
    }
  }
  json["by_axes"] = byAxes;
  return json;
}

static Json toJson(const std::optional<double> &value) {
  return value ? Json(*value) : Json();
}

static Json bubbleOf(const pprt::RankTimes &times) {
  return toJson(times.bubble());
}

static Json travelOf(const pprt::RankTimes &times) {
  return {{"exposed", 1e3 * times.exposed}, {"hidden", 1e3 * times.hidden}};
}

/// What `figure` says of all ranks, and of each.
static Json toJson(const TimesReport &times,
                   Json (*figure)(const pprt::RankTimes &)) {
  Json json = {{"predicted", figure(times.predicted)},
               {"measured", times.measured ? figure(*times.measured) : Json()},
               {"ranks", Json::array()}};
  for (size_t rank = 0; rank < times.predictedOf.size(); ++rank)
    json["ranks"].push_back({{"rank", rank},
                             {"predicted", figure(times.predictedOf[rank])},
                             {"measured", rank < times.measuredOf.size()
                                              ? figure(times.measuredOf[rank])
                                              : Json()}});
  return json;
}

static Json toJson(const StageReport &stage) {
  return {{"name", stage.name},
          {"ranks", stage.ranks},
          {"parameters", stage.parameters},
          {"compute_ms", stage.computeMs},
          {"schedule", stage.schedule},
          {"sets_in_flight", stage.setsInFlight}};
}

std::string pprt::host::printReport(const Report &report) {
  Json json = {{"version", reportVersion},
               {"world", report.world},
               {"threads_per_rank",
                report.threadsPerRank ? Json(report.threadsPerRank) : Json()},
               {"device", report.device},
               {"oversubscribed", report.isOversubscribed
                                      ? Json(*report.isOversubscribed)
                                      : Json()}};
  json["steps"] = Json::array();
  std::vector<double> times, withData;
  for (const StepReport &step : report.steps) {
    json["steps"].push_back(toJson(step));
    json["steps"].back()["data_ms"] = step.dataMs;
    times.push_back(step.ms);
    withData.push_back(step.ms + step.dataMs);
  }
  if (times.size() > 1) {
    times.erase(times.begin());
    withData.erase(withData.begin());
  }
  if (report.evaluation)
    json["eval"] = toJson(*report.evaluation);
  json["step_ms"] = {{"median", Json()}, {"p95", Json()}};
  json["items_per_s"] = Json();
  if (!times.empty()) {
    json["step_ms"] = {{"median", quantile(times, 0.5)},
                       {"p95", quantile(times, 0.95)}};
    if (const double median = quantile(withData, 0.5); median > 0)
      json["items_per_s"] =
          1000.0 * static_cast<double>(report.itemsPerStep) / median;
  }
  if (report.checkpointNeeds)
    json["checkpoint"] = {
        {"bytes", report.checkpointNeeds->bytes},
        {"largest_copy_bytes", report.checkpointNeeds->largestCopy}};
  for (const CheckpointReport &checkpoint : report.checkpoints)
    json["checkpoints"].push_back({{"step", checkpoint.step},
                                   {"wait_ms", checkpoint.waitMs},
                                   {"whole_ms", toJson(checkpoint.wholeMs)}});
  json["start_ms"] = report.startMs;
  json["compile_ms"] = {{"total", report.compileMs},
                        {"passes", report.passesMs},
                        {"kernels", report.kernelsMs}};
  json["memory"] = Json::array();
  for (const MemoryReport &memory : report.memory)
    json["memory"].push_back(toJson(memory));
  for (const DeviceMemory &memory : report.deviceMemory)
    json["device_memory"].push_back(toJson(memory));
  for (const UnfusedProduct &product : report.unfusedProducts)
    json["unfused_products"].push_back(
        {{"kernel", product.kernel}, {"reason", product.reason}});
  json["communication"] = Json::array();
  for (const CommunicationReport &communication : report.communication)
    json["communication"].push_back(toJson(communication));
  json["bubble"] = toJson(report.times, bubbleOf);
  json["communication_ms"] = toJson(report.times, travelOf);
  json["clock_error_ms"] =
      report.clockError ? Json(1e3 * *report.clockError) : Json();
  json["predicted_step_ms"] = report.predictedStepMs;
  json["critical_path"] = Json::array();
  for (const pprt::PathPart &part : report.criticalPath)
    json["critical_path"].push_back(
        {{"stage", part.stage ? Json(*part.stage) : Json()},
         {"kind", part.kind},
         {"ms", 1e3 * part.seconds}});
  json["cuts"] = report.cuts;
  json["stages"] = Json::array();
  for (const StageReport &stage : report.stages)
    json["stages"].push_back(toJson(stage));
  if (report.verify)
    json["verify"] = {
        {"ok", report.verify->ok},
        {"class", report.verify->errorClass},
        {"judge", report.verify->judge},
        {"loss", toJson(report.verify->loss)},
        {"gradients", toJson(report.verify->gradients)},
        {"parameters", toJson(report.verify->parameters)},
        {"parameters_by_learning_rate", report.verify->byLearningRate},
        {"states", toJson(report.verify->states)},
        {"metrics", toJson(report.verify->metrics)}};
  return dumpJson(json, /*indent=*/2) + "\n";
}

pprt::Status pprt::host::writeReport(const std::string &path,
                                     const Report &report) {
  const std::string text = printReport(report);
  return pprt::writeFile(path, text.data(), text.size());
}

//===- OutputTest.cpp - Reports, traces, progress -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Output of a run, on made-up figures: keys and their units, lines that fit.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Metrics.h"
#include "pprt/host/ProgressLine.h"
#include "pprt/host/Report.h"
#include "pprt/host/Trace.h"

#include "TestFiles.h"

#include <cmath>
#define JSON_NOEXCEPTION // as in the library
#include <nlohmann/json.hpp>
#include <sstream>

using namespace pprt::host;
using Json = nlohmann::json;

static Json parse(const std::string &text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

TEST(Report, HasTheKeysOfItsVersion) {
  Report report;
  report.world = 8;
  report.threadsPerRank = 3;
  report.isOversubscribed = true;
  report.itemsPerStep = 100;
  // The first step is slow: it is reported, but not part of the statistics.
  report.steps = {{1, 5.5, 900},
                  {2, 5.25, 10, {}, 5},
                  {3, 5.0, 20, {}, 5},
                  {4, 4.75, 30, {{"accuracy", {0.5}}}, 20}};
  report.checkpoints = {{2, 1.5, 20.0}, {4, 2.5}};
  report.checkpointNeeds = pprt::host::CheckpointNeeds{300, 200};
  report.startMs = 4;
  report.compileMs = 3;
  report.passesMs = 1;
  report.kernelsMs = 2;
  report.memory = {{0, {100, 10, 20, 30, 40, 0, 0}, 100}};
  using pprt::CommunicationKind;
  report.communication = {
      {0,
       {{CommunicationKind::all_reduce, {"tp"}, 2, 64, 96},
        {CommunicationKind::all_reduce, {"dp", "tp"}, 1, 4, 6},
        {CommunicationKind::send, {"pp"}, 3, 12, 12}}}};
  report.times.predicted = {4, 1, 0.5, 0.25};
  report.times.measured = {{4, 2, 0.75, 0.125}};
  report.times.predictedOf = {{0, 5, 1, 0}, {4, 6, 0, 0.5}};
  report.times.measuredOf = {{1, 3, 0, 0}, {5, 0, 0, 0}};
  report.clockError = 0.25e-3;
  report.predictedStepMs = 12;
  report.criticalPath = {{0, "B", 8e-3}, {{}, "transfers", 4e-3}};
  report.cuts = {7};
  report.stages = {{"stage0", {0, 1}, {"w", "b"}, 1.5, "0F0 0B0", 1}};
  report.verify = VerifyReport{true,  "exact", "interpreter", 1e-12,
                               2e-12, 3e-12,   std::nullopt,  5e-12};
  EXPECT_EQ(parse(printReport(report)), parse(R"({
    "version": 3, "world": 8, "threads_per_rank": 3, "device": "cpu", "oversubscribed": true,
    "steps": [{"step": 1, "loss": 5.5, "ms": 900.0, "data_ms": 0.0},
              {"step": 2, "loss": 5.25, "ms": 10.0, "data_ms": 5.0},
              {"step": 3, "loss": 5.0, "ms": 20.0, "data_ms": 5.0},
              {"step": 4, "loss": 4.75, "metrics": {"accuracy": 0.5}, "ms": 30.0,
               "data_ms": 20.0}],
    "step_ms": {"median": 20.0, "p95": 29.0},
    "items_per_s": 4000.0,
    "checkpoint": {"bytes": 300, "largest_copy_bytes": 200},
    "checkpoints": [{"step": 2, "wait_ms": 1.5, "whole_ms": 20.0},
                    {"step": 4, "wait_ms": 2.5, "whole_ms": null}],
    "start_ms": 4.0,
    "compile_ms": {"total": 3.0, "passes": 1.0, "kernels": 2.0},
    "memory": [{"rank": 0, "predicted_peak_bytes": 100,
                "measured_peak_bytes": 100, "parameters": 10,
                "gathered": 0, "gradients": 20,
                "optimizer": 30, "activations": 40, "workspace": 0,
                "communication": 0, "staging": 0}],
    "communication": [{"rank": 0,
      "all_reduce": {"count": 3, "bytes": 68, "wire_bytes": 102},
      "send": {"count": 3, "bytes": 12, "wire_bytes": 12},
      "by_axes": [
        {"kind": "all_reduce", "axes": ["tp"], "count": 2, "bytes": 64,
         "wire_bytes": 96},
        {"kind": "all_reduce", "axes": ["dp", "tp"], "count": 1, "bytes": 4,
         "wire_bytes": 6},
        {"kind": "send", "axes": ["pp"], "count": 3, "bytes": 12,
         "wire_bytes": 12}]}],
    "bubble": {"predicted": 0.25, "measured": 0.5,
      "ranks": [{"rank": 0, "predicted": null, "measured": 3.0},
                {"rank": 1, "predicted": 1.5, "measured": 0.0}]},
    "communication_ms": {"predicted": {"exposed": 500.0, "hidden": 250.0},
                         "measured": {"exposed": 750.0, "hidden": 125.0},
      "ranks": [{"rank": 0, "predicted": {"exposed": 1000.0, "hidden": 0.0},
                 "measured": {"exposed": 0.0, "hidden": 0.0}},
                {"rank": 1, "predicted": {"exposed": 0.0, "hidden": 500.0},
                 "measured": {"exposed": 0.0, "hidden": 0.0}}]},
    "clock_error_ms": 0.25, "predicted_step_ms": 12.0,
    "critical_path": [{"stage": 0, "kind": "B", "ms": 8.0},
                      {"stage": null, "kind": "transfers", "ms": 4.0}],
    "cuts": [7],
    "stages": [{"name": "stage0", "ranks": [0, 1], "parameters": ["w", "b"],
                "compute_ms": 1.5, "schedule": "0F0 0B0", "sets_in_flight": 1}],
    "verify": {"ok": true, "class": "exact", "judge": "interpreter", "loss": 1e-12,
               "gradients": 2e-12, "parameters": 3e-12,
               "parameters_by_learning_rate": false, "states": null, "metrics": 5e-12}})"));
}

TEST(Report, SaysWhatWasNotMeasured) {
  Report report;
  report.steps = {{1, NAN, 10}};
  report.memory = {{0, {100}, {}}};
  Json json = parse(printReport(report));
  EXPECT_TRUE(json["bubble"]["measured"].is_null());
  EXPECT_TRUE(json["communication_ms"]["measured"].is_null());
  EXPECT_TRUE(json["clock_error_ms"].is_null());
  EXPECT_FALSE(json.contains("verify"));
  EXPECT_TRUE(json["steps"][0]["loss"].is_null());
  EXPECT_TRUE(json["memory"][0]["measured_peak_bytes"].is_null());
  EXPECT_EQ(json["step_ms"]["median"], 10.0);
  const Json none = parse(printReport(Report()));
  EXPECT_TRUE(none["step_ms"]["p95"].is_null());
  EXPECT_TRUE(none["items_per_s"].is_null());
  EXPECT_TRUE(none["oversubscribed"].is_null());
  EXPECT_TRUE(none["threads_per_rank"].is_null());
}

TEST(Report, Quantiles) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2}, 0.5), 1.5);
  EXPECT_EQ(quantile({7}, 0.95), 7);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST_F(FilesTest, TraceHasNamesSlicesAndArrows) {
  Trace trace;
  trace.tracks = {{0, "rank 0", 0, "compute"},
                  {0, "rank 0", 1, "send 0>1"},
                  {1, "rank 1", 0, "recv 0>1"}};
  // Bytes that are not UTF-8 must not stop the run.
  trace.slices = {{0, "0F0", "forward", 0, 10, "mlp\xff", 2e5, 1e4},
                  {1, "0F0 send", "communication", 10, 5, ""},
                  {2, "1F0 recv", "communication", 2, 13.5, ""}};
  trace.arrows = {{1, 2}};
  ASSERT_TRUE(writeTrace(path("t"), trace).ok());
  Json json = parse(get("t"));
  ASSERT_TRUE(json.is_object());
  auto find = [&](const std::string &phase) {
    std::vector<Json> events;
    for (const Json &event : json["traceEvents"])
      if (event["ph"] == phase)
        events.push_back(event);
    return events;
  };
  EXPECT_EQ(find("M").size(), 2u * 2 + 3);
  EXPECT_EQ(find("M")[0]["args"]["name"], "rank 0");
  ASSERT_EQ(find("X").size(), 3u);
  EXPECT_EQ(find("X")[0]["args"]["GFLOP/s"], 20.0);
  EXPECT_EQ(find("X")[0]["args"]["GB/s"], 1.0);
  EXPECT_EQ(find("X")[2], parse(R"({"ph": "X", "name": "1F0 recv", "pid": 1,
      "tid": 0, "cat": "communication", "ts": 2.0, "dur": 13.5})"));
  ASSERT_EQ(find("s").size(), 1u);
  ASSERT_EQ(find("f").size(), 1u);
  EXPECT_EQ(find("s")[0]["ts"], 10.0);
  EXPECT_EQ(find("f")[0]["ts"], 15.5);
  EXPECT_EQ(find("s")[0]["id"], find("f")[0]["id"]);
}

/// Steps of `ms` each, one after another.
static std::string showSteps(ProgressLine::Style style, uint64_t steps,
                             double ms, unsigned columns = 80,
                             const StepReport &like = {0, 1, 0}) {
  std::ostringstream out;
  {
    ProgressLine progress(out, style, 0, steps, 4096, "tokens", columns);
    for (uint64_t step = 1; step <= steps; ++step)
      progress.update({step, like.loss, ms, like.metrics}, ms * double(step));
  }
  return out.str();
}

TEST(ProgressLine, PlainLinesHaveNoControlCodes) {
  std::ostringstream out;
  {
    ProgressLine progress(out, ProgressLine::Style::lines, 0, 2, 4096,
                          "tokens");
    progress.update({1, 5.5, 400, {{"accuracy", {0.25}}, {"norms", {1, 2}}}},
                    400);
    progress.update({2, 5.25, 410}, 810);
  }
  EXPECT_EQ(out.str(), "step 1/2 loss 5.5000 | 400.0 ms | 10.2k tokens/s | 0s "
                       "left | accuracy 0.25\n"
                       "step 2/2 loss 5.2500 | 410.0 ms | 9.99k tokens/s\n");
}

// A line of its own for each evaluation; a bar keeps the last one.
TEST(ProgressLine, ShowsEvaluations) {
  for (auto style : {ProgressLine::Style::lines, ProgressLine::Style::bar}) {
    std::ostringstream out;
    {
      ProgressLine progress(out, style, 0, 4, 0, "tokens");
      for (uint64_t step = 1; step <= 4; ++step) {
        StepReport report = {step, 5.5, 1};
        if (step == 2)
          report.evaluation = EvaluationReport{4.25, 10};
        progress.update(report, 60. * double(step));
      }
    }
    if (style == ProgressLine::Style::lines)
      EXPECT_EQ(out.str(), "step 1/4 loss 5.5000 | 1.0 ms | 0s left\n"
                           "step 2/4 loss 5.5000 | eval loss 4.2500 | 1.0 ms | "
                           "0s left\n"
                           "step 4/4 loss 5.5000 | 1.0 ms\n");
    else
      EXPECT_NE(out.str().rfind("eval loss 4.2500"), std::string::npos);
  }
}

TEST(Report, StepsHaveTheirEvaluation) {
  StepReport step = {3, 5.5, 1};
  step.evaluation = EvaluationReport{INFINITY, 2, {{"accuracy", {0.25}}}};
  EXPECT_EQ(printStep(step),
            "{\"step\":3,\"loss\":5.5,\"ms\":1.0,\"eval\":{\"loss\":null,"
            "\"metrics\":{\"accuracy\":0.25},\"ms\":2.0}}");
  EXPECT_EQ(printEvaluation(7, EvaluationReport{1, 2}),
            "{\"step\":7,\"eval\":{\"loss\":1.0,\"ms\":2.0}}");
}

// The wait for a batch is not part of the step's time, but counts.
TEST(ProgressLine, ItemsCountTheTimeOfReading) {
  std::ostringstream out;
  {
    ProgressLine progress(out, ProgressLine::Style::lines, 0, 1, 4096,
                          "tokens");
    StepReport step = {1, 5.5, 400};
    step.dataMs = 1648;
    progress.update(step, 2048);
  }
  EXPECT_EQ(out.str(), "step 1/1 loss 5.5000 | 400.0 ms | 2.00k tokens/s\n");
}

TEST(ProgressLine, PlainLinesComeByTime) {
  auto count = [](uint64_t steps, double ms) {
    const std::string text = showSteps(ProgressLine::Style::lines, steps, ms);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(count(10000, 0.1), 2); // a second: the first and the last
  EXPECT_EQ(count(10000, 10), 11); // 100 s
  EXPECT_EQ(count(20, 7000), 20);  // no two steps fit into ten seconds
  EXPECT_EQ(count(5, 60000), 5);
}

TEST(ProgressLine, BarIsRedrawnInPlace) {
  std::ostringstream out;
  {
    ProgressLine progress(out, ProgressLine::Style::bar, 0, 4, 0, "samples");
    progress.update({1, 2, 100000}, 100000);
    progress.update({2, 1, 10}, 100010); // Too soon to be drawn.
    progress.update({3, 1, 50}, 100060);
    progress.update({4, 0.5, 1}, 100061);
  }
  EXPECT_EQ(out.str(),
            "\rstep 1/4 [#####...............] loss 2.0000 | 100000.0 ms | "
            "5m00s left"
            "\rstep 3/4 [###############.....] loss 1.0000 | 50.0 ms | 33s left"
            "      "
            "\rstep 4/4 [####################] loss 0.5000 | 1.0 ms            "
            "\n");
}

TEST(ProgressLine, KeepsALineForEverySoManySteps) {
  const auto show = [](ProgressLine::Style style, unsigned columns = 80) {
    std::ostringstream out;
    {
      ProgressLine progress(out, style, 0, 5, 0, "samples", columns, 2);
      for (uint64_t step = 1; step <= 5; ++step)
        progress.update({step, 2, 10000}, 10000 * double(step));
    }
    return out.str();
  };
  EXPECT_EQ(show(ProgressLine::Style::lines),
            "step 1/5 loss 2.0000 | 10000.0 ms | 40s left\n"
            "step 2/5 loss 2.0000 | 10000.0 ms | 30s left\n"
            "step 4/5 loss 2.0000 | 10000.0 ms | 10s left\n"
            "step 5/5 loss 2.0000 | 10000.0 ms\n");
  // Above the bar, over the one that was there.
  EXPECT_EQ(
      show(ProgressLine::Style::bar),
      "\rstep 1/5 [####................] loss 2.0000 | 10000.0 ms | 40s left"
      "\rstep 2/5 loss 2.0000 | 10000.0 ms | 30s left                       \n"
      "\rstep 2/5 [########............] loss 2.0000 | 10000.0 ms | 30s left"
      "\rstep 3/5 [############........] loss 2.0000 | 10000.0 ms | 20s left"
      "\rstep 4/5 loss 2.0000 | 10000.0 ms | 10s left                       \n"
      "\rstep 4/5 [################....] loss 2.0000 | 10000.0 ms | 10s left"
      "\rstep 5/5 [####################] loss 2.0000 | 10000.0 ms           "
      "\n");
  // No blanks for the width of the line that stays.
  EXPECT_NE(show(ProgressLine::Style::bar, 34)
                .find("left\n\rstep 4/5 [########..] loss 2.0000\r"),
            std::string::npos)
      << show(ProgressLine::Style::bar, 34);
}

TEST(ProgressLine, BarFitsTheTerminal) {
  const StepReport full = {
      0, 123456.7, 0, {{"accuracy", {0.123456}}, {"grad_norm", {1e-9}}}};
  for (unsigned columns : {8, 20, 30, 40, 60, 80, 100, 200}) {
    std::istringstream text(showSteps(ProgressLine::Style::bar, 1234567 / 10000,
                                      86400000, columns, full));
    std::string line;
    while (std::getline(text, line, '\r'))
      EXPECT_LT(line.substr(0, line.find('\n')).size(), columns) << line;
  }
  const std::string wide =
      showSteps(ProgressLine::Style::bar, 1, 1000, 200, full);
  EXPECT_NE(wide.find("accuracy 0.1235 | grad_norm 1e-09"), std::string::npos)
      << wide;
}

TEST(ProgressLine, QuietSaysNothing) {
  EXPECT_EQ(showSteps(ProgressLine::Style::quiet, 1, 1), "");
}

TEST_F(FilesTest, MetricsAreLinesThatCanBeFollowed) {
  const std::string name = path("metrics");
  put("metrics", "of a run before");
  auto file = MetricsFile::create(name);
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_TRUE(
      (*file)->add({1, 5.5, 2, {{"accuracy", {0.25}}, {"n", {1, 2}}}}).ok());
  EXPECT_EQ(get("metrics"), "{\"step\":1,\"loss\":5.5,\"metrics\":{"
                            "\"accuracy\":0.25,\"n\":[1.0,2.0]},\"ms\":2.0}\n");
  ASSERT_TRUE((*file)->add({2, NAN, 3}).ok());
  EXPECT_NE(get("metrics").find("{\"step\":2,\"loss\":null,\"ms\":3.0}\n"),
            std::string::npos);
  // Another run does not touch them.
  EXPECT_EQ(MetricsFile::create(name).status().code(), pprt::ExitCode::usage);
  EXPECT_NE(get("metrics").find("{\"step\":2,"), std::string::npos);
  EXPECT_EQ(MetricsFile::create(path("no/folder")).status().code(),
            pprt::ExitCode::io);
  auto full = MetricsFile::create("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_EQ((*full)->add({0, 1, 1}).message(),
            "/dev/full: cannot write: No space left on device");
}

TEST_F(FilesTest, MetricsComeBackFromTheirLines) {
  StepReport step = {7, 5.25, 2.5, {{"accuracy", {1. / 3}}, {"n", {1, NAN}}}};
  step.itemsPerSecond = 4096.5;
  step.residentBytes = 12345678;
  const std::string line = printStep(step);
  EXPECT_EQ(line, "{\"step\":7,\"loss\":5.25,\"metrics\":{\"accuracy\":"
                  "0.3333333333333333,\"n\":[1.0,null]},\"ms\":2.5,"
                  "\"items_per_s\":4096.5,\"rss_bytes\":12345678}");
  const auto read = parseStep(line);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(printStep(*read), line);
  // A line of before has less.
  const std::string shorter = printStep({3, NAN, 4});
  EXPECT_EQ(printStep(*parseStep(shorter)), shorter);
  for (const char *text :
       {"", "{", "[]", "{\"step\":1}", "{\"step\":-1,\"loss\":1}",
        "{\"step\":1,\"step\":2,\"loss\":1}"})
    EXPECT_EQ(parseStep(text).status().code(), pprt::ExitCode::badParameters)
        << text;
  EXPECT_EQ(findMetric(step, "n"), 1);
  EXPECT_EQ(findMetric(step, "loss"), std::nullopt);
}

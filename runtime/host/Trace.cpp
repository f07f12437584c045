//===- Trace.cpp - Timelines for Chrome and Perfetto ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The event phases used: M names a process or thread, X is a slice, s and f are
// the ends of an arrow.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Trace.h"

#include "Json.h"
#include "pprt/Files.h"

#include <set>

using namespace pprt::host;
using Json = nlohmann::ordered_json;

static Json makeEvent(const char *phase, const std::string &name,
                      const TraceTrack &track) {
  return {{"ph", phase},
          {"name", name},
          {"pid", track.process},
          {"tid", track.thread}};
}

std::string pprt::host::printTrace(const Trace &trace) {
  std::string text = "{\"displayTimeUnit\": \"ms\", ";
  Json other = Json::object();
  if (!trace.device.empty())
    other["device"] = trace.device;
  if (!trace.model.empty())
    other["model"] = trace.model;
  if (!trace.plan.empty())
    other["plan"] = trace.plan;
  if (!other.empty())
    text += "\"otherData\": " + dumpJson(other) + ", ";
  text += "\"traceEvents\": [";
  bool isFirst = true;
  auto add = [&](const Json &event) {
    text += (isFirst ? "\n" : ",\n") + dumpJson(event);
    isFirst = false;
  };

  std::set<uint32_t> namedProcesses;
  for (const TraceTrack &track : trace.tracks) {
    if (namedProcesses.insert(track.process).second) {
      Json event = makeEvent("M", "process_name", track);
      event["args"] = {{"name", track.processName}};
      add(event);
      // Without it viewers sort processes by name: rank 10 before rank 2.
      event = makeEvent("M", "process_sort_index", track);
      event["args"] = {{"sort_index", track.process}};
      add(event);
    }
    Json event = makeEvent("M", "thread_name", track);
    event["args"] = {{"name", track.threadName}};
    add(event);
  }
  for (const TraceSlice &slice : trace.slices) {
    Json event = makeEvent("X", slice.name, trace.tracks[slice.track]);
    event["cat"] = slice.category;
    event["ts"] = slice.start;
    event["dur"] = slice.duration;
    if (slice.processor)
      event["tdur"] = *slice.processor;
    if (!slice.detail.empty())
      event["args"] = {{"detail", slice.detail}};
    if (slice.flops > 0 && slice.duration > 0)
      event["args"]["GFLOP/s"] = 1e-3 * slice.flops / slice.duration;
    if (slice.bytes > 0 && slice.duration > 0)
      event["args"]["GB/s"] = 1e-3 * slice.bytes / slice.duration;
    add(event);
  }
  for (size_t i = 0; i < trace.arrows.size(); ++i) {
    const TraceSlice &from = trace.slices[trace.arrows[i].from];
    const TraceSlice &to = trace.slices[trace.arrows[i].to];
    // Both ends share name, category and id. `bp: e` ties the head to the slice
    // that encloses it, not to the next one that starts. A sender may notice
    // the transfer last: drawn from its start, the arrow always leads forwards.
    Json tail = makeEvent("s", "transfer", trace.tracks[from.track]);
    tail["cat"] = "transfer";
    tail["id"] = i;
    tail["ts"] = from.start;
    add(tail);
    Json head = makeEvent("f", "transfer", trace.tracks[to.track]);
    head["cat"] = "transfer";
    head["id"] = i;
    head["bp"] = "e";
    head["ts"] = to.start + to.duration;
    add(head);
  }
  return text + "\n]}\n";
}

pprt::Status pprt::host::writeTrace(const std::string &path,
                                    const Trace &trace) {
  const std::string text = printTrace(trace);
  return pprt::writeFile(path, text.data(), text.size());
}

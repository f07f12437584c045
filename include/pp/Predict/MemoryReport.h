//===- MemoryReport.h - what fills the memory of a rank ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed the checks, with its prediction. Out: for the
// ranks of each program, what lies in the arena over a step, and at the peak
// each value with its place in the model and the reason why it is kept. The
// figures are those of pprt/MemoryUse.h, and add up to the predicted peak.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_MEMORYREPORT_H
#define PP_PREDICT_MEMORYREPORT_H

#include "pp/Predict/Prediction.h"

#include <array>
#include <string>
#include <vector>

namespace pp::predict {

/// A value that is live at the peak.
struct LiveValue {
  uint32_t slot = 0;
  pprt::ppx::SlotClass slotClass = pprt::ppx::SlotClass_activation;
  uint64_t bytes = 0;
  /// Of an argument its name, of other values their place: `h.0.attn`.
  std::string name;
  /// What made it: `matmul_3`, `all_gather`. Empty for what lives between
  /// steps.
  std::string op;
  /// `8x16x32xf32`.
  std::string type;
  /// Why it is kept: `read by backward of h.0.attn`.
  std::string reason;
  /// The action that reads it last: `0B3`. Empty if none does.
  std::string until;
};

/// Bytes of activations of one layer, or of one op in all layers.
struct MemoryShare {
  std::string name;
  uint64_t bytes = 0, values = 0;
};

/// Bytes by pprt::ppx::SlotClass.
using ClassBytes = std::array<uint64_t, pprt::ppx::SlotClass_MAX + 1>;

/// Instructions [first, end) of a body, which belong to one action: `0F3`.
struct BodyPart {
  pprt::ppx::Phase phase = pprt::ppx::Phase_prologue;
  std::string name;
  size_t first = 0, end = 0;
};

/// Bytes of the arena that no live value needs.
struct UnusedBytes {
  /// Sizes of live values, rounded up to the alignment of slots.
  uint64_t alignment = 0;
  /// Places of messages and of workspaces that are not in use, and all other
  /// bytes between values.
  uint64_t messages = 0, workspaces = 0, gaps = 0;

  uint64_t fragmentation() const { return messages + workspaces + gaps; }
};

/// Ranks of one program with equal memory.
struct ProgramMemory {
  std::string name;
  std::vector<uint32_t> ranks;
  /// As in the prediction. `use.peak` is the sum of `live`, `unused` and
  /// `use.staging`, less `shared`.
  pprt::MemoryUse use;
  uint64_t live = 0;
  UnusedBytes unused;
  /// Bytes that count more than once, as several live values lie there.
  uint64_t shared = 0;

  /// The instruction of the body at the peak, its action, what it runs, and its
  /// place in the model.
  size_t peak = 0;
  std::string peakAction, peakOp, peakPlace;
  /// At the peak; the largest first.
  std::vector<LiveValue> values;
  /// Shares of the activations among these.
  std::vector<MemoryShare> layers, ops;

  /// Live bytes by instruction of the body.
  std::vector<ClassBytes> curve;
  std::vector<BodyPart> parts;

  uint64_t bytesOf(pprt::ppx::SlotClass its) const {
    return curve.empty() ? 0 : curve[peak][its];
  }
};

/// One entry or more for each program, in order.
using MemoryReport = std::vector<ProgramMemory>;

MemoryReport reportMemory(const Prediction &prediction,
                          const pprt::ppx::ArtifactT &artifact);

/// A class as people see it, from the bottom of a drawing to its top.
struct MemoryClass {
  pprt::ppx::SlotClass slotClass;
  char letter;
  const char *name, *fill;
};
extern const std::array<MemoryClass, pprt::ppx::SlotClass_MAX + 1>
    kMemoryClasses;

/// Tables, and plots of about `columns` characters.
std::string printMemory(const MemoryReport &report, unsigned columns = 100);
/// A self-contained SVG document: a plot for each entry.
std::string drawMemory(const MemoryReport &report);
/// All of the report as JSON.
std::string memoryJson(const MemoryReport &report);

/// Files of reports, for messages; and whether the name of a file is such.
constexpr const char *kMemoryFiles = "FILE.svg, FILE.json or FILE.txt";
bool isMemoryFile(const std::string &file);
/// The report as the file's name says; text if the name is empty.
std::string spellMemory(const MemoryReport &report, const std::string &file);

} // namespace pp::predict

#endif // PP_PREDICT_MEMORYREPORT_H

//===- PrintMemory.cpp - a memory report as text --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each class has a letter, of which its bars and its part of the plot are made.
// Equal values of several layers share a row.
//
//===----------------------------------------------------------------------===//
#include "ValueUses.h"
#include "pp/Predict/MemoryReport.h"
#include "pp/Predict/Table.h"
#include "pprt/Bytes.h"
#include "pprt/LayerName.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace pp::predict;
using namespace pprt;

static constexpr size_t kPlotRows = 12, kShares = 8, kValues = 10;
static constexpr size_t kBytesWidth = 8; ///< of `1.25 MiB`

static std::string printRight(uint64_t bytes) {
  const std::string text = printBytes(double(bytes));
  return std::string(kBytesWidth - std::min(kBytesWidth, text.size()), ' ') +
         text;
}

namespace {

/// The rows that add up to the peak. Those below another are parts of it.
class Sums {
public:
  explicit Sums(uint64_t peak) : peak(std::max<uint64_t>(peak, 1)) {}

  void add(char letter, const std::string &name, uint64_t bytes) {
    std::string line = std::string(1, letter) + " " + name;
    line.resize(std::max<size_t>(line.size(), 18), ' ');
    line += "  " + printRight(bytes) + "  ";
    if (letter != ' ')
      line += std::string(
          size_t(std::lround(double(bytes) / double(peak) * double(kBarWidth))),
          letter);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  /// As add(), if there are any.
  void addSome(char letter, const std::string &name, uint64_t bytes) {
    if (bytes)
      add(letter, name, bytes);
  }

  std::string text;

private:
  static constexpr size_t kBarWidth = 60;
  uint64_t peak;
};

} // namespace

static std::string printSums(const ProgramMemory &memory) {
  Sums sums(memory.use.peak);
  for (const MemoryClass &its : kMemoryClasses)
    sums.addSome(its.letter, its.name, memory.bytesOf(its.slotClass));
  sums.addSome(' ', "staging", memory.use.staging);
  sums.addSome(' ', "alignment", memory.unused.alignment);
  sums.addSome(' ', "fragmentation", memory.unused.fragmentation());
  if (memory.unused.fragmentation() != memory.unused.gaps) {
    sums.addSome(' ', "  for messages", memory.unused.messages);
    sums.addSome(' ', "  for workspaces", memory.unused.workspaces);
    sums.addSome(' ', "  between values", memory.unused.gaps);
  }
  sums.addSome(' ', "less, shared", memory.shared);
  sums.add(' ', "peak", memory.use.peak);
  return sums.text;
}

/// The instructions that a column of a plot stands for are shown by the one
/// with the most live bytes.
static const ClassBytes &findColumn(const std::vector<ClassBytes> &curve,
                                    size_t column, size_t columns) {
  const auto total = [](const ClassBytes &bytes) {
    uint64_t sum = 0;
    for (uint64_t its : bytes)
      sum += its;
    return sum;
  };
  const size_t first = column * curve.size() / columns;
  const size_t end = std::max(first + 1, (column + 1) * curve.size() / columns);
  return *std::max_element(curve.begin() + ptrdiff_t(first),
                           curve.begin() + ptrdiff_t(end),
                           [&](const ClassBytes &a, const ClassBytes &b) {
                             return total(a) < total(b);
                           });
}

/// The letters of a column, from the bottom.
static std::string stackLetters(const ClassBytes &bytes, double bytesPerRow) {
  std::string letters;
  double top = 0;
  for (const MemoryClass &its : kMemoryClasses) {
    top += double(bytes[its.slotClass]);
    letters.resize(std::max<size_t>(letters.size(),
                                    size_t(std::lround(top / bytesPerRow))),
                   its.letter);
  }
  return letters;
}

/// Names of actions below the columns of a plot, as far as they fit.
static std::string printParts(const ProgramMemory &memory, size_t columns) {
  std::string line(columns, ' ');
  for (const BodyPart &part : memory.parts) {
    const size_t begin = part.first * columns / memory.curve.size();
    const size_t end = part.end * columns / memory.curve.size();
    if (begin == end)
      continue;
    std::string name = part.name;
    if (name.size() + 1 > end - begin)
      name = part.name.substr(part.name.find_first_not_of("0123456789"), 1);
    name.resize(std::max(name.size(), end - begin - 1), '-');
    name.resize(end - begin, ' ');
    line.replace(begin, end - begin, name);
  }
  return line;
}

static std::string printPlot(const ProgramMemory &memory, unsigned width) {
  if (memory.curve.empty() || memory.live == 0)
    return "";
  const size_t columns = width - kBytesWidth - 2;
  const double bytesPerRow = double(memory.live) / double(kPlotRows);
  std::vector<std::string> rows(kPlotRows, std::string(columns, ' '));
  for (size_t column = 0; column < columns; ++column) {
    const std::string letters =
        stackLetters(findColumn(memory.curve, column, columns), bytesPerRow);
    for (size_t row = 0; row < std::min(letters.size(), kPlotRows); ++row)
      rows[kPlotRows - 1 - row][column] = letters[row];
  }
  const std::string blank(kBytesWidth, ' ');
  std::string text = "live bytes over the instructions of a step\n";
  for (size_t row = 0; row < kPlotRows; ++row) {
    const bool isNamed = row % (kPlotRows / 3) == 0;
    const double bytes = double(kPlotRows - row) * bytesPerRow;
    const std::string line =
        (isNamed ? printRight(uint64_t(bytes)) : blank) + " |" + rows[row];
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += blank + " +" + std::string(columns, '-') + "\n";
  for (std::string line :
       {printParts(memory, columns),
        std::string(memory.peak * columns / memory.curve.size(), ' ') +
            "^ peak"}) {
    line = blank + "  " + line;
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Neighbours with equal bytes share a row: `h.0 to h.10`.
static std::string printLayers(const std::vector<MemoryShare> &layers) {
  Table table({"activations by layer", "bytes", "values", "each"});
  size_t rows = 0;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end].bytes == layers[i].bytes)
      ++end;
    if (rows++ == 2 * kShares) {
      table.add({std::to_string(layers.size() - i) + " more"});
      break;
    }
    uint64_t bytes = 0, values = 0;
    for (size_t j = i; j < end; ++j) {
      bytes += layers[j].bytes;
      values += layers[j].values;
    }
    table.add({layers[i].name + (end > i + 1 ? (end > i + 2 ? " to " : ", ") +
                                                   layers[end - 1].name
                                             : ""),
               printBytes(double(bytes)), std::to_string(values),
               end > i + 1 ? printBytes(double(layers[i].bytes)) : ""});
    i = end;
  }
  return table.print();
}

static std::string printOps(const std::vector<MemoryShare> &ops) {
  Table table({"activations by op", "bytes", "values"});
  for (size_t i = 0; i < std::min(ops.size(), kShares); ++i)
    table.add({ops[i].name, printBytes(double(ops[i].bytes)),
               std::to_string(ops[i].values)});
  uint64_t bytes = 0, values = 0;
  for (size_t i = kShares; i < ops.size(); ++i) {
    bytes += ops[i].bytes;
    values += ops[i].values;
  }
  if (values)
    table.add({std::to_string(ops.size() - kShares) + " more",
               printBytes(double(bytes)), std::to_string(values)});
  return table.print();
}

namespace {

/// Values that differ in their layer only.
struct EqualValues {
  const LiveValue *first;
  uint64_t bytes = 0, count = 0;
};

} // namespace

static std::string printValues(const std::vector<LiveValue> &values) {
  std::vector<EqualValues> groups;
  std::map<std::vector<std::string>, size_t> places;
  for (const LiveValue &value : values) {
    const auto [place, isNew] =
        places.try_emplace({anyLayer(value.name), opKind(value.op), value.type,
                            anyLayer(value.reason)},
                           groups.size());
    if (isNew)
      groups.push_back({&value});
    groups[place->second].bytes += value.bytes;
    ++groups[place->second].count;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const EqualValues &a, const EqualValues &b) {
                     return a.bytes > b.bytes;
                   });
  Table table({"   bytes", "largest values", "made by", "type", "why"}, 5);
  for (size_t i = 0; i < std::min(groups.size(), kValues); ++i) {
    const LiveValue &value = *groups[i].first;
    const bool isOne = groups[i].count == 1;
    std::string name =
        isOne ? value.name
              : anyLayer(value.name) + " x" + std::to_string(groups[i].count);
    table.add({printRight(groups[i].bytes), std::move(name),
               isOne ? value.op : opKind(value.op), value.type,
               isOne ? value.reason : anyLayer(value.reason)});
  }
  return table.print();
}

/// `at 0B0 matmul_12 of h.2.attn, instruction 85 of 243`.
static std::string printPeak(const ProgramMemory &memory) {
  if (memory.curve.empty())
    return "";
  return ", at " + memory.peakAction + " " + memory.peakOp +
         (memory.peakPlace.empty() ? "" : " of " + memory.peakPlace) +
         ", instruction " + std::to_string(memory.peak + 1) + " of " +
         std::to_string(memory.curve.size());
}

std::string pp::predict::printMemory(const MemoryReport &report,
                                     unsigned columns) {
  std::string text;
  for (const ProgramMemory &memory : report) {
    text += (text.empty() ? "" : "\n") + memory.name + ", " +
            printRanks(memory.ranks) + ": peak " +
            printBytes(double(memory.use.peak)) + printPeak(memory) + "\n\n" +
            printSums(memory);
    for (const std::string &part :
         {printPlot(memory, columns),
          memory.layers.empty() ? "" : printLayers(memory.layers),
          memory.ops.empty() ? "" : printOps(memory.ops),
          memory.values.empty() ? "" : printValues(memory.values)})
      text += part.empty() ? "" : "\n" + part;
  }
  return text;
}

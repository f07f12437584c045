//===- Shardings.cpp - shardings of values and their sources --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table that lists equal layers once; or, for the values with one name, every
// op on the path from the source of an axis.
//
//===----------------------------------------------------------------------===//
#include "Calls.h"
#include "pp/Analysis/Seeds.h"
#include "pp/Explain/Explain.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Predict/Table.h"
#include "pp/Transforms/Shard/ShardingTable.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace pp;

namespace {

class ShardingPrinter {
public:
  explicit ShardingPrinter(ShardingTable table);

  std::string printTable();
  /// Empty if nothing has such a name.
  std::string printChains(StringRef pattern);
  /// The name that is most like `pattern`.
  std::string findNearest(StringRef pattern);

private:
  /// How an axis came to a value.
  struct Edge {
    /// The value that had the axis before; null at the source.
    Value from;
    /// By which way, in words; and in few.
    std::string words, brief;
  };
  /// Axes that came to a value, or to several, from one who asked.
  struct Way {
    std::string axes, root;
    /// The last edge of the shortest.
    std::string edge;
    /// Ops on the way.
    int shortest, longest;
  };
  /// Values that are alike but for the ops that make them and the way to them.
  struct Row {
    std::vector<std::string> cells;
    llvm::SetVector<std::string, std::vector<std::string>,
                    std::set<std::string>>
        kinds;
    int64_t count;
    SmallVector<Way> ways;
  };
  struct Section {
    std::vector<Row> rows;
    std::map<std::vector<std::string>, size_t> numbers;
  };

  ValueSources sourcesOf(Value value) const;
  std::optional<Source> findSource(Value value, int axis) const;
  Edge followReturn(Value value, const Source &source);
  Edge follow(Value value, const Source &source);
  std::string nameOf(Value value);
  std::string describe(Value value);
  SmallVector<Way> findWays(Value value, ShardingAttr sharding);
  static std::string print(ArrayRef<Way> ways);
  std::string kindOf(Value value);
  void addTo(Section &section, Value value);
  std::string printChain(Value value, Source source);
  void forEachValue(function_ref<void(Value)> visit);

  ShardingTable table;
  SmallVector<BlockArgument> updated; ///< by results
  DenseMap<int, Operation *> byNumber;
  /// The sources of axes, and their numbers.
  llvm::MapVector<StringAttr, int64_t> roots;
};

} // namespace

ShardingPrinter::ShardingPrinter(ShardingTable table)
    : table(table), updated(getUpdatedArguments(table.main)) {
  for (Operation &op : this->table.main.getBody().front())
    if (int number = findSources(op.getLoc()).number; number >= 0)
      byNumber[number] = &op;
}

void ShardingPrinter::forEachValue(function_ref<void(Value)> visit) {
  for (BlockArgument argument : table.main.getArguments())
    visit(argument);
  for (Operation &op : table.main.getBody().front())
    for (Value result : op.getResults())
      visit(result);
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

ValueSources ShardingPrinter::sourcesOf(Value value) const {
  const SourcesOf all = findSources(value.getLoc());
  auto result = dyn_cast<OpResult>(value);
  const unsigned number = result ? result.getResultNumber() : 0;
  return number < all.values.size() ? all.values[number] : ValueSources();
}

std::optional<Source> ShardingPrinter::findSource(Value value, int axis) const {
  for (const Source &source : sourcesOf(value))
    if (source.axis == axis)
      return source;
  return std::nullopt;
}

/// `pp.add at h.0.mlp`
static std::string describeOp(Operation *op) {
  const std::string place = describeLocation(op->getLoc());
  return op->getName().getStringRef().str() +
         (place.empty() ? "" : " at " + place);
}

/// The last edge to an update from the argument that it updates, the other way,
/// or from a request on a result.
ShardingPrinter::Edge ShardingPrinter::followReturn(Value value,
                                                    const Source &source) {
  Operation *leave = table.main.getBody().front().getTerminator();
  if (source.tensor < 0 ||
      source.tensor >= static_cast<int>(leave->getNumOperands()))
    return {};
  const std::string name = getResultName(table.main, source.tensor).str();
  if (isa<BlockArgument>(value))
    return {leave->getOperand(source.tensor), "as the update that it gets",
            "as its update"};
  BlockArgument argument = updated[source.tensor];
  if (source.op == Source::kResult || !argument)
    return {{}, "as result \"" + name + "\" of @main", "as a result"};
  return {argument, "as \"" + name + "\", which it updates",
          "as what it updates"};
}

ShardingPrinter::Edge ShardingPrinter::follow(Value value,
                                              const Source &source) {
  if (source.length == 0)
    return {};
  if (source.op < 0)
    return followReturn(value, source);
  Operation *op = byNumber.lookup(source.op);
  const int results = op ? op->getNumResults() : 0;
  if (!op || source.tensor < 0 ||
      source.tensor >= results + static_cast<int>(op->getNumOperands()))
    return {};
  const std::string kind = op->getName().getStringRef().str();
  if (source.tensor < results)
    return {op->getResult(source.tensor),
            "for " + describeOp(op) + ", to match its result", "for " + kind};
  const std::string operand =
      "operand " + std::to_string(source.tensor - results);
  Value from = op->getOperand(source.tensor - results);
  if (value.getDefiningOp() == op)
    return {from, "by " + operand, "by " + operand};
  return {from, "to match " + operand + " of " + describeOp(op), "for " + kind};
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string ShardingPrinter::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgName(table.main, argument.getArgNumber()).str();
  return describeLocation(value.getLoc());
}

static std::string spellShape(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t size : type.getShape())
    os << size << "x";
  os << type.getElementType();
  return text;
}

std::string ShardingPrinter::describe(Value value) {
  if (isa<BlockArgument>(value))
    return "argument \"" + nameOf(value) + "\"";
  return describeOp(value.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// The axes of a value, those that came in one way together; who asked for them
/// by number.
SmallVector<ShardingPrinter::Way>
ShardingPrinter::findWays(Value value, ShardingAttr sharding) {
  SmallVector<Way> ways;
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes()) {
      auto source = findSource(value, table.mesh.indexOf(axis));
      if (!source)
        continue;
      auto root = roots.try_emplace(source->root, roots.size() + 1).first;
      Way way{axis.str(), std::to_string(root->second),
              follow(value, *source).brief, source->length, source->length};
      auto known = llvm::find_if(ways, [&](const Way &other) {
        return std::tie(other.root, other.edge, other.shortest) ==
               std::tie(way.root, way.edge, way.shortest);
      });
      if (known == ways.end())
        ways.push_back(way);
      else
        known->axes += "," + way.axes;
    }
  return ways;
}

/// `tp 2 by operand 1, 3 to 9 ops away`
std::string ShardingPrinter::print(ArrayRef<Way> ways) {
  std::string text;
  for (const Way &way : ways) {
    text += (text.empty() ? "" : "; ") + way.axes + " " + way.root +
            (way.edge.empty() ? "" : " " + way.edge);
    if (way.longest == 0)
      continue;
    text +=
        ", " + std::to_string(way.shortest) +
        (way.shortest == way.longest ? ""
                                     : " to " + std::to_string(way.longest)) +
        (way.longest == 1 ? " op away" : " ops away");
  }
  return text;
}

/// The op of a value, or the role of an argument.
std::string ShardingPrinter::kindOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op->getName().getStringRef().str();
  std::optional<Role> role =
      getArgRole(table.main, cast<BlockArgument>(value).getArgNumber());
  return role ? stringifyRole(*role).str() : "argument";
}

/// Adds a value to the row of those that are alike.
void ShardingPrinter::addTo(Section &section, Value value) {
  const ShardingAttr sharding = table.lookup(value);
  Row row{{generalize(nameOf(value)), spellShape(value),
           spellDims(sharding.getDims()), spellPartial(sharding)},
          {},
          0,
          findWays(value, sharding)};
  std::vector<std::string> key = row.cells;
  for (const Way &way : row.ways)
    key.push_back(way.axes + " " + way.root);
  auto [number, isNew] =
      section.numbers.try_emplace(std::move(key), section.rows.size());
  if (isNew)
    section.rows.push_back(row);
  Row &known = section.rows[number->second];
  ++known.count;
  known.kinds.insert(kindOf(value));
  for (auto [way, other] : llvm::zip_equal(known.ways, row.ways)) {
    if (other.shortest < way.shortest)
      way.edge = other.edge;
    way.shortest = std::min(way.shortest, other.shortest);
    way.longest = std::max(way.longest, other.longest);
  }
}

std::string ShardingPrinter::printTable() {
  constexpr size_t kShownKinds = 3;
  llvm::MapVector<StringRef, Section> sections;
  forEachValue([&](Value value) {
    Operation *op = value.getDefiningOp();
    addTo(sections[op ? stringifyPhase(getPhase(op)) : "arguments"], value);
  });
  std::string text;
  for (auto &[name, section] : sections) {
    predict::Table printed(
        {name.str(), "", "type", "sharding", "left partial", "asked for by"},
        6);
    for (const Row &row : section.rows) {
      std::vector<std::string> cells = row.cells;
      if (cells.front().empty())
        cells.front() = "(no name)";
      if (row.count > 1)
        cells.front() += " x" + std::to_string(row.count);
      ArrayRef<std::string> kinds = row.kinds.getArrayRef();
      cells.insert(cells.begin() + 1,
                   llvm::join(kinds.take_front(kShownKinds), ", ") +
                       (kinds.size() > kShownKinds ? ", ..." : ""));
      cells.push_back(print(row.ways));
      printed.add(std::move(cells));
    }
    text += printed.print() + "\n";
  }
  if (roots.empty())
    return text + "sources are unknown: the module came without locations\n";
  text += "asked for by\n";
  for (auto &[root, number] : roots)
    text += "  " + std::to_string(number) + "  " + root.str() + "\n";
  return text + "shortest path from each source; --pp-shardings=NAME prints "
                "whole paths\n";
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// The path from the source of the axis to the value, an op a line.
std::string ShardingPrinter::printChain(Value value, Source source) {
  SmallVector<std::string> lines;
  const StringAttr root = source.root;
  while (true) {
    const Edge edge = follow(value, source);
    lines.push_back(describe(value) + ", dimension " +
                    std::to_string(source.dim) +
                    (edge.words.empty() ? "" : ": " + edge.words));
    if (!edge.from)
      break;
    // Lengths fall, so that it ends, whatever a file holds.
    std::optional<Source> before = findSource(edge.from, source.axis);
    if (!before || before->length >= source.length)
      break;
    value = edge.from;
    source = *before;
  }
  std::string text = root.str() + "\n";
  for (const std::string &line : llvm::reverse(lines))
    text += "      " + line + "\n";
  return text;
}

std::string ShardingPrinter::printChains(StringRef pattern) {
  std::string text;
  forEachValue([&](Value value) {
    if (!matchesPattern(pattern, nameOf(value)))
      return;
    const ShardingAttr sharding = table.lookup(value);
    const std::string partial = spellPartial(sharding);
    text += (text.empty() ? "" : "\n") + describe(value) + ": " +
            spellShape(value) + " as " + spellDims(sharding.getDims()) +
            (partial.empty() ? "" : ", left as a partial " + partial) + "\n";
    for (DimShardingAttr dim : sharding.getDims())
      for (StringAttr axis : dim.getAxes()) {
        auto source = findSource(value, table.mesh.indexOf(axis));
        text +=
            "  " + axis.str() + ": " +
            (source ? printChain(value, *source)
                    : "source unknown: the module came without locations\n");
      }
  });
  return text;
}

std::string ShardingPrinter::findNearest(StringRef pattern) {
  std::string nearest;
  unsigned least = std::numeric_limits<unsigned>::max();
  forEachValue([&](Value value) {
    const std::string name = nameOf(value);
    const unsigned distance = StringRef(name).edit_distance(pattern);
    if (!name.empty() && distance < least) {
      nearest = name;
      least = distance;
    }
  });
  return nearest;
}

FailureOr<std::string> pp::describeShardings(ModuleOp module,
                                             StringRef pattern) {
  FailureOr<ShardingTable> table = ShardingTable::of(module);
  if (failed(table))
    return failure();
  ShardingPrinter printer(*table);
  if (pattern.empty())
    return printer.printTable();
  std::string text = printer.printChains(pattern);
  if (!text.empty())
    return text;
  return module.emitError("--pp-shardings expects the name of an argument or "
                          "of a place in the model, in which '*' stands for "
                          "any text, got '")
         << pattern << "'; the nearest is '" << printer.findNearest(pattern)
         << "'";
}

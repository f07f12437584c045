//===- Explain.cpp - why a program communicates as it does ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes and times are the prediction's, so that both tell the same of a step.
//
//===----------------------------------------------------------------------===//
#include "pp/Explain/Explain.h"
#include "Advice.h"
#include "Calls.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/Predict/Prediction.h"
#include "pp/Predict/Table.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Findings.h"
#include "pprt/Bytes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;
using pprt::printBytes;
using predict::printSeconds;

/// `words` behind `first`, and below each other where they are many.
static std::string printList(StringRef first, ArrayRef<std::string> words) {
  constexpr size_t kWidth = 98;
  std::string text, line = first.str();
  bool isEmpty = true;
  for (const std::string &word : words) {
    if (!isEmpty && line.size() + word.size() + 2 > kWidth) {
      text += line + ",\n";
      line.assign(first.size(), ' ');
      isEmpty = true;
    }
    line += (isEmpty ? "" : ", ") + word;
    isEmpty = false;
  }
  return text + line + "\n";
}

/// The subject of an entry.
static std::string
printSubjects(ArrayRef<std::pair<std::string, int64_t>> subjects) {
  std::vector<std::string> words;
  for (const auto &[name, count] : subjects)
    words.push_back((name.empty() ? "(no name)" : name) +
                    (count > 1 ? " x" + std::to_string(count) : ""));
  return printList("  ", words);
}

static std::string print(const Calls &calls) {
  std::string text = calls.axes + " " + pprt::communicationName(calls.kind) +
                     ", " + stringifyPhase(calls.phase).str() + ": " +
                     std::to_string(calls.count) +
                     (calls.count == 1 ? " call of " : " calls of ");
  if (calls.tensors > 1)
    text += std::to_string(calls.tensors) + " tensors, ";
  text += printBytes(double(calls.bytes)) + ", " +
          printBytes(double(calls.wireBytes)) + " sent, " +
          printSeconds(calls.seconds) + (calls.count == 1 ? "" : " each") +
          "; " + calls.groups + "\n";
  for (const Calls::Reason &reason : calls.reasons) {
    text += printSubjects(reason.subjects);
    text += "    " + reason.text + "\n";
    if (!reason.origins.empty())
      text += printList("    from ", reason.origins);
    if (!reason.readers.empty())
      text += printList("    to fit ", reason.readers);
    for (const std::string &other : reason.alternatives)
      text += "    " + other + "\n";
  }
  return text;
}

/// A row for each kind over each axes.
static std::string printTable(ArrayRef<Calls> all) {
  struct Row {
    int64_t count = 0;
    double bytes = 0, wireBytes = 0, seconds = 0;
  };
  std::vector<std::pair<std::pair<std::string, pprt::CommunicationKind>, Row>>
      rows;
  for (const Calls &calls : all) {
    const std::pair key(calls.axes, calls.kind);
    auto found = llvm::find_if(
        rows, [&](const auto &entry) { return entry.first == key; });
    Row &row = found != rows.end() ? found->second
                                   : rows.emplace_back(key, Row()).second;
    row.count += calls.count;
    row.bytes += double(calls.count) * calls.bytes;
    row.wireBytes += double(calls.count) * calls.wireBytes;
    row.seconds += double(calls.count) * calls.seconds;
  }
  predict::Table table({"axes", "kind", "calls", "size", "sent", "time"}, 2);
  for (const auto &[key, row] : rows)
    table.add({key.first, pprt::communicationName(key.second),
               std::to_string(row.count), printBytes(row.bytes),
               printBytes(row.wireBytes), printSeconds(row.seconds)});
  return table.print();
}

FailureOr<std::string> pp::explain(ModuleOp module, const Trials &trials) {
  auto programs = lookupPrograms(module);
  auto plan = lookupPlan(module);
  if (failed(programs) || failed(plan))
    return failure();
  FailureOr<MeshedArtifact> built = buildMeshedArtifact(module);
  if (failed(built))
    return failure();
  const auto &[artifact, ranks] = *built;
  const schedule::Topology topology = predict::topologyOf(*artifact);
  std::string text;
  for (auto [program, written] :
       llvm::zip_equal(*programs, artifact->programs)) {
    std::vector<Calls> all = collectCalls(program, plan->getMesh(), *artifact,
                                          ranks, *written, topology);
    text += text.empty() ? "" : "\n";
    if (programs->size() > 1)
      text += program.getSymName().str() + ", ranks " +
              std::to_string(written->ranks.front()) + " to " +
              std::to_string(written->ranks.back()) + "\n\n";
    if (all.empty()) {
      text += "nothing is sent\n";
      continue;
    }
    text += printTable(all) + "\n";
    for (const Calls &calls : all)
      text += print(calls);
  }
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    text += printAdvice(
        getFindings(main), module,
        getOutcome(predict::predict(*artifact, ranks), ranks.worldSize()),
        trials);
  return text + "\nper rank and step; times with links of " +
         predict::printLinks(topology) + ", without overlap\n";
}

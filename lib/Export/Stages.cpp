//===- Stages.cpp - a pipeline as programs of its stages ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A value is called by its argument's name or by stage, function and number of
// the result; it keeps that name on other stages.
//
//===----------------------------------------------------------------------===//
#include "Stages.h"
#include "StageWriter.h"
#include "pp/IR/Model.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;
using namespace pp;
using namespace pp::hlo;
using llvm::json::OStream;

namespace {

class PipelineWriter {
public:
  PipelineWriter(func::FuncOp main, MeshAttr mesh, StringRef path)
      : main(main), mesh(mesh), path(path) {}

  FailureOr<std::vector<ExportedFile>> write();

private:
  struct Fragment {
    FragmentOp op;
    std::vector<StageCall> work;
  };

  LogicalResult writeFragment(FragmentOp op);
  void nameArguments();
  /// By value: the map may move what it holds.
  void name(Value value, std::string id) { ids[value] = std::move(id); }
  std::string describe();
  void describeWork(OStream &json, const Fragment &fragment);
  void describePosition(OStream &json, int64_t position);
  void writeIds(OStream &json, StringRef key, ValueRange values,
                bool takesMicroBatch = false);
  std::string fileOf(int64_t position) const;

  func::FuncOp main;
  MeshAttr mesh;
  StringRef path;
  std::map<int64_t, StageWriter> writers;
  std::map<int64_t, std::vector<Fragment>> fragments;
  llvm::DenseMap<Value, std::string> ids;
};

} // namespace

std::string PipelineWriter::fileOf(int64_t position) const {
  SmallString<128> file(path);
  llvm::sys::path::replace_extension(
      file, "." + Twine(position) + llvm::sys::path::extension(path));
  return file.str().str();
}

void PipelineWriter::nameArguments() {
  for (BlockArgument argument : main.getArguments()) {
    StringRef name = getArgName(main, argument.getArgNumber());
    ids[argument] = name.empty()
                        ? "argument:" + std::to_string(argument.getArgNumber())
                        : name.str();
  }
}

LogicalResult PipelineWriter::writeFragment(FragmentOp op) {
  const int64_t position = op.getHolder();
  Block &body = op.getBody().front();
  for (auto [inside, outside] :
       llvm::zip_equal(body.getArguments(), op.getOperands()))
    name(inside, ids.at(outside));
  auto [writer, isNew] = writers.try_emplace(position, op.getContext(), mesh);
  FailureOr<std::vector<StageCall>> work = writer->second.write(op);
  if (failed(work))
    return failure();
  int sums = 0;
  for (StageCall &done : *work) {
    if (done.sum)
      done.name = "sum." + std::to_string(++sums);
    for (auto [index, result] : llvm::enumerate(done.results))
      name(result, std::to_string(position) + ":" + done.name + ":" +
                       std::to_string(index));
  }
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
    name(result, ids.at(yielded));
  fragments[position].push_back({op, std::move(*work)});
  return success();
}

FailureOr<std::vector<ExportedFile>> PipelineWriter::write() {
  nameArguments();
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      if (failed(writeFragment(fragment)))
        return failure();
    } else if (auto transfer = dyn_cast<TransferOp>(op)) {
      name(transfer.getResult(), ids.at(transfer.getOperand()));
    } else if (auto sum = dyn_cast<AccumulateOp>(op)) {
      name(sum.getResult(), ids.at(sum.getOperand()) + ":sum");
    } else {
      return op.emitError("expects an op of level pipeline, got ")
             << op.getName() << ", which has no form in StableHLO";
    }
  }
  std::vector<ExportedFile> files;
  for (auto &[position, writer] : writers)
    files.push_back(
        {fileOf(position),
         writeModule("position_" + std::to_string(position), writer)});
  files.push_back({path.str() + ".json", describe()});
  return files;
}

void PipelineWriter::writeIds(OStream &json, StringRef key, ValueRange values,
                              bool takesMicroBatch) {
  llvm::json::Array list;
  for (Value value : values)
    list.push_back(ids.at(value));
  if (takesMicroBatch)
    list.push_back(":micro_batch");
  writeLine(json, key, std::move(list));
}

void PipelineWriter::describeWork(OStream &json, const Fragment &fragment) {
  json.object([&] {
    FragmentOp op = fragment.op;
    json.attribute("phase", stringifyPhase(op.getPhase()));
    if (op.getStage())
      json.attribute("stage", int64_t(*op.getStage()));
    json.attributeArray("calls", [&] {
      for (const StageCall &call : fragment.work)
        json.object([&] {
          if (call.sum) {
            AllReduceOp sum = call.sum;
            json.attribute("all_reduce",
                           stringifyReduction(sum.getReduction()));
            SmallVector<int64_t> all;
            for (auto &entry : writers)
              all.push_back(entry.first);
            writeLine(json, "positions",
                      llvm::json::Array(
                          ArrayRef<int64_t>(sum.getStages().value_or(all))));
          } else {
            json.attribute("function", call.name);
          }
          writeIds(json, "arguments", call.arguments, call.takesMicroBatch);
          writeIds(json, "results", call.results);
        });
    });
  });
}

void PipelineWriter::describePosition(OStream &json, int64_t position) {
  json.object([&] {
    json.attribute("position", position);
    json.attribute("file", llvm::sys::path::filename(fileOf(position)));
    json.attributeArray("fragments", [&] {
      for (const Fragment &fragment : fragments[position])
        describeWork(json, fragment);
    });
    if (auto schedule = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
        schedule && size_t(position) < schedule.getRanks().size())
      json.attribute("actions", schedule.getRanks()[position].getValue());
  });
}

std::string PipelineWriter::describe() {
  std::string text;
  llvm::raw_string_ostream out(text);
  OStream json(out, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", kInterfaceVersion);
    writeMesh(json, writers.begin()->second.getDevice());
    json.attributeArray("positions", [&] {
      for (auto &entry : writers)
        describePosition(json, entry.first);
    });
    json.attributeArray("transfers", [&] {
      for (auto transfer : main.getOps<TransferOp>())
        json.object([&] {
          json.attribute("value", ids.at(transfer.getOperand()));
          json.attribute("from", int64_t(transfer.getSource()));
          json.attribute("to", int64_t(transfer.getTarget()));
        });
    });
    json.attributeArray("sums", [&] {
      for (auto sum : main.getOps<AccumulateOp>())
        json.object([&] {
          json.attribute("value", ids.at(sum.getOperand()));
          json.attribute("result", ids.at(sum.getResult()));
        });
    });
    writeBorder(
        json, main, mesh,
        [](Value value) { return cast<RankedTensorType>(value.getType()); },
        [&](Value value) { return ids.at(value); });
  });
  return text + "\n";
}

FailureOr<std::vector<ExportedFile>>
hlo::exportStages(func::FuncOp main, MeshAttr mesh, StringRef path) {
  return PipelineWriter(main, mesh, path).write();
}

//===- Calls.cpp - the collectives of a program, with causes --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An instruction of the artifact is the op at the same place of the program:
// one has the sizes, the other has the location.
//
//===----------------------------------------------------------------------===//
#include "Calls.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/ProgramList.h"
#include "pp/Predict/Prediction.h"
#include "pp/Predict/Table.h"
#include "pp/Transforms/Cause.h"
#include "pprt/Bytes.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace pp;

std::string pp::spellPartial(ShardingAttr sharding) {
  std::string text;
  for (PartialAxisAttr partial : sharding.getPartial())
    text += (text.empty()
                 ? stringifyReduction(partial.getReduction()).str() + " over "
                 : " and ") +
            partial.getAxis().str();
  return text;
}

/// The cause and the reader, in words that are the same for every layer.
static std::pair<std::string, std::string> describe(const CauseAt &found) {
  const Cause &cause = found.cause;
  const std::string place = generalize(
      cause.makerAt.empty() ? describeLocation(found.at) : cause.makerAt);
  if (!cause.has || !cause.wants)
    return {cause.text, place};
  const bool isPartial = !cause.has.getPartial().empty();
  if (!cause.gradientOf.empty())
    return {"gradients: each device has a partial " + spellPartial(cause.has) +
                "; " +
                (cause.layouts.empty()
                     ? cause.user + " needs the whole"
                     : "with " + cause.layouts + " each device keeps a part"),
            generalize(cause.gradientOf)};
  std::string text = cause.maker;
  std::string subject = place;
  if (StringRef name = cause.maker; name.consume_front("argument \"")) {
    name.consume_back("\"");
    subject = generalize(name);
    text = "the argument";
    if (!cause.layouts.empty())
      return {"parameters: with " + cause.layouts +
                  " each device stores a part, and the whole is read",
              subject};
  }
  if (!cause.layouts.empty() && !isPartial)
    return {"with " + cause.layouts +
                " each device updates a part, and the whole is stored",
            subject};
  text += isPartial ? " leaves a partial " + spellPartial(cause.has) +
                          " on each device"
                    : " has " + spellDims(cause.has.getDims());
  return {text + "; " + cause.user + " needs " +
              spellDims(cause.wants.getDims()),
          subject};
}

static void addReason(std::vector<Calls::Reason> &reasons,
                      const Calls::Reason &added) {
  auto found = llvm::find_if(reasons, [&](const Calls::Reason &reason) {
    return reason.text == added.text && reason.origins == added.origins &&
           reason.readers == added.readers &&
           reason.alternatives == added.alternatives;
  });
  if (found == reasons.end()) {
    reasons.push_back(added);
    return;
  }
  for (const auto &one : added.subjects) {
    auto named = llvm::find_if(found->subjects, [&](const auto &entry) {
      return entry.first == one.first;
    });
    if (named == found->subjects.end())
      found->subjects.push_back(one);
    else
      named->second += one.second;
  }
}

static std::string describe(const Cause::Alternative &other) {
  if (other.wireBytes < 0)
    return other.what;
  return other.what + ": " + pprt::printBytes(double(other.wireBytes)) +
         " sent" +
         (other.seconds > 0 ? ", " + predict::printSeconds(other.seconds) : "");
}

static std::vector<Calls::Reason> findReasons(Operation *op) {
  std::vector<Calls::Reason> reasons;
  for (const CauseAt &found : findCauses(op->getLoc())) {
    auto [text, subject] = describe(found);
    if (!found.cause.route.empty())
      text += ", by " + found.cause.route;
    Calls::Reason reason{std::move(text),
                         found.cause.origins,
                         found.cause.readers,
                         {},
                         {{subject, 1}}};
    for (const Cause::Alternative &other : found.cause.alternatives)
      reason.alternatives.push_back(describe(other));
    if (!found.cause.advice.empty())
      reason.alternatives.push_back("better not: " + found.cause.advice);
    addReason(reasons, reason);
  }
  if (reasons.empty())
    reasons.push_back({isa<SendOp>(op)
                           ? "computed on one stage and read on another"
                           : "no cause on record",
                       {},
                       {},
                       {},
                       {{generalize(describeLocation(op->getLoc())), 1}}});
  return reasons;
}

/// Whether one entry can tell of both.
static bool areAlike(const Calls &a, const Calls &b) {
  return a.axes == b.axes && a.kind == b.kind && a.phase == b.phase &&
         a.groups == b.groups && a.tensors == b.tensors &&
         a.wireBytes == b.wireBytes;
}

std::vector<Calls> pp::collectCalls(ProgramOp program, MeshAttr mesh,
                                    const pprt::ppx::ArtifactT &artifact,
                                    const pprt::Mesh &ranks,
                                    const pprt::ppx::ProgramT &written,
                                    const schedule::Topology &topology) {
  std::vector<Calls> all;
  // Every micro-batch has the same locations, and so have the steps from one
  // layout to another.
  std::map<
      std::tuple<const void *, pprt::CommunicationKind, Phase, std::string>,
      size_t>
      numbers;
  const ProgramList list(program);
  const pprt::InstructionList body(written, pprt::Section::body);
  for (auto [index, item] : llvm::enumerate(list.items())) {
    Operation *op = list.getOp(item);
    const pprt::Instruction instruction = body[index];
    std::optional<pprt::Message> message =
        pprt::messageOf(artifact, ranks, instruction);
    if (!message || message->kind == pprt::CommunicationKind::recv ||
        message->kind == pprt::CommunicationKind::host_copy)
      continue;
    Calls call;
    call.kind = message->kind;
    call.count = 1;
    call.bytes = message->bytes;
    call.wireBytes = message->wireBytes;
    call.seconds = predict::secondsOf(artifact, ranks, instruction, topology);
    if (auto collective = dyn_cast<CollectiveInstructionOp>(op)) {
      SmallVector<StringAttr> axes(
          collective.getAxes().getAsRange<StringAttr>());
      std::vector<std::string_view> names, all;
      for (StringAttr axis : axes)
        names.push_back(axis.getValue());
      for (MeshAxisAttr axis : mesh.getAxes())
        all.push_back(axis.getName().getValue());
      call.axes = llvm::join(schedule::joinParts(names, all), ",");
      call.phase = collective.getPhase();
      call.tensors = collective.getSlots().size() / 2;
      ArrayRef<int64_t> stages = collective.getStages();
      const int64_t own = ranks.stage(written.ranks.front());
      // Over stages a group has ranks of all of them.
      const bool isOverStages =
          mesh.getStageAxis() &&
          llvm::is_contained(axes, mesh.getStageAxis().getName());
      call.groups = describeGroups(
          mesh, axes, stages.empty() && !isOverStages ? ArrayRef(own) : stages);
    } else {
      auto send = cast<SendOp>(op);
      call.axes = mesh.getStageAxis().getName().str();
      call.phase = send.getPhase();
      call.tensors = 1;
      // As programs are called: by their stage, or the position of several.
      const bool hasOneStage = program.getSymName().starts_with("stage");
      call.groups = (hasOneStage ? "to stage " : "to position ") +
                    std::to_string(send.getPeer());
    }
    auto [number, isNew] = numbers.try_emplace(
        {op->getLoc().getAsOpaquePointer(), call.kind, call.phase, call.axes},
        all.size());
    if (!isNew) {
      ++all[number->second].count;
      continue;
    }
    call.reasons = findReasons(op);
    all.push_back(std::move(call));
  }
  std::vector<Calls> merged;
  for (Calls &call : all) {
    auto found = llvm::find_if(
        merged, [&](const Calls &other) { return areAlike(call, other); });
    if (found == merged.end()) {
      merged.push_back(std::move(call));
      continue;
    }
    found->count += call.count;
    for (const Calls::Reason &reason : call.reasons)
      addReason(found->reasons, reason);
  }
  llvm::stable_sort(merged, [](const Calls &a, const Calls &b) {
    return a.seconds * a.count > b.seconds * b.count;
  });
  return merged;
}

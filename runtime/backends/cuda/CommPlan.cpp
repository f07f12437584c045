//===- CommPlan.cpp - a comm op as NCCL takes it --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CommPlan.h"
#include "pprt/Alignment.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cassert>
#include <map>

using namespace pprt;
using namespace pprt::cuda;

namespace {

/// A region, in bytes, on one of its two sides.
struct Side {
  uint64_t outer, middle, run;
  Stride stride;

  uint64_t bytes() const { return outer * middle * run; }
  /// Whether it is contiguous.
  bool isDense() const {
    return (middle == 1 || stride.middle == run) &&
           (outer == 1 || stride.outer == middle * run);
  }
};

class Planner {
public:
  Planner(const std::vector<Move> &moves, uint32_t members, uint32_t member)
      : moves(moves), members(members), member(member) {}

  Status plan();

  CommPlan result;

private:
  static Side sourceOf(const Move &move) {
    const uint64_t size = elementSize(move.element);
    const Region &its = move.region;
    return {its.outer,
            its.middle,
            its.run * size,
            {its.sourceOuter * size, its.sourceMiddle * size}};
  }
  static Side targetOf(const Move &move) {
    const uint64_t size = elementSize(move.element);
    const Region &its = move.region;
    return {its.outer,
            its.middle,
            its.run * size,
            {its.targetOuter * size, its.targetMiddle * size}};
  }
  static Spot spot(Spot::Kind kind, const Move &move, const Part &part) {
    return {kind, part.operand, part.offset * elementSize(move.element)};
  }
  Spot stage(uint64_t bytes) {
    const Spot place = {Spot::staging, 0, result.stagingBytes};
    result.stagingBytes += alignUp(bytes, kWorkspaceAlignment);
    return place;
  }
  /// Packs dense bytes at `to` from a side at `from`; and the reverse.
  static Packing pack(const Spot &from, const Side &side, const Spot &to) {
    return {from,        to,
            side.stride, {side.middle * side.run, side.run},
            side.outer,  side.middle,
            side.run};
  }
  static Packing unpack(const Spot &from, const Spot &to, const Side &side) {
    return {from,        to,         {side.middle * side.run, side.run},
            side.stride, side.outer, side.middle,
            side.run};
  }

  /// Returns the part of `parts` that belongs to a member, or null.
  static const Part *partOf(const std::vector<Part> &parts, uint32_t member) {
    const auto found =
        std::find_if(parts.begin(), parts.end(),
                     [&](const Part &part) { return part.member == member; });
    return found == parts.end() ? nullptr : &*found;
  }
  bool isOfAll(const std::vector<Part> &parts) const {
    for (uint32_t i = 0; i < parts.size(); ++i)
      if (parts[i].member != i)
        return false;
    return parts.size() == members;
  }
  /// Whether from moves[first] on there is one move for each member, whose
  /// parts `own` are at equal distances.
  bool isRow(size_t first, std::vector<Part> Move::*own) const;

  Status addReduction(const Move &move);
  Status addScatter(size_t first);
  void addGather(size_t first);
  void addMessages();
  Status checkReduction(const Move &move) const;
  void addCall(const NcclCall &call) {
    result.isCollective = true;
    if (result.groups.empty() || result.groups.back().size() >= kGroupCalls)
      result.groups.emplace_back();
    result.groups.back().push_back(call);
  }

  const std::vector<Move> &moves;
  const uint32_t members, member;
  std::vector<const Move *> messages; ///< from one member to one
};

} // namespace

bool Planner::isRow(size_t first, std::vector<Part> Move::*own) const {
  if (first + members > moves.size())
    return false;
  const Move &head = moves[first];
  for (uint32_t i = 0; i < members; ++i) {
    const Move &move = moves[first + i];
    const std::vector<Part> &parts = move.*own;
    const auto &others = own == &Move::sources ? move.targets : move.sources;
    if (parts.size() != 1 || parts[0].member != i || !isOfAll(others) ||
        move.element != head.element || move.reduction != head.reduction)
      return false;
  }
  return true;
}

Status Planner::checkReduction(const Move &move) const {
  const bool isLogic = move.reduction == ppx::Reduction_and_ ||
                       move.reduction == ppx::Reduction_or_;
  if (!isLogic || move.element == ppx::ElementType_i1)
    return {};
  return Status(ExitCode::device,
                std::string("NCCL has no `") +
                    (move.reduction == ppx::Reduction_and_ ? "and" : "or") +
                    "` reduction for " +
                    ppx::EnumNameElementType(move.element) +
                    "; run with --device=cpu");
}

Status Planner::addReduction(const Move &move) {
  if (Status status = checkReduction(move); !status.ok())
    return status;
  const Side source = sourceOf(move), target = targetOf(move);
  const uint64_t bytes = source.bytes();
  if (bytes == 0)
    return {};
  const Part &from = *partOf(move.sources, member);
  const Part &to = *partOf(move.targets, member);
  NcclCall call = {NcclCall::allReduce,
                   spot(Spot::input, move, from),
                   spot(Spot::output, move, to),
                   bytes / elementSize(move.element),
                   move.element,
                   move.reduction,
                   0};
  if (!source.isDense()) {
    const Spot staged = stage(bytes);
    result.before.push_back(pack(call.from, source, staged));
    call.from = staged;
  }
  if (!target.isDense()) {
    const Spot staged = stage(bytes);
    result.after.push_back(unpack(staged, call.to, target));
    call.to = staged;
  }
  addCall(call);
  return {};
}

Status Planner::addScatter(size_t first) {
  const Move &mine = moves[first + member];
  if (Status status = checkReduction(mine); !status.ok())
    return status;
  const uint64_t bytes = sourceOf(mine).bytes();
  if (bytes == 0)
    return {};
  NcclCall call = {NcclCall::reduceScatter,
                   {},
                   spot(Spot::output, mine, mine.targets[0]),
                   bytes / elementSize(mine.element),
                   mine.element,
                   mine.reduction,
                   0};
  // Blocks of the input, contiguous for NCCL.
  const auto block = [&](uint32_t i) {
    const Move &move = moves[first + i];
    return spot(Spot::input, move, *partOf(move.sources, member));
  };
  bool isDense = true;
  for (uint32_t i = 0; i < members; ++i)
    isDense &= sourceOf(moves[first + i]).isDense() &&
               block(i).offset == block(0).offset + i * bytes;
  if (isDense) {
    call.from = block(0);
  } else {
    call.from = stage(members * bytes);
    for (uint32_t i = 0; i < members; ++i) {
      Spot to = call.from;
      to.offset += i * bytes;
      result.before.push_back(pack(block(i), sourceOf(moves[first + i]), to));
    }
  }
  if (const Side target = targetOf(mine); !target.isDense()) {
    const Spot staged = stage(bytes);
    result.after.push_back(unpack(staged, call.to, target));
    call.to = staged;
  }
  addCall(call);
  return {};
}

void Planner::addGather(size_t first) {
  const Move &mine = moves[first + member];
  const uint64_t bytes = sourceOf(mine).bytes();
  if (bytes == 0)
    return;
  NcclCall call = {NcclCall::allGather,
                   spot(Spot::input, mine, mine.sources[0]),
                   {},
                   bytes / elementSize(mine.element),
                   mine.element,
                   ppx::Reduction_sum,
                   0};
  if (const Side source = sourceOf(mine); !source.isDense()) {
    const Spot staged = stage(bytes);
    result.before.push_back(pack(call.from, source, staged));
    call.from = staged;
  }
  const auto block = [&](uint32_t i) {
    const Move &move = moves[first + i];
    return spot(Spot::output, move, *partOf(move.targets, member));
  };
  bool isDense = true;
  for (uint32_t i = 0; i < members; ++i)
    isDense &= targetOf(moves[first + i]).isDense() &&
               block(i).offset == block(0).offset + i * bytes;
  if (isDense) {
    call.to = block(0);
  } else {
    call.to = stage(members * bytes);
    for (uint32_t i = 0; i < members; ++i) {
      Spot from = call.to;
      from.offset += i * bytes;
      result.after.push_back(
          unpack(from, block(i), targetOf(moves[first + i])));
    }
  }
  addCall(call);
}

void Planner::addMessages() {
  // By round and member: the most messages that one member sends.
  std::map<uint32_t, std::map<uint32_t, size_t>> sent;
  const auto roundOf = [&](const Move &move) {
    return (move.targets[0].member + members - move.sources[0].member) %
           members;
  };
  size_t most = 1;
  for (const Move *move : messages)
    if (roundOf(*move) != 0)
      most = std::max(most, ++sent[roundOf(*move)][move->sources[0].member]);
  const uint32_t rounds =
      uint32_t(std::max<size_t>(kGroupCalls / (2 * most), 1));
  std::map<uint32_t, std::vector<NcclCall>> groups;
  for (const Move *move : messages) {
    const Part &source = move->sources[0], &target = move->targets[0];
    const Side from = sourceOf(*move), to = targetOf(*move);
    const Spot input = spot(Spot::input, *move, source);
    const Spot output = spot(Spot::output, *move, target);
    const uint64_t bytes = from.bytes();
    if (bytes == 0)
      continue;
    if (source.member == member && target.member == member) {
      result.before.push_back({input, output, from.stride, to.stride,
                               from.outer, from.middle, from.run});
      continue;
    }
    NcclCall call;
    call.count = bytes;
    if (source.member == member) {
      call.kind = NcclCall::send;
      call.peer = target.member;
      call.from = input;
      if (!from.isDense()) {
        call.from = stage(bytes);
        result.before.push_back(pack(input, from, call.from));
      }
    } else if (target.member == member) {
      call.kind = NcclCall::receive;
      call.peer = source.member;
      call.to = output;
      if (!to.isDense()) {
        call.to = stage(bytes);
        result.after.push_back(unpack(call.to, output, to));
      }
    } else {
      continue;
    }
    groups[(roundOf(*move) - 1) / rounds].push_back(call);
  }
  for (auto &[number, calls] : groups)
    result.groups.push_back(std::move(calls));
}

Status Planner::plan() {
  for (size_t i = 0; i < moves.size();) {
    const Move &move = moves[i];
    if (move.sources.size() == 1 && move.targets.size() == 1) {
      messages.push_back(&move);
      ++i;
    } else if (isOfAll(move.sources) && isOfAll(move.targets)) {
      if (Status status = addReduction(move); !status.ok())
        return status;
      ++i;
    } else if (isRow(i, &Move::targets)) {
      if (Status status = addScatter(i); !status.ok())
        return status;
      i += members;
    } else if (isRow(i, &Move::sources)) {
      addGather(i);
      i += members;
    } else {
      return Status(ExitCode::device,
                    "expects a communication operation that maps to NCCL "
                    "calls, got a move of " +
                        std::to_string(move.sources.size()) + " to " +
                        std::to_string(move.targets.size()) + " of " +
                        std::to_string(members) + " members");
    }
  }
  assert(!result.isCollective || messages.empty());
  addMessages();
  // Copies have equidistant rows, and planes of several rows.
  const auto isRegular = [](const Packing &its, const Stride &stride) {
    return its.outer == 1 || its.middle == 1 ||
           (stride.middle > 0 && stride.outer % stride.middle == 0 &&
            stride.outer / stride.middle >= its.middle);
  };
  for (const auto *list : {&result.before, &result.after})
    for (const Packing &its : *list)
      if (!isRegular(its, its.fromStride) || !isRegular(its, its.toStride))
        return Status(ExitCode::device, "expects parts of a communication "
                                        "operation in whole rows, got strides "
                                        "that are no multiples of each other");
  return {};
}

Expected<CommPlan> cuda::planCommOp(const std::vector<Move> &moves,
                                    uint32_t members, uint32_t member) {
  Planner planner(moves, members, member);
  if (Status status = planner.plan(); !status.ok())
    return status;
  return std::move(planner.result);
}

TransportModel cuda::ncclModel() {
  TransportModel model;
  model.stagingBytes = [](const std::vector<Move> &moves,
                          const std::vector<uint32_t> &ranks,
                          uint32_t member) -> uint64_t {
    const auto plan = planCommOp(moves, uint32_t(ranks.size()), member);
    return plan ? plan->stagingBytes : 0; // prepare() reports the reason
  };
  return model;
}

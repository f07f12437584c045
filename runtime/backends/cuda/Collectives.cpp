//===- Collectives.cpp - comm ops in streams of GPUs ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Collectives.h"
#include "pprt/World.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace pprt;
using namespace pprt::cuda;

Collectives::Collectives(std::shared_ptr<Communicators> given)
    : communicators(std::move(given)) {
  for (const auto &[rank, gpu] : communicators->gpus)
    lines[rank] = {};
}

Collectives::~Collectives() {
  for (const auto &[rank, its] : lines)
    for (const Line &line : its)
      if (const Gpu &gpu = *communicators->gpus.at(rank);
          line.last && gpu.makeCurrent().ok())
        gpu.driver.cuEventDestroy(line.last);
}

//===----------------------------------------------------------------------===//
// Before the first round
//===----------------------------------------------------------------------===//

Expected<Ticket> Collectives::prepare(Participant participant) {
  const auto members = uint32_t(participant.ranks.size());
  Expected<CommPlan> plan =
      planCommOp(*participant.moves, members, participant.member);
  if (!plan)
    return plan.status();
  auto made = std::make_unique<Prepared>();
  made->rank = participant.ranks[participant.member];
  made->plan = std::move(*plan);
  made->participant = std::move(participant);
  commOps.push_back(std::move(made));
  return Ticket(commOps.size() - 1);
}

/// Members of the comm op's communicator; none for messages: the world's.
MemberList Collectives::listOf(const Prepared &prepared) {
  return prepared.plan.isCollective ? prepared.participant.ranks : MemberList();
}

Status Collectives::connect(World &world) {
  std::vector<MemberList> lists;
  for (const auto &commOp : commOps)
    if (const MemberList list = listOf(*commOp); !list.empty())
      lists.push_back(list);
  if (Status status = communicators->connect(world, std::move(lists));
      !status.ok())
    return status;
  std::map<uint32_t, std::map<MemberList, uint32_t>> groups; // by rank, counted
  for (const auto &commOp : commOps) {
    const MemberList list = listOf(*commOp);
    commOp->communicator = communicators->find(commOp->rank, list);
    auto &its = groups[commOp->rank];
    if (!list.empty())
      commOp->line = 1 + its.emplace(list, uint32_t(its.size())).first->second %
                             (kCallsAtOnce - 1);
  }
  return communicators->agree(world, makeEvents());
}

Status Collectives::makeEvents() {
  for (auto &[rank, its] : lines) {
    const Gpu &gpu = *communicators->gpus.at(rank);
    if (Status status = gpu.makeCurrent(); !status.ok())
      return status;
    for (Line &line : its)
      PP_TRY(gpu, cuEventCreate, &line.last, CU_EVENT_DISABLE_TIMING);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// In a section
//===----------------------------------------------------------------------===//

std::byte *Collectives::address(const Prepared &prepared, const Spot &spot) {
  const Participant &its = prepared.participant;
  return spot.offset + (spot.kind == Spot::input    ? its.inputs[spot.operand]
                        : spot.kind == Spot::output ? its.outputs[spot.operand]
                                                    : its.staging);
}

static ncclDataType_t typeOf(ppx::ElementType element) {
  switch (element) {
  case ppx::ElementType_f32:
    return ncclFloat32;
  case ppx::ElementType_f64:
    return ncclFloat64;
  case ppx::ElementType_bf16:
    return ncclBfloat16;
  case ppx::ElementType_f16:
    return ncclFloat16;
  case ppx::ElementType_i32:
    return ncclInt32;
  case ppx::ElementType_i64:
    return ncclInt64;
  case ppx::ElementType_i8:
    return ncclInt8;
  case ppx::ElementType_i1:
    break;
  }
  return ncclUint8;
}

/// For bytes that are 0 or 1, `and` is the minimum and `or` the maximum.
static ncclRedOp_t operationOf(ppx::Reduction reduction) {
  switch (reduction) {
  case ppx::Reduction_max:
  case ppx::Reduction_or_:
    return ncclMax;
  case ppx::Reduction_min:
  case ppx::Reduction_and_:
    return ncclMin;
  case ppx::Reduction_sum:
    break;
  }
  return ncclSum;
}

/// Largest pitch of a three-dimensional copy, in bytes:
/// CU_DEVICE_ATTRIBUTE_MAX_PITCH, which is the same on all GPUs.
static constexpr uint64_t kMostPitch = std::numeric_limits<int32_t>::max();

/// Copies run by run: memory has room for only a few that are so far apart.
static Status copyRuns(const Gpu &gpu, CUdeviceptr to, CUdeviceptr from,
                       const Packing &packing, CUstream stream) {
  for (uint64_t outer = 0; outer < packing.outer; ++outer)
    for (uint64_t middle = 0; middle < packing.middle; ++middle) {
      const auto at = [&](CUdeviceptr place, const Stride &stride) {
        return place + outer * stride.outer + middle * stride.middle;
      };
      PP_TRY(gpu, cuMemcpyDtoDAsync, at(to, packing.toStride),
             at(from, packing.fromStride), packing.run, stream);
    }
  return {};
}

Status Collectives::copy(const Gpu &gpu, const Prepared &prepared,
                         const Packing &packing, CUstream stream) {
  const CUdeviceptr from = pointer(address(prepared, packing.from));
  const CUdeviceptr to = pointer(address(prepared, packing.to));
  if (from == to)
    return {}; // a group of one, in place
  if (packing.outer == 1 && packing.middle == 1) {
    PP_TRY(gpu, cuMemcpyDtoDAsync, to, from, packing.run, stream);
    return {};
  }
  // Rows are runs, and planes are one iteration of the outer loop.
  const bool isFlat = packing.middle == 1;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = packing.run;
  copy.Height = isFlat ? packing.outer : packing.middle;
  copy.Depth = isFlat ? 1 : packing.outer;
  const auto set = [&](const Stride &stride, size_t &pitch, size_t &height) {
    pitch = isFlat ? stride.outer : stride.middle;
    height = isFlat || packing.outer == 1 ? copy.Height : stride.outer / pitch;
  };
  set(packing.fromStride, copy.srcPitch, copy.srcHeight);
  set(packing.toStride, copy.dstPitch, copy.dstHeight);
  if (std::max(copy.srcPitch, copy.dstPitch) > kMostPitch)
    return copyRuns(gpu, to, from, packing, stream);
  PP_TRY(gpu, cuMemcpy3DAsync, &copy, stream);
  return {};
}

Status Collectives::call(const Prepared &prepared, const NcclCall &call,
                         ncclComm_t comm, CUstream stream) const {
  const Nccl &nccl = communicators->nccl;
  const std::byte *from =
      call.kind == NcclCall::receive ? nullptr : address(prepared, call.from);
  std::byte *to =
      call.kind == NcclCall::send ? nullptr : address(prepared, call.to);
  const ncclDataType_t type = typeOf(call.element);
  const ncclRedOp_t operation = operationOf(call.reduction);
  const auto peer = int(prepared.participant.ranks[call.peer]);
  switch (call.kind) {
  case NcclCall::allReduce:
    return communicators->check(
        nccl.ncclAllReduce(from, to, call.count, type, operation, comm, stream),
        "ncclAllReduce");
  case NcclCall::allGather:
    return communicators->check(
        nccl.ncclAllGather(from, to, call.count, type, comm, stream),
        "ncclAllGather");
  case NcclCall::reduceScatter:
    return communicators->check(nccl.ncclReduceScatter(from, to, call.count,
                                                       type, operation, comm,
                                                       stream),
                                "ncclReduceScatter");
  case NcclCall::send:
    return communicators->check(
        nccl.ncclSend(from, call.count, type, peer, comm, stream), "ncclSend");
  case NcclCall::receive:
    break;
  }
  return communicators->check(
      nccl.ncclRecv(to, call.count, type, peer, comm, stream), "ncclRecv");
}

void Collectives::begin(uint32_t rank) {
  for (Line &line : lines.at(rank))
    line.hasLast = false;
}

Status Collectives::give(Prepared &prepared, CUstream stream) {
  const Gpu &gpu = *communicators->gpus.at(prepared.rank);
  Line &line = lines.at(prepared.rank)[prepared.line];
  if (Status status = gpu.makeCurrent(); !status.ok())
    return status;
  for (const Packing &packing : prepared.plan.before)
    if (Status status = copy(gpu, prepared, packing, stream); !status.ok())
      return status;
  if (!prepared.plan.groups.empty()) {
    if (line.hasLast)
      PP_TRY(gpu, cuStreamWaitEvent, stream, line.last, 0);
    for (const std::vector<NcclCall> &group : prepared.plan.groups) {
      const Status status =
          communicators->run(*prepared.communicator, [&](ncclComm_t comm) {
            Status made;
            for (const NcclCall &its : group)
              if (made = call(prepared, its, comm, stream); !made.ok())
                break;
            return made;
          });
      if (!status.ok())
        return status;
    }
    PP_TRY(gpu, cuEventRecord, line.last, stream);
    line.hasLast = true;
  }
  for (const Packing &packing : prepared.plan.after)
    if (Status status = copy(gpu, prepared, packing, stream); !status.ok())
      return status;
  return {};
}

Status Collectives::enqueue(Ticket ticket, CUstream stream) {
  Status status = give(*commOps[ticket], stream);
  if (!status.ok())
    communicators->fail(status);
  return status;
}

//===- CommPlan.h - a comm op as NCCL takes it ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the moves of a comm op (pprt/CommOps.h). Out: the work of one member:
// copies that collect strided parts, NCCL calls, which take only contiguous
// data, and copies that distribute parts again. All members find the same calls
// in the same groups. Nothing here needs CUDA.
//
// A sum for all members is an all_reduce; sums with one target each are a
// reduce_scatter; a part of each member for all is an all_gather. Data from one
// member to one other goes as messages of bytes. In round r member m sends to m
// + r and receives from m - r, modulo their number; a group is some rounds, so
// that groups of all members match and none is larger than NCCL can take.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_COMMPLAN_H
#define PPRT_BACKENDS_CUDA_COMMPLAN_H

#include "pprt/CommOps.h"
#include "pprt/Status.h"
#include "pprt/TransportModel.h"

namespace pprt::cuda {

/// Bytes of a member, from `offset` on.
struct Spot {
  enum Kind { input, output, staging } kind = staging;
  uint32_t operand = 0;
  uint64_t offset = 0;
};

/// Bytes of a region on one side: outer x middle runs.
struct Stride {
  uint64_t outer = 0, middle = 0;
};

struct Packing {
  Spot from, to;
  Stride fromStride, toStride;
  uint64_t outer = 1, middle = 1, run = 0; ///< bytes of a run
};

struct NcclCall {
  enum Kind { allReduce, allGather, reduceScatter, send, receive };
  Kind kind = allReduce;
  Spot from, to;
  uint64_t count = 0; ///< elements as the call counts them
  ppx::ElementType element = ppx::ElementType_i1;
  ppx::Reduction reduction = ppx::Reduction_sum;
  uint32_t peer = 0; ///< the member that a message goes to or comes from
};

struct CommPlan {
  std::vector<Packing> before, after;
  std::vector<std::vector<NcclCall>> groups;
  uint64_t stagingBytes = 0;
  /// Whether its calls are collectives of all members or messages: never both.
  bool isCollective = false;
};

/// Most calls in a group, unless one round has more: some versions of NCCL
/// split larger groups differently on different ranks, and hang.
constexpr size_t kGroupCalls = 64;

/// Plans for `member` of `members`. Fails (device) if NCCL cannot do the moves.
Expected<CommPlan> planCommOp(const std::vector<Move> &moves, uint32_t members,
                              uint32_t member);

/// Returns the model of a member's staging.
TransportModel ncclModel();

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_COMMPLAN_H

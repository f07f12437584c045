//===- TransportModel.h - a transport's need for memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the moves of a comm op and its members. Out: the memory that they need,
// computed without the transport, so that it can be predicted where the
// transport is not installed.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TRANSPORTMODEL_H
#define PPRT_TRANSPORTMODEL_H

#include "pprt/CommOps.h"

#include <functional>

#pragma GCC visibility push(default)
namespace pprt {

struct TransportModel {
  /// Staging bytes of a member of a comm op. `ranks` are those of all members.
  /// Null: members access each other's memory.
  std::function<uint64_t(const std::vector<Move> &moves,
                         const std::vector<uint32_t> &ranks, uint32_t member)>
      stagingBytes;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_TRANSPORTMODEL_H

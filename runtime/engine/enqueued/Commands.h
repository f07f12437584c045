//===- Commands.h - what streams are told, and who waits for whom -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: one section of the programs of the ranks that a device has. Out: its
// commands in an order in which a device may be told them (pprt/IssueOrder.h),
// each with a stream and the commands of other streams that it waits for. Each
// queue of a rank has a stream. A command waits for an event only where neither
// the order of its stream nor an event that came before says the same.
//
// The first command does nothing: all others come behind it. The last does
// nothing either, and comes behind all others. Both are on stream 0, so that a
// section comes behind the one before it, and a graph has one begin and one
// end.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_COMMANDS_H
#define PPRT_ENGINE_ENQUEUED_COMMANDS_H

#include "pprt/Ranks.h"

namespace pprt::enqueued {

struct Command {
  /// What it does: an instruction, or one that meets others with all of those
  /// that are of ranks of this device.
  std::vector<InstructionRef> parts;
  uint32_t stream = 0;
  std::vector<uint32_t> waits; ///< for these commands, of other streams
  bool isAwaited = false;      ///< by a command of another stream
};

struct Commands {
  Commands(const Ranks &ranks, RankRange range, Section section);

  std::vector<Command> list;
  /// By stream, whether it does nothing but meet other ranks.
  std::vector<bool> meets;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_COMMANDS_H

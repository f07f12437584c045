//===- Commands.h - commands for streams, and their waits -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: one section of the programs of a device's ranks. Out: its commands in an
// order in which the device can be given them (pprt/IssueOrder.h), each with a
// stream and the commands of other streams that it waits for. Each queue of a
// rank has a stream. A command waits for an event only if neither the order of
// its stream nor an earlier wait implies it.
//
// The first command does nothing and precedes all others. The last does nothing
// either, and follows all others. Both are on stream 0, so that a section
// follows the one before it, and a graph has one begin and one end.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_COMMANDS_H
#define PPRT_ENGINE_ENQUEUED_COMMANDS_H

#include "pprt/Ranks.h"

namespace pprt::enqueued {

struct Command {
  /// Its instruction, or for communication all instructions that meet and
  /// belong to ranks of this device.
  std::vector<InstructionRef> parts;
  uint32_t stream = 0;
  std::vector<uint32_t> waits; ///< commands of other streams
  bool isAwaited = false;      ///< whether another stream waits for it
};

struct Commands {
  Commands(const Ranks &ranks, RankRange range, Section section);

  std::vector<Command> list;
  /// By stream, whether it only communicates with other ranks.
  std::vector<bool> meets;
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_COMMANDS_H

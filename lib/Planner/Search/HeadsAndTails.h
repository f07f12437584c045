//===- HeadsAndTails.h - what comes before and after an action --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The head of an action is a time that it cannot start before, its tail one
// that must follow its end, in every order.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_HEADSANDTAILS_H
#define PP_LIB_PLANNER_SEARCH_HEADSANDTAILS_H

#include "OrderModel.h"

namespace pp {

class HeadsAndTails {
public:
  /// Orders whose stages run their backward actions so.
  HeadsAndTails(const OrderModel &model, const std::vector<Mode> &modes);

  /// Whether no order keeps the memory.
  bool isImpossible() const { return impossible; }
  /// Whether a stage is split may be open, so its backward action is taken to
  /// last as long as the shorter form, and the weights' gradients as the rest
  /// of the shorter sum: an uninterrupted order of either form contains such a
  /// one.
  double seconds(Step step) const { return lengths[step]; }
  double head(Step step, size_t microBatch) const {
    return heads[step * m + microBatch];
  }
  double tail(Step step, size_t microBatch) const {
    return tails[step * m + microBatch];
  }

private:
  /// What memory allows a stage at most; `m` where it is no limit.
  struct Room {
    /// Forward action i waits for backward action i - inFlight, and for weight
    /// action i - 1 - due; backward action i for weight action i - held.
    size_t inFlight, due, held;
  };
  /// Of a position's stages, how many micro-batches of each step come before an
  /// action; for those that come after, the first.
  using Counts = std::vector<size_t>;

  void findRoom(unsigned stage);
  double firstFree(unsigned stage, size_t microBatch) const;
  size_t behindRoom(size_t microBatch, unsigned stage) const {
    return microBatch + 1 - std::min(microBatch + 1, rooms[stage].inFlight);
  }
  void findHeads();
  void findTails();
  void countBefore(Step step, size_t microBatch, Counts &counts) const;
  void countAfter(Step step, size_t microBatch, Counts &counts) const;
  double sumAround(const std::vector<unsigned> &stages, bool isBefore,
                   Counts &counts) const;

  const OrderModel &model;
  const std::vector<Mode> &modes;
  const size_t m;
  bool impossible = false;
  std::vector<Room> rooms;          ///< by stage
  std::vector<double> lengths;      ///< by step
  std::vector<double> heads, tails; ///< by step and micro-batch
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_HEADSANDTAILS_H

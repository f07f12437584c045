//===- RandomPipelines.h - problems for the schedule search -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The same number gives the same problem on every machine.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_PLANNER_SEARCH_RANDOMPIPELINES_H
#define PP_TEST_PLANNER_SEARCH_RANDOMPIPELINES_H

#include "pp/Planner/ScheduleSearch.h"

namespace pp {

/// At most 12 pairs of stage and micro-batch, with whole numbers for times, so
/// that all orders can be looked at. With or without messages, limits, chunks,
/// stages whose merged backward action is shorter, and ones that hold more once
/// they are split.
ScheduleSearchProblem makeSmallPipeline(unsigned number);

/// A pipeline as real ones are: stages of about the same time, each with a few
/// percent or up to 60 percent more or less; any limit from two micro-batches
/// to twice the positions, that of 1F1B, or none. `chunks` of 2 go there and
/// back, others round.
ScheduleSearchProblem makePipeline(unsigned number, unsigned positions,
                                   unsigned microBatches, unsigned chunks = 1);

/// A pipeline of three positions whose stages may hold more once they are
/// split. A position has room for `percent` of a micro-batch's residuals, and
/// if `countsWeights` for what its weight actions need, where that is more.
ScheduleSearchProblem makeTight(unsigned number, unsigned chunks,
                                int64_t percent, bool countsWeights);

/// Stages whose actions take 1 / `chunks`, a backward action 2 if it is merged;
/// a micro-batch holds 1 / `chunks` of 120 bytes, until its weight action.
Placement makeUnitPlacement(unsigned positions, unsigned chunks = 1);

} // namespace pp

#endif // PP_TEST_PLANNER_SEARCH_RANDOMPIPELINES_H

//===- EvalProgram.h - the program that evaluates ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the model that trains, or the file of --eval-program. Out: a program of
// the same mesh that changes no parameter, checked beside the one that trains.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_EVALPROGRAM_H
#define PP_RUN_EVALPROGRAM_H

#include "Source.h"

namespace pp::run {

/// Adds it to `source`, whose program trains. In process 0; `level` as for
/// loadSource(). Fails (usage) if there is none, or if it is of another mesh or
/// model; (outOfMemory) if both exceed the memory limit.
pprt::Status addEvaluation(const Options &options, const pprt::World &world,
                           const std::string &level, Source &source);

/// The evaluation that the options ask for, in the layouts of `plan`; empty:
/// in those of --parallelize.
Evaluation evaluationOf(const Options &options, const std::string &plan = "");

/// Fails (usage) if a step of the program changes a parameter or state.
pprt::Status checkEvaluates(const std::string &name,
                            const pprt::ppx::ArtifactT &artifact);

} // namespace pp::run

#endif // PP_RUN_EVALPROGRAM_H

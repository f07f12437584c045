//===- Data.h - what --data and its options name ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the options and the program that wants the data. Out: batches, of the
// same files in all processes.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_DATA_H
#define PP_RUN_DATA_H

#include "Options.h"
#include "pprt/World.h"
#include "pprt/host/Batches.h"

namespace pp::run {

/// Opens the data, of which the tokenizer makes tokens first, to train on them
/// or to evaluate. Collective.
pprt::Expected<pprt::host::Batches>
openData(const Options &options, pprt::World &world,
         const pprt::ppx::ArtifactT &artifact, uint64_t seed, bool evaluates);

/// The options that choose and order data, with this seed.
pprt::host::DataOptions dataOptions(const Options &options, uint64_t seed);

} // namespace pp::run

#endif // PP_RUN_DATA_H

//===- Text.h - How reshard messages spell things -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For messages to people; no MLIR, as in all of the reshard planner.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TRANSFORMS_SHARD_RESHARD_TEXT_H
#define PP_TRANSFORMS_SHARD_RESHARD_TEXT_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

namespace pp::reshard {

bool isAxis(int axis, const Mesh &mesh);

const char *spell(Reduction reduction);

/// The axis name in quotes, or its number if the mesh has no such axis.
std::string spellAxis(int axis, const Mesh &mesh);
std::string spellAxes(const std::vector<int> &axes, const Mesh &mesh);

} // namespace pp::reshard

#endif // PP_TRANSFORMS_SHARD_RESHARD_TEXT_H

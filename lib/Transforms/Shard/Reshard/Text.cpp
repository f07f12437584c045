//===- Text.cpp - Shardings and steps as text -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "Text.h"

namespace pp::reshard {

const char *spell(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  case Reduction::Prod:
    return "prod";
  case Reduction::And:
    return "and";
  case Reduction::Or:
    return "or";
  }
  return "unknown";
}

bool isAxis(int axis, const Mesh &mesh) {
  return axis >= 0 && axis < static_cast<int>(mesh.size());
}

std::string spellAxis(int axis, const Mesh &mesh) {
  return isAxis(axis, mesh) ? '"' + mesh[axis].name + '"'
                            : "#" + std::to_string(axis);
}

static std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string spellAxes(const std::vector<int> &axes, const Mesh &mesh) {
  std::vector<std::string> names;
  for (int axis : axes)
    names.push_back(spellAxis(axis, mesh));
  return "{" + join(names) + "}";
}

std::string toString(const TensorSharding &sharding, const Mesh &mesh) {
  std::vector<std::string> dims, partial;
  for (const std::vector<int> &axes : sharding.dims)
    dims.push_back(spellAxes(axes, mesh));
  for (auto [axis, reduction] : sharding.partial)
    partial.push_back(spellAxis(axis, mesh) + ":" + spell(reduction));
  std::string text = "[" + join(dims) + "]";
  return partial.empty() ? text : text + ", partial={" + join(partial) + "}";
}

const char *toString(StepKind kind) {
  switch (kind) {
  case StepKind::AllSlice:
    return "all_slice";
  case StepKind::AllGather:
    return "all_gather";
  case StepKind::AllReduce:
    return "all_reduce";
  case StepKind::ReduceScatter:
    return "reduce_scatter";
  case StepKind::AllToAll:
    return "all_to_all";
  case StepKind::Permute:
    return "permute";
  }
  return "unknown";
}

std::string toString(const ReshardStep &step, const Mesh &mesh) {
  std::vector<std::string> attributes;
  if (step.dim >= 0)
    attributes.push_back("dim=" + std::to_string(step.dim));
  if (step.splitDim >= 0)
    attributes.push_back("split_dim=" + std::to_string(step.splitDim));
  if (step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter)
    attributes.push_back(std::string("reduction=") + spell(step.reduction));
  std::string text = toString(step.kind);
  if (!attributes.empty())
    text += "(" + join(attributes) + ")";
  text += " over " + spellAxes(step.axes, mesh);
  return step.target.empty() ? text
                             : text + " to " + spellAxes(step.target, mesh);
}

} // namespace pp::reshard

//===- Reference.cpp - a program beside the model it came from ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Partitioning, by a pass or by hand, keeps the names of a step's interface.
// This compares them, so that only numbers can differ.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include <map>
#include <set>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

/// `f64[4, 3]`.
static std::string typeOf(const ppx::ArgumentT &argument) {
  std::string text =
      std::string(ppx::EnumNameElementType(argument.element)) + "[";
  for (size_t i = 0; i < argument.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(argument.shape[i]);
  return text + "]";
}

/// `param 'w' of f64[4, 3]`.
static std::string describe(const ppx::ArgumentT &argument) {
  return std::string(ppx::EnumNameRole(argument.role)) + " '" + argument.name +
         "' of " + typeOf(argument);
}

static Status differs(const std::string &expected, const std::string &got) {
  return Status(ExitCode::usage, "--reference expects a model with " +
                                     expected + ", got " + got);
}

static std::map<std::string, const ppx::ArgumentT *>
argumentsOf(const ppx::ArtifactT &artifact) {
  std::map<std::string, const ppx::ArgumentT *> byName;
  for (const auto &argument : artifact.arguments)
    byName.emplace(argument->name, argument.get());
  return byName;
}

static std::set<std::string> metricsOf(const ppx::ArtifactT &artifact) {
  std::set<std::string> names;
  for (const auto &output : artifact.outputs)
    if (output->role == ppx::OutputRole_metric)
      names.insert(output->name);
  return names;
}

Status
pp::run::matchParameters(const ppx::ArtifactT &program,
                         const std::map<std::string, std::string> &types) {
  for (const auto &argument : program.arguments)
    if (const auto found = types.find(argument->name);
        found != types.end() && found->second != typeOf(*argument))
      return differs(describe(*argument) + ", as the program has",
                     found->second);
  return {};
}

Status pp::run::matchReference(const ppx::ArtifactT &program,
                               const ppx::ArtifactT &reference) {
  const auto mine = argumentsOf(program), its = argumentsOf(reference);
  for (const auto &argument : program.arguments) {
    const auto found = its.find(argument->name);
    if (found == its.end())
      return differs(describe(*argument) + ", as the program has", "none");
    const ppx::ArgumentT &other = *found->second;
    if (other.role != argument->role || other.element != argument->element ||
        other.shape != argument->shape)
      return differs(describe(*argument) + ", as the program has",
                     describe(other));
  }
  for (const auto &argument : reference.arguments)
    if (!mine.count(argument->name))
      return differs("what the program has", describe(*argument) + " besides");
  const std::set<std::string> ours = metricsOf(program),
                              theirs = metricsOf(reference);
  for (const std::string &name : ours)
    if (!theirs.count(name))
      return differs("metric '" + name + "', as the program has", "none");
  for (const std::string &name : theirs)
    if (!ours.count(name))
      return differs("what the program has", "metric '" + name + "' besides");
  return {};
}

Values pp::run::gradientsOf(const Values &states, const Values &before,
                            double beta1) {
  static const std::string prefix = "exp_avg.";
  Values gradients;
  for (const auto &[name, values] : states) {
    const auto old = before.find(name);
    if (name.compare(0, prefix.size(), prefix) != 0 || old == before.end() ||
        old->second.size() != values.size())
      continue;
    std::vector<double> &gradient = gradients[name.substr(prefix.size())];
    for (size_t i = 0; i < values.size(); ++i)
      gradient.push_back((values[i] - beta1 * old->second[i]) / (1 - beta1));
  }
  return gradients;
}

Values pp::run::keepCommon(Values values, const Values &other) {
  for (auto entry = values.begin(); entry != values.end();)
    entry = other.count(entry->first) ? std::next(entry) : values.erase(entry);
  return values;
}

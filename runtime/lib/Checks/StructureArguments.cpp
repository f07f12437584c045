//===- StructureArguments.cpp - do arguments and outputs fit their slots? -===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The table of arguments locates each shard of a parameter, state, input or
// label; the table of outputs tells how emitted shards make up a whole tensor.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

std::optional<std::vector<uint64_t>> checks::shardShape(
    const ppx::ArtifactT &artifact, const std::vector<uint64_t> &shape,
    const std::vector<std::unique_ptr<ppx::DimensionAxesT>> &sharding) {
  std::vector<uint64_t> result = shape;
  for (size_t i = 0; i < sharding.size(); ++i)
    for (uint32_t axis : sharding[i]->axes) {
      const uint32_t size = artifact.axes[axis]->size;
      if (result[i] % size != 0)
        return std::nullopt;
      result[i] /= size;
    }
  return result;
}

/// `sharding` must name each axis once and divide `tensor.padded_shape`.
template <typename Tensor>
static bool checkSharding(const ppx::ArtifactT &artifact,
                          const std::string &what, const Tensor &tensor,
                          FindingList &report) {
  auto fail = [&](const std::string &message) {
    report.add(what + " expects " + message);
    return false;
  };
  if (tensor.sharding.size() != tensor.shape.size())
    return fail(text("a sharding of ", tensor.shape.size(), " dimensions, got ",
                     tensor.sharding.size()));
  std::vector<bool> used(artifact.axes.size());
  for (const auto &dimension : tensor.sharding)
    for (uint32_t axis : dimension->axes) {
      if (axis >= artifact.axes.size())
        return fail(
            text("mesh axes below ", artifact.axes.size(), ", got ", axis));
      if (used[axis])
        return fail(text("each mesh axis once, got '",
                         artifact.axes[axis]->name, "' twice"));
      used[axis] = true;
    }
  if (!shardShape(artifact, tensor.padded_shape, tensor.sharding))
    return fail("axes that divide its padded shape, got a remainder");
  return true;
}

/// Checks the common parts of arguments and outputs: element, shapes, sharding.
template <typename Tensor>
static bool checkTensor(const ppx::ArtifactT &artifact, const std::string &what,
                        const Tensor &tensor, FindingList &report) {
  report.work(1 + tensor.shape.size());
  auto fail = [&](const std::string &message) {
    report.add(what + " expects " + message);
    return false;
  };
  if (!isOneOf(tensor.element, ppx::ElementType_MIN, ppx::ElementType_MAX))
    return fail(text("a known element type, got ", int(tensor.element)));
  if (tensor.padded_shape.size() != tensor.shape.size())
    return fail(text("a padded shape of ", tensor.shape.size(),
                     " dimensions, got ", tensor.padded_shape.size()));
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.padded_shape[i] < tensor.shape[i])
      return fail(text("dimension ", i, " padded to at least ", tensor.shape[i],
                       ", got ", tensor.padded_shape[i]));
  if (!denseBytes(tensor.padded_shape, elementSize(tensor.element)))
    return fail("less than 2^63 bytes, got more");
  return checkSharding(artifact, what, tensor, report);
}

/// Each program's slot of a parameter or state holds one shard of it. Inputs
/// have no slots of their own: instructions that name their slots load their
/// shards, possibly one micro-batch at a time.
static void checkArgumentSlots(const ppx::ArtifactT &artifact,
                               const std::string &what, size_t argumentIndex,
                               FindingList &report) {
  const ppx::ArgumentT &argument = *artifact.arguments[argumentIndex];
  auto fail = [&](const std::string &message) {
    report.add(what + " expects " + message);
  };
  std::optional<uint64_t> bytes = denseBytes(
      *shardShape(artifact, argument.padded_shape, argument.sharding),
      elementSize(argument.element));
  for (const auto &each : artifact.programs) {
    report.work(1);
    const ppx::ProgramT &program = *each;
    const int32_t index = program.argument_slots[argumentIndex];
    if (index == -1)
      continue;
    if (!isPersistent(argument)) {
      fail(text("no slot of its own in program '", program.name,
                "', as it is loaded, got ", index));
      continue;
    }
    if (index < 0 || size_t(index) >= program.slots.size()) {
      fail(text("-1 or one of ", program.slots.size(), " slots of program '",
                program.name, "', got ", index));
      continue;
    }
    const ppx::SlotT &slot = *program.slots[size_t(index)];
    if (!slot.more.empty())
      fail(text("a slot of one copy in program '", program.name, "', got ",
                slot.more.size() + 1));
    if (slot.element != argument.element || slot.bytes != bytes)
      fail(text("a slot of ", *bytes, " bytes ",
                ppx::EnumNameElementType(argument.element), " in program '",
                program.name, "', got ", slot.bytes, " bytes ",
                ppx::EnumNameElementType(slot.element)));
  }
}

/// Checks that parameters and states of one program do not overlap.
static void checkPersistentSlots(const ppx::ArtifactT &artifact,
                                 size_t programIndex, FindingList &report) {
  const ppx::ProgramT &program = *artifact.programs[programIndex];
  auto slotOf = [&](size_t argument) -> const ppx::SlotT & {
    return *program.slots[size_t(program.argument_slots[argument])];
  };
  std::vector<size_t> held; // empty slots overlap nothing
  for (size_t i = 0; i < artifact.arguments.size(); ++i)
    if (isPersistent(*artifact.arguments[i]) &&
        program.argument_slots[i] >= 0 && slotOf(i).bytes > 0)
      held.push_back(i);
  report.work(held.size());
  std::sort(held.begin(), held.end(), [&](size_t a, size_t b) {
    return slotOf(a).offset < slotOf(b).offset;
  });
  for (size_t i = 1; i < held.size(); ++i)
    if (slotOf(held[i]).offset <
        slotOf(held[i - 1]).offset + slotOf(held[i - 1]).bytes)
      report.add(text("program '", program.name, "' expects arguments '",
                      artifact.arguments[held[i - 1]]->name, "' and '",
                      artifact.arguments[held[i]]->name,
                      "' apart in memory, got slots that overlap"));
}

static void checkArgument(const ppx::ArtifactT &artifact, size_t index,
                          FindingList &report) {
  const ppx::ArgumentT &argument = *artifact.arguments[index];
  const std::string what = "argument '" + argument.name + "'";
  if (!isOneOf(argument.role, ppx::Role_MIN, ppx::Role_MAX))
    return report.add(
        text(what, " expects a known role, got ", int(argument.role)));
  if (argument.initializer &&
      !isOneOf(argument.initializer->kind, ppx::InitializerKind_MIN,
               ppx::InitializerKind_MAX))
    return report.add(text(what, " expects a known initializer, got ",
                           int(argument.initializer->kind)));
  if (!checkTensor(artifact, what, argument, report))
    return;
  if (argument.batch < -1 ||
      argument.batch >= int64_t(std::max<size_t>(1, argument.shape.size())))
    return report.add(text(what, " expects its batch to be -1 or one of ",
                           argument.shape.size(), " dimensions, got ",
                           argument.batch));
  const uint64_t width = elementSize(argument.element);
  if (denseBytes(argument.stored_shape, width) !=
      denseBytes(argument.shape, width))
    return report.add(
        what + " expects a stored shape of as many elements as its shape");
  if (!argument.stored_order.empty()) {
    std::vector<bool> seen(argument.shape.size());
    bool isOrder = argument.stored_order.size() == seen.size();
    for (size_t i = 0; isOrder && i < seen.size(); ++i) {
      const uint32_t dim = argument.stored_order[i];
      isOrder = dim < seen.size() && !seen[dim];
      if (isOrder)
        seen[dim] = true;
    }
    if (!isOrder)
      return report.add(what + " expects a stored order of its dimensions");
  }
  if (isPersistent(argument))
    for (const auto &dimension : argument.sharding)
      for (uint32_t axis : dimension->axes)
        if (artifact.axes[axis]->kind == ppx::AxisKind_time)
          return report.add(text(what,
                                 " expects axes of devices, got time "
                                 "axis '",
                                 artifact.axes[axis]->name, "'"));
  checkArgumentSlots(artifact, what, index, report);
}

static void checkOutput(const ppx::ArtifactT &artifact,
                        const ppx::OutputT &output, FindingList &report) {
  const std::string what = "output '" + output.name + "'";
  if (!isOneOf(output.role, ppx::OutputRole_MIN, ppx::OutputRole_MAX))
    return report.add(
        text(what, " expects a known role, got ", int(output.role)));
  if (checkTensor(artifact, what, output, report) &&
      output.role == ppx::OutputRole_loss && denseBytes(output.shape, 1) != 1)
    report.add(what + " expects one element as the loss");
}

void checks::checkArguments(const ppx::ArtifactT &artifact,
                            FindingList &report) {
  for (size_t i = 0; i < artifact.arguments.size(); ++i)
    checkArgument(artifact, i, report);
  for (const auto &output : artifact.outputs)
    checkOutput(artifact, *output, report);
  if (!report.empty())
    return;
  for (size_t i = 0; i < artifact.programs.size(); ++i)
    checkPersistentSlots(artifact, i, report);
}

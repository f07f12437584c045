//===- StructureCollectives.cpp - do collectives fit their tensors? -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a collective whose group and slots exist. Checks its kind and reduction,
// and that each output has the shape that the kind makes of its input for the
// number of members.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

using namespace pprt;
using namespace pprt::checks;

using Shape = std::vector<uint64_t>;

/// Multiplies or divides a dimension of `shape` by the members; fails if that
/// is impossible.
static Status scale(Shape &shape, uint32_t dimension, uint32_t members,
                    bool multiply) {
  auto bad = [](std::string message) {
    return Status(ExitCode::badArtifact, std::move(message));
  };
  if (dimension >= shape.size())
    return bad(
        text("expects a dimension below ", shape.size(), ", got ", dimension));
  uint64_t &size = shape[dimension];
  if (!multiply && size % members != 0)
    return bad(text("expects dimension ", dimension, " divisible by ", members,
                    " members, got ", size));
  size = multiply ? size * members : size / members;
  return {};
}

/// Turns the shape of an input into that of its output.
static Status applyCollective(const ppx::InstructionT &instruction,
                              size_t operand, uint32_t members, Shape &shape) {
  const auto &dimensions = instruction.dimensions;
  switch (instruction.collective) {
  case ppx::CollectiveKind_all_reduce:
  case ppx::CollectiveKind_permute:
    break;
  case ppx::CollectiveKind_all_gather:
    return scale(shape, dimensions[operand], members, /*multiply=*/true);
  case ppx::CollectiveKind_reduce_scatter:
    return scale(shape, dimensions[operand], members, /*multiply=*/false);
  case ppx::CollectiveKind_all_to_all: {
    Status split = scale(shape, instruction.split_dimensions[operand], members,
                         /*multiply=*/false);
    return split.ok()
               ? scale(shape, dimensions[operand], members, /*multiply=*/true)
               : split;
  }
  }
  return {};
}

/// Logic is for integers and booleans, sums are for numbers.
static bool canReduce(ppx::ElementType element, ppx::Reduction reduction) {
  switch (reduction) {
  case ppx::Reduction_sum:
    return element != ppx::ElementType_i1;
  case ppx::Reduction_max:
  case ppx::Reduction_min:
    return true;
  case ppx::Reduction_and_:
  case ppx::Reduction_or_:
    break;
  }
  return isInteger(element) || element == ppx::ElementType_i1;
}

void checks::checkCollectiveTensors(
    const Instruction &its, uint32_t members,
    const std::function<void(const std::string &)> &fail) {
  const ppx::InstructionT &instruction = *its;
  if (!isOneOf(instruction.collective, ppx::CollectiveKind_MIN,
               ppx::CollectiveKind_MAX))
    return fail(
        text("expects a known collective, got ", int(instruction.collective)));
  if (!isOneOf(instruction.reduction, ppx::Reduction_MIN, ppx::Reduction_MAX))
    return fail(
        text("expects a known reduction, got ", int(instruction.reduction)));
  if (instruction.arguments.empty() || instruction.arguments.size() % 2 != 0)
    return fail(text("expects as many outputs as inputs, got ",
                     instruction.arguments.size(), " arguments"));
  const bool reduces =
      instruction.collective == ppx::CollectiveKind_all_reduce ||
      instruction.collective == ppx::CollectiveKind_reduce_scatter;
  const size_t count = instruction.arguments.size() / 2;
  const bool exchanges =
      instruction.collective == ppx::CollectiveKind_all_to_all;
  const bool cuts =
      exchanges || instruction.collective == ppx::CollectiveKind_all_gather ||
      instruction.collective == ppx::CollectiveKind_reduce_scatter;
  if (instruction.dimensions.size() != (cuts ? count : 0) ||
      instruction.split_dimensions.size() != (exchanges ? count : 0))
    return fail(text("expects ", cuts ? count : 0, " dimensions and ",
                     exchanges ? count : 0, " to split, got ",
                     instruction.dimensions.size(), " and ",
                     instruction.split_dimensions.size()));
  for (size_t i = 0; i < count; ++i) {
    const ppx::SlotT &input = its.slot(i), &output = its.slot(count + i);
    const char *element = ppx::EnumNameElementType(input.element);
    if (input.element != output.element)
      fail(text("expects output ", i, " of its input's element type ", element,
                ", got ", ppx::EnumNameElementType(output.element)));
    if (reduces && !canReduce(input.element, instruction.reduction))
      fail(text("expects elements that '", nameOf(instruction.reduction),
                "' can reduce, got ", element));
    Shape shape = input.shape;
    const Status scaled = applyCollective(instruction, i, members, shape);
    if (!scaled.ok())
      fail(scaled.message());
    else if (shape != output.shape)
      fail(text("expects output ", i, " '", output.name, "' of ",
                denseBytes(shape, elementSize(input.element)).value_or(0),
                " bytes in the shape that the collective gives, got ",
                output.bytes, " bytes"));
  }
}

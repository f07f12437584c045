//===- DeviceSimulator.cpp - Runs reshard steps on every device -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "DeviceSimulator.h"

#include "Groups.h"

#include <algorithm>
#include <map>
#include <random>

namespace pp::reshard::judge {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t product(const std::vector<int64_t> &sizes, size_t begin,
                       size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= sizes[i];
  return result;
}

Tensor numbered(const std::vector<int64_t> &shape) {
  Tensor tensor{shape, std::vector<int64_t>(product(shape, 0, shape.size()))};
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = static_cast<int64_t>(i) + 1;
  return tensor;
}

/// Part `index` of `count` equal parts along `dim`.
static Tensor slice(const Tensor &tensor, int dim, int64_t index,
                    int64_t count) {
  Tensor part{tensor.shape, {}};
  part.shape[dim] /= count;
  int64_t outer = product(tensor.shape, 0, dim);
  int64_t inner = product(part.shape, dim, part.shape.size());
  for (int64_t row = 0; row < outer; ++row) {
    auto begin = tensor.data.begin() + (row * count + index) * inner;
    part.data.insert(part.data.end(), begin, begin + inner);
  }
  return part;
}

static Tensor concatenate(const std::vector<const Tensor *> &parts, int dim) {
  Tensor whole{parts.front()->shape, {}};
  int64_t outer = product(whole.shape, 0, dim);
  int64_t inner = product(whole.shape, dim, whole.shape.size());
  whole.shape[dim] *= static_cast<int64_t>(parts.size());
  for (int64_t row = 0; row < outer; ++row)
    for (const Tensor *part : parts)
      whole.data.insert(whole.data.end(), part->data.begin() + row * inner,
                        part->data.begin() + (row + 1) * inner);
  return whole;
}

static int64_t combine(Reduction reduction, int64_t a, int64_t b) {
  switch (reduction) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Max:
    return std::max(a, b);
  case Reduction::Min:
    return std::min(a, b);
  case Reduction::Prod:
    return a * b;
  case Reduction::And:
    return a & b;
  case Reduction::Or:
    return a | b;
  }
  return 0;
}

static Tensor combine(Reduction reduction,
                      const std::vector<const Tensor *> &addends) {
  Tensor result = *addends.front();
  for (size_t i = 1; i < addends.size(); ++i)
    for (size_t element = 0; element < result.data.size(); ++element)
      result.data[element] =
          combine(reduction, result.data[element], addends[i]->data[element]);
  return result;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static std::vector<int> partialAxes(const TensorSharding &sharding) {
  std::vector<int> axes;
  for (auto [axis, reduction] : sharding.partial)
    axes.push_back(axis);
  return axes;
}

/// The part of `global` that `device` is responsible for.
static Tensor shardOf(const Mesh &mesh, const Tensor &global,
                      const TensorSharding &sharding, int device) {
  Tensor shard = global;
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    int64_t count = 1;
    for (int axis : sharding.dims[dim])
      count *= mesh[axis].size;
    shard = slice(shard, static_cast<int>(dim),
                  numberAlong(mesh, device, sharding.dims[dim]), count);
  }
  return shard;
}

/// Random tensors that combine to `total`.
static std::vector<Tensor> split(const Tensor &total, Reduction reduction,
                                 int count, std::mt19937 &random) {
  std::vector<Tensor> addends(count, total);
  for (size_t element = 0; element < total.data.size(); ++element) {
    int64_t value = total.data[element];
    int chosen = static_cast<int>(random() % count);
    for (int i = 0; i < count; ++i) {
      if (i == chosen)
        continue;
      int64_t noise = static_cast<int64_t>(random() % 1000);
      int64_t &addend = addends[i].data[element];
      switch (reduction) {
      case Reduction::Sum:
        addend = noise;
        addends[chosen].data[element] -= noise;
        break;
      case Reduction::Max:
        addend = value - noise;
        break;
      case Reduction::Min:
        addend = value + noise;
        break;
      case Reduction::Prod:
        addend = noise % 2 ? -1 : 1;
        addends[chosen].data[element] *= addend;
        break;
      case Reduction::And:
        addend = value | noise;
        break;
      case Reduction::Or:
        addend = value & noise;
        break;
      }
    }
  }
  return addends;
}

Devices distribute(const Mesh &mesh, const Tensor &global,
                   const TensorSharding &sharding, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> axes = partialAxes(sharding);
  int count = 1;
  for (int axis : axes)
    count *= static_cast<int>(mesh[axis].size);
  std::vector<Tensor> addends{global};
  if (!axes.empty())
    addends = split(global, sharding.partial.front().second, count, random);
  Devices devices;
  for (int device = 0; device < deviceCount(mesh); ++device)
    devices.push_back(shardOf(mesh, addends[numberAlong(mesh, device, axes)],
                              sharding, device));
  return devices;
}

std::string findDifference(const Mesh &mesh, const Tensor &global,
                           const TensorSharding &sharding,
                           const Devices &devices) {
  for (int device = 0; device < deviceCount(mesh); ++device)
    if (devices[device].shape != shardOf(mesh, global, sharding, device).shape)
      return "wrong shape on device " + std::to_string(device);

  std::vector<int> axes = partialAxes(sharding);
  for (const std::vector<int> &group : groupsAlong(mesh, axes)) {
    std::vector<const Tensor *> addends;
    for (int device : group)
      addends.push_back(&devices[device]);
    Tensor total = axes.empty()
                       ? *addends.front()
                       : combine(sharding.partial.front().second, addends);
    if (total.data != shardOf(mesh, global, sharding, group.front()).data)
      return "wrong values on device " + std::to_string(group.front());
  }

  // Partial values are copies of each other along unused axes, too.
  std::vector<bool> used(mesh.size());
  for (int axis : axes)
    used[axis] = true;
  for (const std::vector<int> &dimAxes : sharding.dims)
    for (int axis : dimAxes)
      used[axis] = true;
  std::vector<int> unused;
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (!used[axis])
      unused.push_back(static_cast<int>(axis));
  for (const std::vector<int> &group : groupsAlong(mesh, unused))
    for (int device : group)
      if (devices[device].data != devices[group.front()].data)
        return "device " + std::to_string(device) +
               " holds no copy of device " + std::to_string(group.front());
  return "";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// What the members of a group hold after `step`, given what they held before;
/// of a permute, the members of the target's group.
static std::vector<Tensor> runOnGroup(const ReshardStep &step,
                                      const std::vector<const Tensor *> &in) {
  int64_t count = static_cast<int64_t>(in.size());
  std::vector<Tensor> out;
  for (int64_t member = 0; member < count; ++member) {
    switch (step.kind) {
    case StepKind::AllSlice:
      out.push_back(slice(*in[member], step.dim, member, count));
      break;
    case StepKind::AllGather:
      out.push_back(concatenate(in, step.dim));
      break;
    case StepKind::AllReduce:
      out.push_back(combine(step.reduction, in));
      break;
    case StepKind::ReduceScatter:
      out.push_back(
          slice(combine(step.reduction, in), step.dim, member, count));
      break;
    case StepKind::AllToAll: {
      std::vector<Tensor> chunks;
      for (const Tensor *sender : in)
        chunks.push_back(slice(*sender, step.splitDim, member, count));
      std::vector<const Tensor *> received;
      for (const Tensor &chunk : chunks)
        received.push_back(&chunk);
      out.push_back(concatenate(received, step.dim));
      break;
    }
    case StepKind::Permute:
      out.push_back(*in[member]);
      break;
    }
  }
  return out;
}

/// Why the step cannot be run at all; empty if it can.
static std::string findFault(const ReshardStep &step, const Tensor &local,
                             int64_t count) {
  int rank = static_cast<int>(local.shape.size());
  auto isDim = [&](int dim) { return dim >= 0 && dim < rank; };
  bool isSplit =
      step.kind == StepKind::AllSlice || step.kind == StepKind::ReduceScatter;
  bool isExchange = step.kind == StepKind::AllToAll;
  if ((isSplit || isExchange || step.kind == StepKind::AllGather) !=
      isDim(step.dim))
    return "a dimension too many or too few";
  if (isExchange != isDim(step.splitDim) ||
      (isExchange && step.dim == step.splitDim))
    return "a split dimension too many or too few";
  if (isSplit && local.shape[step.dim] % count != 0)
    return "a dimension that does not divide";
  if (isExchange && local.shape[step.splitDim] % count != 0)
    return "a split dimension that does not divide";
  std::vector<int> target = step.target, axes = step.axes;
  if (step.kind != StepKind::Permute)
    return target.empty() ? "" : "a target too many";
  if (target == axes)
    return "a permute that moves nothing";
  std::sort(target.begin(), target.end());
  std::sort(axes.begin(), axes.end());
  if (target != axes)
    return "a target of other axes";
  return "";
}

std::string apply(const Mesh &mesh, const ReshardStep &step, Devices &devices) {
  Devices after(devices.size());
  // Groups of the same devices have the same first one.
  std::map<int, std::vector<int>> receivers;
  if (step.kind == StepKind::Permute)
    for (const std::vector<int> &group : groupsAlong(mesh, step.target))
      receivers[group.front()] = group;
  for (const std::vector<int> &group : groupsAlong(mesh, step.axes)) {
    std::string fault = findFault(step, devices[group.front()],
                                  static_cast<int64_t>(group.size()));
    if (!fault.empty())
      return fault;
    std::vector<const Tensor *> in;
    for (int device : group)
      in.push_back(&devices[device]);
    std::vector<Tensor> out = runOnGroup(step, in);
    const std::vector<int> &holders =
        step.kind == StepKind::Permute ? receivers.at(group.front()) : group;
    for (size_t member = 0; member < group.size(); ++member)
      after[holders[member]] = std::move(out[member]);
  }
  devices = std::move(after);
  return "";
}

} // namespace pp::reshard::judge

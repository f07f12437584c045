//===- RandomDataset.cpp - --data=random ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An element follows from the seed, the step, the tensor and its own index.
//
//===----------------------------------------------------------------------===//
#include "Datasets.h"
#include "Shuffle.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"

using namespace pprt::host;
using pprt::BatchLayout;
using pprt::ExitCode;
using pprt::isInteger;
using pprt::Status;
using namespace pprt::ppx;

namespace {
class RandomDataset : public Dataset {
public:
  RandomDataset(std::vector<DataTensor> tensors, uint64_t seed)
      : Dataset(std::move(tensors)), seed(seed) {}

  Status read(uint64_t step, size_t index, void *out) const override;

private:
  uint64_t seed;
};
} // namespace

OpenedDataset pprt::host::openRandom(std::vector<DataTensor> tensors,
                                     uint64_t seed) {
  for (const DataTensor &tensor : tensors)
    if (tensor.isUsed && isInteger(tensor.element) && tensor.bound == 0)
      return Status(ExitCode::usage,
                    "--data=random expects a known bound (pp.bound) for the "
                    "integers of '" +
                        tensor.name + "', got none; give it files");
  return std::unique_ptr<Dataset>(new RandomDataset(std::move(tensors), seed));
}

Status RandomDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  const uint64_t stream = mix(mix(mix(seed) + step) + index);
  const auto set = [&](uint64_t element, uint64_t i) {
    const uint64_t bits = mix(stream + element);
    if (isInteger(tensor.element)) {
      // The high half of a product is uniform below the bound.
      auto product = static_cast<unsigned __int128>(bits) * tensor.bound;
      setInteger(tensor.element, out, i, static_cast<int64_t>(product >> 64));
    } else if (tensor.element == ElementType_i1) {
      static_cast<uint8_t *>(out)[i] = bits >> 63;
    } else {
      double value =
          static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1p-52;
      convertFloats(
          ElementType_f64, &value, tensor.element,
          static_cast<char *>(out) + i * pprt::elementSize(tensor.element), 1);
    }
  };
  const BatchLayout layout = layoutOf(index);
  uint64_t place = 0;
  return forEachKept(index, [&](uint64_t outer, uint64_t row, uint64_t count) {
    const uint64_t first = (outer * layout.rows + row) * layout.inner;
    for (uint64_t i = 0; i < count * layout.inner; ++i)
      set(first + i, place++);
    return Status();
  });
}

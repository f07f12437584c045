//===- SafeTensors.h - Parameter files --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A strict reader and a writer of the safetensors format: 8 bytes with the
// length of a JSON header, the header, then the tensors, dense and without
// gaps. A malformed file is badParameters; one that cannot be opened is io.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_SAFETENSORS_H
#define PPRT_HOST_SAFETENSORS_H

#include "pprt/Files.h"
#include "pprt/Initialize.h"
#include "pprt/Ppx.h"

#include <functional>
#include <map>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Location of a tensor in a file.
struct StoredTensor {
  /// Type as the header spells it: F32, BF16, I64, ...
  std::string type;
  std::vector<uint64_t> shape;
  /// Offset from the start of the file.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class SafeTensors {
public:
  /// Reads and checks the header. Tensors are read on demand.
  static Expected<SafeTensors> open(const std::string &path);

  /// Returns the tensor called `name` or, as Hugging Face spells it in the
  /// files of some GPT-2 models, `transformer.` + name. Null if there is none.
  const StoredTensor *find(const std::string &name) const;

  /// Checks that read() would find the tensor: fails (badParameters) if it is
  /// missing or has another shape or type.
  Status expect(const std::string &name, ppx::ElementType element,
                const std::vector<uint64_t> &shape) const;

  /// Reads the tensor called `name` to `out`, which holds as many elements of
  /// `element` as `shape` has. Floating-point types are converted to each
  /// other, rounding to nearest even; other types must match. Fails as
  /// expect() does.
  Status read(const std::string &name, ppx::ElementType element,
              const std::vector<uint64_t> &shape, void *out) const;
  /// The same for some of its elements. Neighbouring runs are read at once, at
  /// most a MiB.
  Status read(const std::string &name, ppx::ElementType element,
              const std::vector<uint64_t> &shape,
              const std::vector<ElementRun> &runs) const;

  /// Reads bytes [begin, begin + count) of a tensor that has them.
  Status readBytes(const std::string &name, uint64_t begin, uint64_t count,
                   void *out) const;

  const std::map<std::string, StoredTensor> &tensors() const { return table; }
  const std::map<std::string, std::string> &metadata() const { return notes; }
  const std::string &path() const { return file.path(); }
  Expected<uint32_t> fingerprint() const { return file.fingerprint(); }

private:
  explicit SafeTensors(InputFile file) : file(std::move(file)) {}

  InputFile file;
  std::map<std::string, StoredTensor> table;
  std::map<std::string, std::string> notes;
};

/// Fails (badParameters) if the file `path` could not hold a tensor of this
/// name.
Status checkTensorName(const std::string &path, const std::string &name);

/// A tensor to be written.
struct TensorToStore {
  std::string name;
  ppx::ElementType element;
  std::vector<uint64_t> shape;
  const void *values = nullptr; ///< if null, they are asked for
};

/// Returns the order of tensors in a file: the largest element types first, so
/// that all are aligned, by name within a type.
std::vector<size_t> orderInFile(const std::vector<TensorToStore> &tensors);

/// Returns what stands before the elements of the tensors, in that order. Fails
/// (badParameters), naming the file, if it cannot hold them.
Expected<std::string>
printSafeTensorsHeader(const std::string &path,
                       const std::vector<TensorToStore> &tensors,
                       const std::map<std::string, std::string> &metadata = {});

/// Writes `tensors` in that order. `read(i, out)` must fill `out` with the
/// elements of `tensors[i]`, unless that has none: only one tensor is in memory
/// at a time.
Status
writeSafeTensors(const std::string &path,
                 const std::vector<TensorToStore> &tensors,
                 const std::function<Status(size_t index, void *out)> &read,
                 const std::map<std::string, std::string> &metadata = {});

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_SAFETENSORS_H

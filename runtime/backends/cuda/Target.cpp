//===- Target.cpp - what a compiler asks about GPUs -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Contractions are cublasLt's: a matrix has neighbours along its rows or along
// its columns, and is given as it lies. Nothing here needs CUDA.
//
//===----------------------------------------------------------------------===//
#include "../Targets.h"

using namespace pprt;

/// What every algorithm may take, so that one can be chosen on the device
/// without another layout of memory. NVIDIA advises 32 MiB for the largest
/// products on Hopper; those of a slot's size do with less.
static constexpr uint64_t kWorkspaceBytes = 4 << 20;

namespace {

class GpuTarget final : public Target {
public:
  explicit GpuTarget(const std::string &label) : label(label) {}

  const std::string &name() const override { return label; }
  const std::string &processor() const override { return label; }
  Code code() const override { return Code::ptx; }
  Status verify(const ppx::ContractionT &contraction) const override;
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    contraction.workspace_bytes = kWorkspaceBytes;
    contraction.library = ppx::MatrixLibrary_any;
  }

private:
  const std::string label;
};

Status refuse(const std::string &expected, const std::string &got) {
  return Status(ExitCode::badArtifact, "expects " + expected + ", got " + got);
}

Status verifyMatrix(const char *name, const ppx::MatrixViewT &view,
                    uint64_t rows, uint64_t columns) {
  if (!view.rows.empty() || !view.columns.empty() || !view.windows.empty())
    return refuse(std::string("a matrix for ") + name, "windows");
  const bool isAlongRows =
      columns == 1 ||
      (view.column_stride == 1 && (rows == 1 || view.row_stride >= columns));
  const bool isAlongColumns =
      rows == 1 ||
      (view.row_stride == 1 && (columns == 1 || view.column_stride >= rows));
  if (!isAlongRows && !isAlongColumns)
    return refuse(std::string("neighbours along rows or columns of ") + name,
                  "strides " + std::to_string(view.row_stride) + " and " +
                      std::to_string(view.column_stride));
  return {};
}

Status GpuTarget::verify(const ppx::ContractionT &c) const {
  const bool isKnown = c.element == ppx::ElementType_f32 ||
                       c.element == ppx::ElementType_f64 ||
                       c.element == ppx::ElementType_bf16;
  const bool isWidened = c.element == ppx::ElementType_bf16 &&
                         c.out_element == ppx::ElementType_f32;
  if (!isKnown || (c.out_element != c.element && !isWidened))
    return refuse("f32, f64 or bf16, of which f32 may come",
                  std::string(ppx::EnumNameElementType(c.element)) + " to " +
                      ppx::EnumNameElementType(c.out_element));
  if (!c.epilogues.empty())
    return refuse("no epilogue",
                  ppx::EnumNameEpilogueKind(c.epilogues.front()->kind));
  for (auto &[name, view, rows, columns] :
       {std::tuple("lhs", c.lhs.get(), c.m, c.k),
        {"rhs", c.rhs.get(), c.k, c.n},
        {"out", c.out.get(), c.m, c.n}})
    if (Status status = verifyMatrix(name, *view, rows, columns); !status.ok())
      return status;
  return {};
}

} // namespace

std::vector<std::unique_ptr<const Target>> cuda::makeTargets() {
  std::vector<std::unique_ptr<const Target>> all;
  for (const char *name : {"sm_80", "sm_90", "sm_100"})
    all.push_back(std::make_unique<GpuTarget>(name));
  return all;
}

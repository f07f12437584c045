//===- ExportStableHLO.cpp - modules as StableHLO -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Levels graph and spmd are one function for all devices.
//
//===----------------------------------------------------------------------===//
#include "Interface.h"
#include "pp/Export/StableHLO.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static std::string writeModule(StringRef name, StepWriter &step) {
  const int64_t replicas = step.getDevice().getNumReplicas();
  return "module @" + name.str() +
         " attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = " +
         std::to_string(replicas) + " : i32} {\n" + step.out.text + "}\n";
}

FailureOr<std::vector<ExportedFile>> pp::exportStableHLO(ModuleOp module,
                                                         StringRef path) {
  FailureOr<func::FuncOp> main = lookupMain(module);
  if (failed(main))
    return failure();
  MeshOp mesh = lookupMesh(module);
  StepWriter step(*main, mesh ? mesh.getMesh() : MeshAttr());
  if (failed(step.write()))
    return failure();
  std::string description;
  llvm::raw_string_ostream out(description);
  llvm::json::OStream json(out, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", kInterfaceVersion);
    writeMesh(json, step.getDevice());
    writeBorder(json, *main, step);
  });
  description += "\n";
  return std::vector<ExportedFile>{
      {path.str(), writeModule("step", step)},
      {path.str() + ".json", std::move(description)}};
}

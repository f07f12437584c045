//===- ExportStableHLO.cpp - modules as StableHLO -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Level graph is for one device, whatever its shardings ask for; level spmd is
// one function for all devices; stages are programs of their own.
//
//===----------------------------------------------------------------------===//
#include "Interface.h"
#include "Stages.h"
#include "StepWriter.h"
#include "pp/Export/StableHLO.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

std::string hlo::writeModule(StringRef name, const OpWriter &functions) {
  const int64_t replicas = functions.getDevice().getNumReplicas();
  return "module @" + name.str() +
         " attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = " +
         std::to_string(replicas) + " : i32} {\n" + functions.out.text + "}\n";
}

static FailureOr<std::vector<ExportedFile>>
exportStep(func::FuncOp main, MeshAttr mesh, StringRef path) {
  StepWriter step(main, mesh);
  if (failed(step.write()))
    return failure();
  std::string description;
  llvm::raw_string_ostream out(description);
  llvm::json::OStream json(out, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("version", kInterfaceVersion);
    writeMesh(json, step.getDevice());
    writeBorder(json, main, mesh,
                [&](Value value) { return step.outerType(value); });
  });
  return std::vector<ExportedFile>{{path.str(), writeModule("step", step)},
                                   {path.str() + ".json", description + "\n"}};
}

FailureOr<std::vector<ExportedFile>> pp::exportStableHLO(ModuleOp module,
                                                         StringRef path) {
  FailureOr<func::FuncOp> main = lookupMain(module);
  if (failed(main))
    return failure();
  auto level = module->getAttrOfType<LevelAttr>(attrs::kLevel);
  if (!level || level.getValue() == Level::Graph)
    return exportStep(*main, MeshAttr(), path);
  FailureOr<MeshOp> mesh = requireMesh(module);
  if (failed(mesh))
    return failure();
  MeshAttr axes = mesh->getMesh();
  if (!main->getOps<FragmentOp>().empty())
    return exportStages(*main, axes, path);
  if (axes.getStageAxis())
    return module.emitError("expects a module of level pipeline for a mesh "
                            "with stages; pp-split-stages makes it");
  return exportStep(*main, axes, path);
}

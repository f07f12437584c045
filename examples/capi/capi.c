/* capi.c - pp in a compiler that is written in C.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parses a module, runs pp-parallelize with the keys of the command line, and
 * prints the module: capi gpt.mlir "dp=2 tp=2". MLIR prints what is wrong.
 */
#include <pp-c/Attributes.h>
#include <pp-c/Dialect.h>
#include <pp-c/Passes.h>
#include <stdio.h>

static void print(MlirStringRef text, void *file) {
  fwrite(text.data, 1, text.length, file);
}

/* Whether the passes have run; says how many devices the plan has. */
static int parallelize(MlirContext context, MlirOperation module,
                       const char *keys) {
  char pipeline[1024];
  snprintf(pipeline, sizeof(pipeline), "pp-parallelize{%s}", keys);
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirLogicalResult result = mlirOpPassManagerAddPipeline(
      mlirPassManagerGetAsOpPassManager(passes),
      mlirStringRefCreateFromCString(pipeline), print, stderr);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(passes, module);
  mlirPassManagerDestroy(passes);
  if (mlirLogicalResultIsFailure(result))
    return 0;
  MlirAttribute plan = mlirOperationGetDiscardableAttributeByName(
      module, mlirStringRefCreateFromCString("pp.plan"));
  fprintf(stderr, "devices: %d\n",
          (int)ppMeshAttrGetNumDevices(ppPlanAttrGetMesh(plan)));
  return 1;
}

int main(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  ppRegisterAllDialects(registry);
  ppRegisterAllPasses();
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/true);
  MlirModule module = mlirModuleCreateParseFromFile(
      context, mlirStringRefCreateFromCString(argc > 1 ? argv[1] : "-"));
  int isDone = !mlirModuleIsNull(module);
  if (isDone) {
    isDone = parallelize(context, mlirModuleGetOperation(module),
                         argc > 2 ? argv[2] : "");
    if (isDone) {
      mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
      putchar('\n');
    }
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return !isDone;
}

/* attributes.c - shardings and plans in C: read, taken apart, made again.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ends with the line of the first expectation that is not met, or 0.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/Diagnostics.h>
#include <pp-c/Attributes.h>
#include <pp-c/Dialect.h>
#include <pp-c/Passes.h>
#include <string.h>

#define EXPECT(condition)                                                      \
  if (!(condition))                                                            \
  return __LINE__ % 256

static MlirStringRef text(const char *chars) {
  return mlirStringRefCreateFromCString(chars);
}

static bool is(MlirStringRef found, const char *expected) {
  return mlirStringRefEqual(found, text(expected));
}

static void append(MlirStringRef part, void *all) {
  strncat(all, part.data, part.length);
}

static MlirLogicalResult count(MlirDiagnostic diagnostic, void *errors) {
  (void)diagnostic;
  ++*(int *)errors;
  return mlirLogicalResultSuccess();
}

static int checkSharding(MlirContext context, int *errors) {
  const char *written =
      "#pp.sharding<@mesh, [{\"dp\", \"tp\"}, {?}], partial = {\"pp\"=sum}>";
  MlirAttribute sharding = mlirAttributeParseGet(context, text(written));
  EXPECT(!mlirAttributeIsNull(sharding) && ppAttributeIsASharding(sharding) &&
         !ppAttributeIsAPlan(sharding));
  char printed[200] = "";
  mlirAttributePrint(sharding, append, printed);
  EXPECT(strcmp(printed, written) == 0);
  EXPECT(is(ppShardingAttrGetMesh(sharding), "mesh") &&
         ppShardingAttrGetRank(sharding) == 2);
  EXPECT(ppShardingAttrGetNumPartialAxes(sharding) == 1 &&
         is(ppShardingAttrGetPartialAxis(sharding, 0), "pp"));
  MlirAttribute first = ppShardingAttrGetDim(sharding, 0),
                second = ppShardingAttrGetDim(sharding, 1);
  EXPECT(ppAttributeIsADimSharding(first) &&
         !ppAttributeIsADimSharding(sharding));
  EXPECT(ppDimShardingAttrGetNumAxes(first) == 2 &&
         is(ppDimShardingAttrGetAxis(first, 1), "tp"));
  EXPECT(!ppDimShardingAttrIsOpen(first) && ppDimShardingAttrIsOpen(second));
  MlirStringRef axes[] = {text("dp"), text("tp")};
  MlirAttribute dims[] = {ppDimShardingAttrGet(context, 2, axes, false),
                          ppDimShardingAttrGet(context, 0, NULL, true)};
  EXPECT(mlirAttributeEqual(dims[0], first) &&
         mlirAttributeEqual(dims[1], second));
  MlirAttribute made = ppShardingAttrGet(context, text("mesh"), 2, dims);
  EXPECT(mlirAttributeEqual(
      made,
      mlirAttributeParseGet(
          context, text("#pp.sharding<@mesh, [{\"dp\", \"tp\"}, {?}]>"))));
  /* An axis may split one dimension. */
  dims[1] = first;
  EXPECT(
      *errors == 0 &&
      mlirAttributeIsNull(ppShardingAttrGet(context, text("mesh"), 2, dims)) &&
      *errors == 1);
  EXPECT(mlirAttributeIsNull(
             mlirAttributeParseGet(context, text("#pp.sharding<@mesh, [{"))) &&
         *errors == 2);
  return 0;
}

static int checkPlan(MlirContext context) {
  MlirAttribute plan = mlirAttributeParseGet(
      context,
      text("#pp.plan<mesh = <[\"mb\"=4 : time, \"pp\"=2 : stage, \"tp\"=3]>, "
           "threads = 2, "
           "seeds = [#pp.seed<\"h.*.w\", [{?}, {\"tp\"}], 1>], cuts = [42]>"));
  EXPECT(!mlirAttributeIsNull(plan) && ppAttributeIsAPlan(plan));
  MlirAttribute mesh = ppPlanAttrGetMesh(plan);
  EXPECT(ppAttributeIsAMesh(mesh) && ppMeshAttrGetNumAxes(mesh) == 3 &&
         ppMeshAttrGetNumDevices(mesh) == 6);
  EXPECT(is(ppMeshAttrGetAxisName(mesh, 1), "pp") &&
         ppMeshAttrGetAxisSize(mesh, 2) == 3);
  EXPECT(ppPlanAttrGetNumCuts(plan) == 1 && ppPlanAttrGetCut(plan, 0) == 42);
  EXPECT(ppPlanAttrGetNumSeeds(plan) == 1);
  MlirAttribute seed = ppPlanAttrGetSeed(plan, 0);
  EXPECT(is(ppSeedAttrGetPattern(seed), "h.*.w") &&
         ppSeedAttrGetPriority(seed) == 1);
  EXPECT(ppSeedAttrGetRank(seed) == 2 &&
         is(ppDimShardingAttrGetAxis(ppSeedAttrGetDim(seed, 1), 0), "tp"));
  EXPECT(!mlirAttributeIsNull(mlirDictionaryAttrGetElementByName(
      ppPlanAttrGetSettings(plan), text("threads"))));
  MlirAttribute settings = ppPlanAttrGetSettings(ppPlanAttrWithDefaults(plan));
  MlirAttribute schedule =
      mlirDictionaryAttrGetElementByName(settings, text("schedule"));
  EXPECT(!mlirAttributeIsNull(schedule) &&
         is(mlirStringAttrGetValue(schedule), "1f1b"));
  return 0;
}

/* A pass by its own function, which refuses a module of another level. */
static int checkPass(MlirContext context) {
  MlirModule module = mlirModuleCreateParse(
      context, text("module attributes {pp.level = #pp.level<spmd>} {}"));
  MlirPassManager passes = mlirPassManagerCreate(context);
  mlirPassManagerAddOwnedPass(passes, mlirCreatePPDifferentiate());
  MlirLogicalResult result =
      mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  EXPECT(mlirLogicalResultIsFailure(result));
  return 0;
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  ppRegisterAllDialects(registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__pp__(), registry);
  ppRegisterAllPasses();
  ppRegisterAllPasses();
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirContextLoadAllAvailableDialects(context);
  int errors = 0;
  mlirContextAttachDiagnosticHandler(context, count, &errors, NULL);
  int line = checkSharding(context, &errors);
  line = line ? line : checkPlan(context);
  line = line ? line : checkPass(context);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return line;
}

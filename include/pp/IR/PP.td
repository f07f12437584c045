//===- PP.td - everything the dialect defines --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The groups are the sections of the page Dialect.md, which the target docs makes.
//
//===----------------------------------------------------------------------===//
include "pp/IR/PPDialect.td"
include "pp/IR/PPAttributes.td"
include "pp/IR/OpBase.td"

def PP_GraphGroup : OpDocGroup {
  let summary = "Level 1: graph";
  let description = [{Global tensors of static shape. Every op implements the four interfaces.}];
}
def PP_SpmdGroup : OpDocGroup {
  let summary = "Level 2: spmd";
  let description = [{One device's tensors. Collectives name axes of a mesh, never devices.}];
}
def PP_PipelineGroup : OpDocGroup {
  let summary = "Level 3: pipeline";
  let description = [{Pieces of a step, and what travels between them.}];
}
def PP_ProgramGroup : OpDocGroup {
  let summary = "Level 4: program";
  let description = [{The instruction list of each stage's ranks; runtime/schema/ppx.fbs, readable.}];
}

let opDocGroup = PP_GraphGroup in {
include "pp/IR/GraphOps.td"
include "pp/IR/LayoutOps.td"
include "pp/IR/WindowOps.td"
}
let opDocGroup = PP_SpmdGroup in {
include "pp/IR/SpmdOps.td"
}
let opDocGroup = PP_PipelineGroup in {
include "pp/IR/PipelineOps.td"
}
let opDocGroup = PP_ProgramGroup in {
include "pp/IR/ProgramOps.td"
}

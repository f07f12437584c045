//===- PP.td - everything the dialect defines --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
include "pp/IR/PPDialect.td"
include "pp/IR/PPAttributes.td"
include "pp/IR/GraphOps.td"
include "pp/IR/SpmdOps.td"
include "pp/IR/PipelineOps.td"

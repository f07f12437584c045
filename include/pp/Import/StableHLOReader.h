//===- StableHLOReader.h - parses the text of StableHLO ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a tool needs to parse StableHLO where the real dialect is not linked:
// the dialects stablehlo, chlo and sdy with a parser, and without ops. Every op
// comes out unregistered, with the attributes of its generic form.
//
// This is a library of its own, for tools. A program that links the real
// StableHLO must not link it: there would be two dialects of one name.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IMPORT_STABLEHLOREADER_H
#define PP_IMPORT_STABLEHLOREADER_H

#include "mlir/IR/DialectRegistry.h"

namespace pp {

/// Adds dialects that parse the text of StableHLO, of CHLO and of Shardy, in
/// the pretty and in the generic form.
void registerStableHLOReader(mlir::DialectRegistry &registry);

} // namespace pp

#endif // PP_IMPORT_STABLEHLOREADER_H

//===- Reader.cpp - parses the text of StableHLO --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR asks a dialect for the parser of an op that is not registered: that is
// all that is needed of the real ones.
//
//===----------------------------------------------------------------------===//
#include "Syntax.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "pp/Import/StableHLOReader.h"

using namespace mlir;
using namespace pp::hlo;

namespace {

/// A dialect without ops: what is parsed in its name stays unregistered, and
/// its attributes and types are text.
class TextDialect : public Dialect {
public:
  std::optional<ParseOpHook>
  getParseOperationHook(StringRef name) const override {
    if (const ParseOp *form = findForm(name))
      return ParseOpHook(*form);
    return ParseOpHook(parsePlain);
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    return OpaqueAttr::get(StringAttr::get(getContext(), getNamespace()),
                           parser.getFullSymbolSpec(),
                           NoneType::get(getContext()));
  }

  Type parseType(DialectAsmParser &parser) const override {
    return OpaqueType::get(StringAttr::get(getContext(), getNamespace()),
                           parser.getFullSymbolSpec());
  }

protected:
  TextDialect(StringRef name, MLIRContext *context, TypeID id)
      : Dialect(name, context, id) {
    allowUnknownOperations();
    allowUnknownTypes();
  }
};

class StableHLOText : public TextDialect {
public:
  static constexpr StringLiteral getDialectNamespace() { return "stablehlo"; }
  explicit StableHLOText(MLIRContext *context)
      : TextDialect("stablehlo", context, TypeID::get<StableHLOText>()) {}
};

class CHLOText : public TextDialect {
public:
  static constexpr StringLiteral getDialectNamespace() { return "chlo"; }
  explicit CHLOText(MLIRContext *context)
      : TextDialect("chlo", context, TypeID::get<CHLOText>()) {}
};

class ShardyText : public TextDialect {
public:
  static constexpr StringLiteral getDialectNamespace() { return "sdy"; }
  explicit ShardyText(MLIRContext *context)
      : TextDialect("sdy", context, TypeID::get<ShardyText>()) {}
};

} // namespace

void pp::registerStableHLOReader(DialectRegistry &registry) {
  registry.insert<StableHLOText, CHLOText, ShardyText>();
}

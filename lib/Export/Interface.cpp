//===- Interface.cpp - what a caller of a step gives and gets -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Slices are said by axes, not by numbers: the text has one size for 8 devices
// and for 65,536.
//
//===----------------------------------------------------------------------===//
#include "Interface.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;
using llvm::json::OStream;

void hlo::writeLine(OStream &json, StringRef key, llvm::json::Value value) {
  json.attributeBegin(key);
  json.rawValue([&](raw_ostream &out) { out << value; });
  json.attributeEnd();
}

static void writeInts(OStream &json, StringRef key, Ints values) {
  writeLine(json, key, llvm::json::Array(values));
}

/// The axes that divide each dimension, major to minor.
static void writeSharding(OStream &json, ShardingAttr sharding, int64_t rank) {
  llvm::json::Array dims;
  for (int64_t dim = 0; dim < rank; ++dim) {
    llvm::json::Array axes;
    if (sharding)
      for (StringAttr axis : sharding.getDims()[dim].getAxes())
        axes.push_back(axis.getValue());
    dims.push_back(std::move(axes));
  }
  writeLine(json, "sharding", std::move(dims));
}

static void writeInit(OStream &json, InitAttr init) {
  json.attributeObject("init", [&] {
    json.attribute("kind", stringifyInitKind(init.getKind()));
    json.attribute("a", double(init.getA()));
    json.attribute("b", double(init.getB()));
  });
}

void hlo::writeMesh(OStream &json, const Device &device) {
  MeshAttr mesh = device.getMesh();
  json.attributeArray("mesh", [&] {
    for (MeshAxisAttr axis : mesh ? mesh.getAxes() : ArrayRef<MeshAxisAttr>())
      json.object([&] {
        json.attribute("axis", axis.getName().getValue());
        json.attribute("size", axis.getSize());
        json.attribute("kind", stringifyAxisKind(axis.getKind()));
      });
  });
  json.attribute("replicas", device.getNumReplicas());
}

void hlo::writeTensor(OStream &json, MeshAttr mesh, DictionaryAttr attributes,
                      RankedTensorType local, RankedTensorType shape,
                      StringRef value) {
  auto get = [&](StringRef name) {
    return attributes ? attributes.get(name) : Attribute();
  };
  json.object([&] {
    if (auto name = dyn_cast_or_null<StringAttr>(get(attrs::kName)))
      json.attribute("name", name.getValue());
    if (!value.empty())
      json.attribute("value", value);
    if (auto role = dyn_cast_or_null<RoleAttr>(get(attrs::kRole)))
      json.attribute("role", stringifyRole(role.getValue()));
    json.attribute("element_type", spell(local.getElementType()));
    writeInts(json, "shape", shape.getShape());
    auto global = dyn_cast_or_null<DenseI64ArrayAttr>(get(attrs::kGlobalShape));
    writeInts(json, "global_shape",
              global ? global.asArrayRef() : local.getShape());
    writeSharding(json,
                  mesh ? dyn_cast_or_null<ShardingAttr>(get(attrs::kSharding))
                       : ShardingAttr(),
                  local.getRank());
    for (StringRef key : {attrs::kUnpaddedShape, attrs::kStoredShape,
                          attrs::kStoredOrder, attrs::kStages})
      if (auto values = dyn_cast_or_null<DenseI64ArrayAttr>(get(key)))
        writeInts(json, key.substr(StringRef("pp.").size()), values);
    if (auto init = dyn_cast_or_null<InitAttr>(get(attrs::kInit)))
      writeInit(json, init);
    if (auto bound = dyn_cast_or_null<IntegerAttr>(get(attrs::kBound)))
      json.attribute("bound", bound.getInt());
  });
}

void hlo::writeBorder(OStream &json, func::FuncOp main,
                      const StepWriter &step) {
  Block &body = main.getBody().front();
  MeshAttr mesh = step.getDevice().getMesh();
  json.attributeArray("arguments", [&] {
    for (BlockArgument argument : body.getArguments())
      writeTensor(json, mesh, main.getArgAttrDict(argument.getArgNumber()),
                  cast<RankedTensorType>(argument.getType()),
                  step.outerType(argument));
  });
  json.attributeArray("results", [&] {
    for (auto [index, value] :
         llvm::enumerate(body.getTerminator()->getOperands()))
      writeTensor(json, mesh, main.getResultAttrDict(index),
                  cast<RankedTensorType>(value.getType()),
                  step.outerType(value));
  });
}

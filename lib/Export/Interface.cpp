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

namespace {

/// An argument or result of a step.
struct Tensor {
  DictionaryAttr attributes;
  RankedTensorType local, shape;
  /// Its name in a pipeline.
  std::string value;
  /// The argument that a result takes the place of.
  BlockArgument updated;
};

} // namespace

/// Without a mesh nothing is divided.
static void writeTensor(OStream &json, MeshAttr mesh, const Tensor &tensor) {
  auto get = [&](StringRef name) {
    return tensor.attributes ? tensor.attributes.get(name) : Attribute();
  };
  json.object([&] {
    if (auto name = dyn_cast_or_null<StringAttr>(get(attrs::kName)))
      json.attribute("name", name.getValue());
    if (!tensor.value.empty())
      json.attribute("value", tensor.value);
    if (auto role = dyn_cast_or_null<RoleAttr>(get(attrs::kRole)))
      json.attribute("role", stringifyRole(role.getValue()));
    if (tensor.updated)
      json.attribute("updates", tensor.updated.getArgNumber());
    json.attribute("element_type", spell(tensor.local.getElementType()));
    writeInts(json, "shape", tensor.shape.getShape());
    auto global = dyn_cast_or_null<DenseI64ArrayAttr>(get(attrs::kGlobalShape));
    writeInts(json, "global_shape",
              global ? global.asArrayRef() : tensor.local.getShape());
    writeSharding(json,
                  mesh ? dyn_cast_or_null<ShardingAttr>(get(attrs::kSharding))
                       : ShardingAttr(),
                  tensor.local.getRank());
    for (StringRef key : {attrs::kUnpaddedShape, attrs::kStoredShape,
                          attrs::kStoredOrder, attrs::kPositions})
      if (auto values = dyn_cast_or_null<DenseI64ArrayAttr>(get(key)))
        writeInts(json, key.substr(StringRef("pp.").size()), values);
    if (auto init = dyn_cast_or_null<InitAttr>(get(attrs::kInit)))
      writeInit(json, init);
    if (auto bound = dyn_cast_or_null<IntegerAttr>(get(attrs::kBound)))
      json.attribute("bound", bound.getInt());
  });
}

void hlo::writeBorder(OStream &json, func::FuncOp main, MeshAttr mesh,
                      function_ref<RankedTensorType(Value)> shapeOf,
                      function_ref<std::string(Value)> nameOf) {
  auto write = [&](DictionaryAttr attributes, Value value,
                   BlockArgument updated) {
    writeTensor(json, mesh,
                {attributes, cast<RankedTensorType>(value.getType()),
                 shapeOf(value), nameOf ? nameOf(value) : "", updated});
  };
  json.attributeArray("arguments", [&] {
    for (BlockArgument argument : main.getArguments())
      write(main.getArgAttrDict(argument.getArgNumber()), argument, {});
  });
  json.attributeArray("results", [&] {
    for (auto [index, value, updated] :
         llvm::enumerate(main.getBody().front().getTerminator()->getOperands(),
                         getUpdatedArguments(main)))
      write(main.getResultAttrDict(index), value, updated);
  });
}

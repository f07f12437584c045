//===- Shardings.cpp - the shardings of a source --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shardy spells meshes and shardings as pp does, so that its text is read as
// pp's: `<["x"=2]>` and `<@mesh, [{"x"}, {?}]>`.
//
//===----------------------------------------------------------------------===//
#include "Shardings.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/Import/Passes.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// What `attribute` has in angle brackets, with these.
static std::string getText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto word = dyn_cast<StringAttr>(attribute))
    out << word.getValue();
  else if (auto opaque = dyn_cast<OpaqueAttr>(attribute))
    out << opaque.getAttrData();
  else
    out << attribute;
  const size_t begin = text.find('<');
  return begin == std::string::npos ? "" : text.substr(begin);
}

/// pp's attribute of this text; null if pp says no such thing.
template <typename T>
static T parse(StringRef mnemonic, const std::string &text,
               MLIRContext *context) {
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  return dyn_cast_or_null<T>(
      parseAttribute(("#pp." + mnemonic + text).str(), context));
}

/// The axes that divide anything.
static MeshAttr dropOnes(MeshAttr mesh) {
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  llvm::erase_if(axes, [](MeshAxisAttr axis) { return axis.getSize() == 1; });
  return MeshAttr::get(mesh.getContext(), axes);
}

Shardings::Shardings(ModuleOp source, bool keeps) : keeps(keeps) {
  for (Operation &op : source.getOps()) {
    if (op.getName().getStringRef() != "sdy.mesh")
      continue;
    auto name = op.getAttrOfType<StringAttr>("sym_name");
    auto given = op.getAttr("mesh");
    auto read = name && given ? parse<MeshAttr>("mesh", getText(given),
                                                source.getContext())
                              : MeshAttr();
    // A name with a dot would be a part of an axis.
    if (read && llvm::none_of(read.getAxes(), [](MeshAxisAttr axis) {
          return axis.getName().getValue().contains('.');
        }))
      meshes[name.getValue()] = read;
  }
}

void Shardings::drop(Location at, StringRef reason) {
  remark::missed(
      at, remark::RemarkOpts::name("sharding").category(kImportStableHLO))
      << remark::reason("{0}", reason);
}

/// Whether all axes of the sharding are of the mesh.
static bool isOver(ShardingAttr sharding, MeshAttr mesh) {
  return llvm::all_of(sharding.getDims(), [&](DimShardingAttr dim) {
    return llvm::all_of(dim.getAxes(), [&](StringAttr axis) {
      return mesh.lookup(axis.getValue());
    });
  });
}

/// `read` over @mesh, without axes that `mesh` lacks, which have one device.
static ShardingAttr simplify(ShardingAttr read, MeshAttr mesh) {
  MLIRContext *context = read.getContext();
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : read.getDims()) {
    SmallVector<StringAttr> axes(dim.getAxes());
    llvm::erase_if(axes, [&](StringAttr axis) { return !mesh.lookup(axis); });
    dims.push_back(DimShardingAttr::get(context, axes, dim.getIsOpen()));
  }
  return ShardingAttr::get(
      context, FlatSymbolRefAttr::get(context, Shardings::kMesh), dims, {});
}

ShardingAttr Shardings::convert(Attribute sharding, Type type, Location at) {
  if (!keeps) {
    drop(at, "shardings are not kept");
    return {};
  }
  auto read =
      parse<ShardingAttr>("sharding", getText(sharding), sharding.getContext());
  auto known = read ? meshes.find(read.getMesh().getValue()) : meshes.end();
  if (known == meshes.end() || !read.getPartial().empty() ||
      !isOver(read, known->second)) {
    drop(at, "pp splits by whole axes of a mesh in the order of its devices, "
             "without priorities");
    return {};
  }
  if (read.getRank() != cast<RankedTensorType>(type).getRank()) {
    drop(at, "the tensor has another number of dimensions");
    return {};
  }
  const MeshAttr its = dropOnes(known->second);
  if (its.getAxes().empty() || read.getRank() == 0)
    return {};
  if (mesh && its != mesh) {
    drop(at, "another sharding has another mesh");
    return {};
  }
  read = simplify(read, its);
  if (llvm::all_of(read.getDims(), [](DimShardingAttr dim) {
        return dim.getAxes().empty() && dim.getIsOpen();
      }))
    return {};
  mesh = its;
  for (DimShardingAttr dim : read.getDims())
    used.insert_range(dim.getAxes());
  return read;
}

MeshAttr Shardings::getMesh() const {
  if (used.empty())
    return {};
  // An axis that splits nothing would have devices repeat each other's work.
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  llvm::erase_if(
      axes, [&](MeshAxisAttr axis) { return !used.contains(axis.getName()); });
  return MeshAttr::get(mesh.getContext(), axes);
}

SmallVector<Attribute> Shardings::convertArguments(func::FuncOp source) {
  SmallVector<Attribute> converted(source.getNumArguments());
  for (auto [argument, sharding] :
       llvm::zip_equal(source.getArguments(), converted)) {
    const unsigned index = argument.getArgNumber();
    if (Attribute given = source.getArgAttr(index, "sdy.sharding"))
      sharding = convert(given, argument.getType(), argument.getLoc());
    else if (source.getArgAttr(index, "mhlo.sharding"))
      drop(argument.getLoc(), "GSPMD's shardings have no names of axes");
  }
  for (unsigned index = 0; index < source.getNumResults(); ++index)
    if (source.getResultAttr(index, "sdy.sharding"))
      drop(source.getLoc(), "results have the shardings that their values get");
  return converted;
}

void pp::hlo::separateLayouts(func::FuncOp main) {
  DenseMap<Value, ShardingAttr> known;
  for (BlockArgument argument : main.getArguments())
    if (auto given = main.getArgAttrOfType<ShardingAttr>(
            argument.getArgNumber(), attrs::kSharding))
      known[argument] = given;
  for (auto constraint :
       llvm::make_early_inc_range(main.getOps<ShardingConstraintOp>())) {
    Value value = constraint.getOperand();
    while (auto before = value.getDefiningOp<ShardingConstraintOp>()) {
      if (before.getBarrier())
        break;
      value = before.getOperand();
    }
    const ShardingAttr other = known.lookup(value);
    if (other == constraint.getSharding()) {
      constraint.replaceAllUsesWith(constraint.getOperand());
      constraint.erase();
      continue;
    }
    constraint.setBarrier(bool(other));
    known[other ? constraint.getResult() : value] = constraint.getSharding();
  }
}

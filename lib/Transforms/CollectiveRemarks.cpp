//===- CollectiveRemarks.cpp - why a collective is there ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks are numbered over the axes of the mesh that are not time, the last one
// fastest. A group has the ranks that agree on all coordinates but those of the
// collective's axes, ordered by these, major to minor.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Cause.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

/// One coordinate of a rank: its values, and what each adds to the rank's
/// number.
struct Coordinate {
  SmallVector<int64_t> values;
  int64_t stride;
};

} // namespace

static int64_t countRanks(ArrayRef<Coordinate> coordinates) {
  int64_t count = 1;
  for (const Coordinate &coordinate : coordinates)
    count *= coordinate.values.size();
  return count;
}

/// The amount that the `index`-th combination of coordinates, the last one
/// fastest, adds to a rank's number.
static int64_t rankOf(int64_t index, ArrayRef<Coordinate> coordinates) {
  int64_t rank = 0;
  for (const Coordinate &coordinate : llvm::reverse(coordinates)) {
    int64_t size = coordinate.values.size();
    rank += coordinate.values[index % size] * coordinate.stride;
    index /= size;
  }
  return rank;
}

std::string pp::describeGroups(MeshAttr mesh, ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> stages) {
  // The rest follows from the mesh.
  constexpr int64_t kShownGroups = 4, kShownMembers = 8;
  SmallVector<Coordinate> within(axes.size()), among;
  int64_t stride = 1;
  for (MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
    if (axis.getKind() == AxisKind::Time)
      continue;
    Coordinate coordinate{{}, stride};
    stride *= axis.getSize();
    if (axis.getKind() == AxisKind::Stage && !stages.empty())
      coordinate.values.assign(stages.begin(), stages.end());
    else
      llvm::append_range(coordinate.values,
                         llvm::seq<int64_t>(0, axis.getSize()));
    const StringAttr *position = llvm::find(axes, axis.getName());
    if (position == axes.end())
      among.insert(among.begin(), std::move(coordinate));
    else
      within[position - axes.begin()] = std::move(coordinate);
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t groups = countRanks(among), members = countRanks(within);
  for (int64_t group = 0; group < std::min(groups, kShownGroups); ++group) {
    os << (group ? ",{" : "{");
    for (int64_t member = 0; member < std::min(members, kShownMembers);
         ++member)
      os << (member ? "," : "")
         << rankOf(group, among) + rankOf(member, within);
    os << (members > kShownMembers ? ",...}" : "}");
  }
  if (groups > kShownGroups)
    os << ",...";
  return text;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

StringRef pp::findParameterOfGradient(Value value) {
  ArrayRef<int64_t> shape = ranked(value).getShape();
  llvm::SmallSetVector<Value, 16> reached;
  reached.insert(value);
  StringRef name;
  for (size_t index = 0; index < reached.size(); ++index) {
    for (OpOperand &use : reached[index].getUses()) {
      Operation *user = use.getOwner();
      if (auto leave = dyn_cast<func::ReturnOp>(user)) {
        auto main = leave->getParentOfType<func::FuncOp>();
        std::optional<Role> role = getResultRole(main, use.getOperandNumber());
        if (role != Role::Param && role != Role::Gradient)
          continue;
        StringRef found = getResultName(main, use.getOperandNumber());
        if (!name.empty() && name != found)
          return {};
        name = found;
      } else if (isa<AccumulateOp, ReshardOp>(user) || isCollective(user) ||
                 getKind(user) == Kind::Update) {
        for (Value result : user->getResults())
          if (ranked(result).getShape() == shape)
            reached.insert(result);
      }
    }
  }
  return name;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

void pp::remarkCollective(Operation *collective, StringRef pass,
                          StringRef cause, MeshAttr mesh,
                          ArrayRef<StringAttr> axes, ArrayRef<int64_t> stages,
                          double wireBytes) {
  if (!collective->getContext()->getRemarkEngine())
    return;
  std::string names;
  for (StringAttr axis : axes)
    names += (names.empty() ? "" : ",") + axis.str();
  remark::analysis(collective->getLoc(),
                   remark::RemarkOpts::name("collective").category(pass))
      << remark::metric("op", collective->getName().getStringRef())
      << remark::metric("cause", cause) << remark::metric("axes", names)
      << remark::metric("ranks", describeGroups(mesh, axes, stages))
      << remark::metric("group", std::to_string(mesh.sizeOf(axes)))
      << remark::metric("wire_bytes", std::to_string(int64_t(wireBytes)));
}

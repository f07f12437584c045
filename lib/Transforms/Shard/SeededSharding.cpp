//===- SeededSharding.cpp - merges the shardings of a value ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeededSharding.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// One of them alone
//===----------------------------------------------------------------------===//

static LogicalResult checkAxes(Location at, const Twine &who, unsigned dim,
                               DimShardingAttr wanted, MeshAttr mesh,
                               llvm::SmallPtrSetImpl<Attribute> &used) {
  for (StringAttr axis : wanted.getAxes()) {
    MeshAxisAttr attr = mesh.lookup(axis);
    if (!attr)
      return emitError(at) << who << " expects axes of " << mesh
                           << " in dimension " << dim << ", got " << axis;
    if (attr.getKind() == AxisKind::Stage)
      return emitError(at) << who << " expects axes that split tensors in "
                           << "dimension " << dim << ", got " << attr
                           << ", over which ops are split; leave it out";
    if (!used.insert(axis).second)
      return emitError(at) << who << " expects to use every axis once, got "
                           << axis << " a second time in dimension " << dim;
  }
  return success();
}

LogicalResult pp::checkAsked(Location at, const Twine &who,
                             ArrayRef<DimShardingAttr> dims, Type type,
                             MeshAttr mesh, bool mayRepeat) {
  auto ranked = cast<RankedTensorType>(type);
  if (static_cast<int64_t>(dims.size()) != ranked.getRank())
    return emitError(at) << who << " expects " << ranked.getRank()
                         << (ranked.getRank() == 1 ? " dimension of "
                                                   : " dimensions of ")
                         << ranked << ", got " << dims.size();
  llvm::SmallPtrSet<Attribute, 4> used;
  for (auto [dim, wanted] : llvm::enumerate(dims)) {
    if (failed(checkAxes(at, who, dim, wanted, mesh, used)))
      return failure();
    const int64_t shards = mesh.sizeOf(wanted.getAxes());
    // A dimension of no elements can be whole.
    const int64_t size = ranked.getDimSize(dim);
    if (wanted.getAxes().empty() || shards <= size ||
        (mayRepeat && canRepeat(size, shards)))
      continue;
    InFlightDiagnostic error = emitError(at)
                               << who << " expects at least " << shards
                               << " elements in dimension " << dim << " of "
                               << ranked << ", one per shard over ";
    llvm::interleaveComma(wanted.getAxes(), error);
    return error << ", got " << size << ": "
                 << spellMost(mesh, wanted.getAxes(), size, mayRepeat);
  }
  return success();
}

LogicalResult SeededSharding::add(Asker asker) {
  if (failed(checkAsked(at, what + ": " + asker.who, asker.dims, type, mesh,
                        mayRepeat)))
    return failure();
  askers.push_back(std::move(asker));
  return success();
}

LogicalResult SeededSharding::addGiven(ShardingAttr given, StringRef where,
                                       FlatSymbolRefAttr symbol) {
  Asker asker{spellGiven(given, where),
              SmallVector<DimShardingAttr>(given.getDims()),
              std::numeric_limits<int64_t>::min()};
  if (given.getMesh() != symbol)
    return emitError(at) << what << ": " << asker.who << " expects the mesh "
                         << symbol << ", got " << given.getMesh();
  if (!given.getPartial().empty())
    return emitError(at) << what << ": " << asker.who
                         << " expects a sharding that is not partial, got "
                         << given;
  return add(std::move(asker));
}

LogicalResult SeededSharding::addSeed(const MatchedSeed &match) {
  std::string who;
  llvm::raw_string_ostream(who) << "seed " << match.seed;
  if (!seeds.empty() &&
      (seeds.front().seed.getIsBarrier() || match.seed.getIsBarrier()))
    return emitError(at) << what << ": " << who
                         << " expects a barrier to be the only seed, got "
                         << seeds.front().seed
                         << " beside it: leave one of them out";
  seeds.push_back(match);
  return add(
      {std::move(who), match.dims, match.seed.getPriority(), match.seed});
}

/// Those of `dims` that are closed; of the others it has no opinion.
static SmallVector<DimShardingAttr> onlyClosed(ArrayRef<DimShardingAttr> dims) {
  SmallVector<DimShardingAttr> closed(dims);
  for (DimShardingAttr &dim : closed)
    if (dim.getIsOpen())
      dim = DimShardingAttr::get(dim.getContext(), {}, /*isOpen=*/true);
  return closed;
}

LogicalResult SeededSharding::addConstraint(ShardingConstraintOp constraint,
                                            FlatSymbolRefAttr symbol) {
  ShardingAttr sharding = constraint.getSharding();
  Asker asker{spellConstraint(constraint), onlyClosed(sharding.getDims()),
              std::numeric_limits<int64_t>::min(),
              /*seed=*/{}, constraint};
  if (sharding.getMesh() != symbol)
    return constraint.emitError() << asker.who << " expects the mesh " << symbol
                                  << ", got " << sharding.getMesh();
  if (failed(checkAsked(constraint.getLoc(), asker.who, sharding.getDims(),
                        type, mesh)))
    return failure();
  askers.push_back(std::move(asker));
  return success();
}

void SeededSharding::addClosed(const SeededSharding &other) {
  const auto closed = onlyClosed(other.merged);
  for (unsigned dim = 0; dim < closed.size(); ++dim) {
    if (closed[dim].getIsOpen())
      continue;
    SmallVector<DimShardingAttr> alone(
        closed.size(),
        DimShardingAttr::get(at.getContext(), {}, /*isOpen=*/true));
    alone[dim] = closed[dim];
    askers.push_back({other.owners[dim]->who, std::move(alone),
                      std::numeric_limits<int64_t>::min()});
  }
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

InFlightDiagnostic SeededSharding::report(const Asker &asker) {
  if (ShardingConstraintOp constraint = asker.constraint)
    return constraint.emitError() << asker.who;
  return emitError(at) << what << ": " << asker.who;
}

LogicalResult SeededSharding::advise(const Asker &asker,
                                     InFlightDiagnostic &error) {
  if (!asker.constraint)
    return error;
  error << ", or write 'barrier' behind the constraint, for which its readers "
           "have the value in another layout";
  error.attachNote(at) << "the value that it reads";
  return error;
}

LogicalResult SeededSharding::refuse(Wish wish, StringAttr axis, Wish other) {
  const DimShardingAttr wanted = wish.get(), got = other.get();
  if (wanted.getIsOpen()) {
    remark::missed(at, remark::RemarkOpts::name("yielded").category(
                           "pp-annotate-shardings"))
        << remark::metric("of", what) << remark::metric("who", wish.asker->who)
        << remark::metric("dimension", wish.dim)
        << remark::metric("wanted", spellDim(wanted))
        << remark::metric("to", other.asker->who)
        << remark::metric("got", spellDim(got));
    return success();
  }
  InFlightDiagnostic error = report(*wish.asker) << " expects ";
  if (wish.dim != other.dim) {
    error << axis << " in dimension " << wish.dim << ", got "
          << other.asker->who << ", which has it in dimension " << other.dim
          << ": an axis splits one dimension; leave it out of one";
    return advise(*wish.asker, error);
  }
  error << "dimension " << wish.dim << " as " << spellDim(wanted) << ", got "
        << spellDim(got) << " from " << other.asker->who
        << ": leave one of them out";
  const SeedAttr mine = wish.asker->seed, theirs = other.asker->seed;
  if (mine && theirs && mine.getPattern() != theirs.getPattern())
    error << ", or settle it by a seed of the name itself";
  const DimShardingAttr shorter = isPrefix(got, wanted) ? got : wanted;
  if (isPrefix(got, wanted) || isPrefix(wanted, got))
    error << ", or write "
          << spellDim(DimShardingAttr::get(at.getContext(), shorter.getAxes(),
                                           /*isOpen=*/true))
          << ", behind which the other may go on";
  return advise(*wish.asker, error);
}

/// Shardings before `wish` are closed if it is, and at least as important.
LogicalResult SeededSharding::merge(Wish wish) {
  const DimShardingAttr wanted = wish.get();
  DimShardingAttr &mine = merged[wish.dim];
  if (const Asker *owner = owners[wish.dim]) {
    const Wish before{owner, wish.dim};
    if (wanted.getIsOpen() && isPrefix(wanted, mine))
      return success();
    if (!isPrefix(mine, wanted) || (!mine.getIsOpen() && wanted != mine))
      return refuse(wish, {}, before);
  }
  for (auto [dim, others] : llvm::enumerate(merged))
    for (StringAttr axis : others.getAxes())
      if (dim != wish.dim && llvm::is_contained(wanted.getAxes(), axis))
        return refuse(wish, axis, {owners[dim], static_cast<unsigned>(dim)});
  mine = wanted;
  owners[wish.dim] = wish.asker;
  return success();
}

LogicalResult SeededSharding::merge() {
  merged.assign(type.getRank(), DimShardingAttr::get(at.getContext(), {},
                                                     /*isOpen=*/true));
  owners.assign(type.getRank(), nullptr);
  SmallVector<Wish> wishes;
  for (const Asker &asker : askers)
    for (auto [dim, wanted] : llvm::enumerate(asker.dims))
      if (wanted != merged[dim])
        wishes.push_back({&asker, static_cast<unsigned>(dim)});
  llvm::stable_sort(wishes, [](const Wish &a, const Wish &b) {
    return std::pair(a.get().getIsOpen(), a.asker->priority) <
           std::pair(b.get().getIsOpen(), b.asker->priority);
  });
  for (const Wish &wish : wishes)
    if (failed(merge(wish)))
      return failure();
  return success();
}

ShardingAttr SeededSharding::getOf(const MatchedSeed &seed,
                                   FlatSymbolRefAttr symbol) const {
  SmallVector<DimShardingAttr> own(seed.dims);
  for (auto [mine, all] : llvm::zip_equal(own, merged))
    if (!isPrefix(mine, all))
      mine = DimShardingAttr::get(at.getContext(), {}, /*isOpen=*/true);
  return ShardingAttr::get(at.getContext(), symbol, own, {});
}

//===- GeneratorRouting.cpp - random programs send rows to experts --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a mixture of experts does, with everything in it that is hard to
// partition: rows choose by their largest element, are counted, get places as
// long as there are some, and come back from there. The last dimension is the
// experts' number and the rows' length at once.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// 1 where `a` equals `b`, else 0.
Value Generator::equality(Value a, Value b) {
  Value bits = make<CompareOp>(typeOf(a).clone(builder.getI1Type()),
                               Direction::EQ, a, b);
  return make<ConvertOp>(f64(shapeOf(a)), bits);
}

/// Under a name by which a plan can split the experts, which are dimension
/// `expert`; or the batch instead, if it is negative.
Value Generator::nameForExperts(Value x, int64_t expert) {
  if (!options.namesDims)
    return x;
  SmallVector<StringRef> dims(rankOf(x));
  if (batched.contains(x))
    dims[0] = "batch";
  if (expert >= 0)
    dims[expert] = "expert";
  return make<NameOp>(typeOf(x), x, builder.getStringAttr("v" + Twine(names++)),
                      builder.getStrArrayAttr(dims), /*gradient=*/false);
}

Value Generator::routing(Value x) {
  int64_t rank = rankOf(x), rows = rank - 2, last = rank - 1;
  if (options.isSmooth || isWhole(x) || rows < ownDim(x))
    return simple(x);
  Sizes shape = shapeOf(x), leading = range(0, last);
  const int64_t numPlaces = 1 + below(3);
  Sizes places = shape;
  places.push_back(numPlaces);
  if (isTooLarge(places) || shape[last] < 2)
    return simple(x);

  // Which experts each row chooses, and the how many-th there it is.
  Value logits = simple(x);
  const Sizes chosenShape(ArrayRef<int64_t>(shape).drop_back());
  SmallVector<Value> choices;
  if (chance(50)) {
    choices.push_back(make<ArgmaxOp>(i32(chosenShape), logits, last));
  } else {
    Sizes several = shape, starts(rank, 0), strides(rank, 1);
    several[last] = 2;
    Value best = make<TopKOp>(i32(several), logits, last);
    for (starts[last] = 0; starts[last] < 2; ++starts[last]) {
      Sizes limits = several, one = several;
      limits[last] = starts[last] + 1;
      one[last] = 1;
      Value slice = make<SliceOp>(i32(one), best, starts, limits, strides);
      choices.push_back(make<ReshapeOp>(i32(chosenShape), slice));
    }
  }
  Value number = make<IotaOp>(i32(shape), last), isChosen;
  for (Value choice : choices) {
    Value isThis =
        equality(number, make<BroadcastOp>(i32(shape), choice, leading));
    isChosen = isChosen ? binary<AddOp>(isChosen, isThis) : isThis;
  }
  Value count = make<CumsumOp>(f64(shape), isChosen, rows, /*reverse=*/false);

  // To a place of the expert, and back with the weight of the choice.
  Value place = binary<SubOp>(count, fill(f64(shape), 1.0));
  Value placeNumber =
      make<ConvertOp>(f64(places), make<IotaOp>(i32(places), rank));
  Value isThere = equality(
      placeNumber, make<BroadcastOp>(f64(places), place, range(0, rank)));
  Value dispatch = binary<MulOp>(
      isThere, make<BroadcastOp>(f64(places), isChosen, range(0, rank)));
  Sizes batch = range(0, rows), expert(shape);
  expert.erase(expert.begin() + rows, expert.end());
  expert.append({shape[last], numPlaces, shape[last]});
  Value sent = make<DotGeneralOp>(f64(expert), dispatch, x, batch, batch,
                                  Sizes{rows}, Sizes{rows});
  sent = nameForExperts(sent, rows);
  Value made = nameForExperts(unary<TanhOp>(sent), -1);
  Value gate =
      make<ReduceOp>(f64(ArrayRef<int64_t>(shape).drop_back()), Reduction::Max,
                     unary<LogisticOp>(logits), Sizes{last});
  Value back =
      make<DotGeneralOp>(f64(shape), dispatch, made, batch, batch,
                         Sizes{rows + 1, rows + 2}, Sizes{rows, rows + 1});
  return binary<MulOp>(back, make<BroadcastOp>(f64(shape), gate, leading));
}

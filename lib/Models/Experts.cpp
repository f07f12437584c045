//===- Experts.cpp - a mixture of experts in a block ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Routing of a sequence to experts of bounded capacity. One choice for each
// token: Fedus et al., "Switch Transformers" (2021); two: Lepikhin et al.,
// "GShard" (2020). Every sequence is routed by itself, so that no partition of
// the batch changes the result.
//
// Tokens are moved by index, not by products with one-hot matrices: those would
// cost a sequence as much again as its attention. Each place of an expert knows
// its token, each token its places; gathers go both ways. An empty place holds
// the sequence's first token, and its result is not read.
//
//===----------------------------------------------------------------------===//
#include "Experts.h"
#include <cmath>

using namespace mlir;
using namespace pp;

Experts::Experts(GraphBuilder &graph, const MoeConfig &config)
    : graph(graph), config(config),
      routing(graph.getElement().isF64() ? graph.getElement()
                                         : graph.getF32()) {
  // The factor is meant in decimals: 1.1 * 10 are 11 places, not 12, although
  // the doubles multiply to a little more.
  constexpr double rounding = 1e-12;
  double share = double(config.topK * config.seq) / double(config.experts);
  capacity = int64_t(std::ceil(share * config.capacityFactor * (1 - rounding)));
}

Value Experts::oneHot(Value expert) {
  int64_t batch = config.batch, seq = config.seq;
  Value all = graph.iota({batch, seq, config.experts}, 2);
  return graph.convert(
      graph.compare(Direction::EQ, graph.broadcast(expert, {0, 1}, all), all),
      graph.getI32());
}

/// Places are given to first choices in the order of tokens, then to second
/// ones.
SmallVector<Experts::Choice> Experts::route(Value x,
                                            const std::string &prefix) {
  int64_t batch = config.batch, seq = config.seq, hidden = config.hidden;
  graph.enter(prefix + ".router");
  Value weight =
      graph.param(prefix + ".router.weight", {hidden, config.experts},
                  graph.normal(1 / std::sqrt(double(hidden))));
  Value probabilities =
      graph.softmax(graph.dot(x, weight, {}, {}, {2}, {0}, routing));
  Value chosen = graph.topK(probabilities, 2, config.topK);
  Value gates = graph.gather(probabilities, chosen, 2);
  Value share = gates;
  if (config.topK > 1)
    share = graph.binary<DivOp>(
        gates,
        graph.broadcast(graph.reduce(Reduction::Sum, gates, 2), {0, 1}, gates));
  SmallVector<Choice> choices;
  Value taken; // by earlier choices, [batch, experts]
  for (int64_t index = 0; index < config.topK; ++index) {
    auto part = [&](Value ofAll) {
      return graph.reshape(graph.slice(ofAll, 2, index, index + 1),
                           {batch, seq});
    };
    Choice choice;
    choice.expert = part(chosen);
    Value hot = oneHot(choice.expert);
    if (index == 0)
      addAuxiliaryLoss(probabilities, hot);
    // How many chose the expert up to and with this token.
    Value order = graph.gather(graph.cumsum(hot, 1), choice.expert, 2);
    if (taken)
      order = graph.binary<AddOp>(order, graph.gather(taken, choice.expert, 1));
    choice.isPlaced =
        graph.compare(Direction::LE, order, graph.splat(capacity, order));
    Value first = graph.binary<SubOp>(
        graph.binary<MulOp>(choice.expert, graph.splat(capacity, order)),
        graph.splat(1, order));
    choice.place =
        graph.select(choice.isPlaced, graph.binary<AddOp>(first, order),
                     graph.splat(config.experts * capacity, order));
    Value gate = part(share);
    choice.gate =
        graph.convert(graph.select(choice.isPlaced, gate, graph.splat(0, gate)),
                      graph.getElement());
    choices.push_back(choice);
    if (index + 1 == config.topK)
      break;
    Value count = graph.reduce(Reduction::Sum, hot, 1);
    taken = taken ? graph.binary<AddOp>(taken, count) : count;
  }
  for (const Choice &choice : choices) {
    Value isDropped =
        graph.select(choice.isPlaced, graph.splat(0, {batch, seq}, routing),
                     graph.splat(1, {batch, seq}, routing));
    Value count = graph.reduce(Reduction::Sum, isDropped, {0, 1});
    dropped = dropped ? graph.binary<AddOp>(dropped, count) : count;
  }
  return choices;
}

/// experts * sum over experts of the share of first choices times the mean
/// probability, meaned over sequences.
void Experts::addAuxiliaryLoss(Value probabilities, Value firstChoices) {
  Value counts =
      graph.convert(graph.reduce(Reduction::Sum, firstChoices, 1), routing);
  Value sums = graph.reduce(Reduction::Sum, probabilities, 1);
  Value total =
      graph.reduce(Reduction::Sum, graph.binary<MulOp>(counts, sums), {0, 1});
  double seq = config.seq;
  Value loss = graph.scale(total, config.experts / (seq * seq * config.batch));
  auxiliary = auxiliary ? graph.binary<AddOp>(auxiliary, loss) : loss;
}

/// [batch, experts, capacity, hidden]: the tokens in their places.
Value Experts::dispatch(Value x, ArrayRef<Choice> choices) {
  int64_t batch = config.batch, places = config.experts * capacity;
  Value token = graph.iota({batch, config.seq}, 1);
  Value inPlace = graph.splat(0, {batch, places}, graph.getI32());
  for (const Choice &choice : choices)
    inPlace = graph.scatterAdd(inPlace, choice.place, token, 1);
  inPlace = graph.reshape(inPlace, {batch, config.experts, capacity});
  return graph.gather(x, inPlace, 1);
}

/// x: [batch, experts, capacity, hidden]; the same shape comes out, with
/// experts before the batch.
Value Experts::apply(Value x, const std::string &prefix) {
  int64_t experts = config.experts, hidden = config.hidden, inner = 4 * hidden;
  auto linear = [&](Value x, const std::string &name, int64_t batchDim,
                    int64_t from, int64_t to, double deviation) {
    graph.enter(name);
    Value weight = graph.param(name + ".weight", {experts, from, to},
                               graph.normal(deviation), /*storedShape=*/{},
                               {"expert", "", ""});
    Value bias = graph.param(name + ".bias", {experts, to}, graph.zeros(),
                             /*storedShape=*/{}, {"expert", ""});
    Value y = graph.dot(x, weight, {batchDim}, {0}, {3}, {1});
    return graph.binary<AddOp>(y, graph.broadcast(bias, {0, 3}, y));
  };
  Value y = linear(x, prefix + ".experts.c_fc", 1, hidden, inner,
                   1 / std::sqrt(double(hidden)));
  y = graph.geluTanh(y);
  return linear(y, prefix + ".experts.c_proj", 0, inner, hidden,
                1 / std::sqrt(2.0 * config.layers * inner));
}

/// x: [experts, batch, capacity, hidden]. The sum of a token's results,
/// weighted by the gates: [batch, seq, hidden].
Value Experts::combine(Value x, ArrayRef<Choice> choices) {
  Value places =
      graph.reshape(graph.transpose(x, {1, 0, 2, 3}),
                    {config.batch, config.experts * capacity, config.hidden});
  Value sum;
  for (const Choice &choice : choices) {
    Value y = graph.gather(places, choice.place, 1);
    y = graph.binary<MulOp>(y, graph.broadcast(choice.gate, {0, 1}, y));
    sum = sum ? graph.binary<AddOp>(sum, y) : y;
  }
  return sum;
}

Value Experts::add(Value x, const std::string &prefix) {
  ++numBlocks;
  SmallVector<Choice> choices = route(x, prefix);
  graph.enter(prefix + ".dispatch");
  Value dispatched = graph.name(dispatch(x, choices), prefix + ".dispatched",
                                {"batch", "expert", "", ""});
  Value processed = apply(dispatched, prefix);
  graph.enter(prefix + ".combine");
  return combine(
      graph.name(processed, prefix + ".processed", {"expert", "batch", "", ""}),
      choices);
}

Value Experts::finish(Value loss) {
  graph.enter("aux_loss");
  double numChoices =
      double(numBlocks) * config.batch * config.seq * config.topK;
  graph.result(Role::Metric, "aux_loss", auxiliary);
  graph.result(Role::Metric, "dropped", graph.scale(dropped, 1 / numChoices));
  Value weighted = graph.convert(graph.scale(auxiliary, config.auxWeight),
                                 graph.getElement());
  return graph.binary<AddOp>(loss, weighted);
}

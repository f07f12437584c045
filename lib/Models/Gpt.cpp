//===- Gpt.cpp - GPT-2, pre-norm, also with experts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Radford et al., "Language Models are Unsupervised Multitask Learners" (2019),
// initialised for any width: embeddings normal(0.02) as there, matrices
// normal(1 / sqrt(inputs)), residual projections further divided by
// sqrt(2 layers). GPT-2's 0.02 for every matrix suits its own widths; at 256
// and a learning rate of 1e-3 it leaves many seeds for hundreds of steps at the
// entropy of single letters.
//
// No dimension that may be sharded (heads, 4 hidden) is ever merged as the
// minor factor of another.
//
//===----------------------------------------------------------------------===//
#include "Experts.h"
#include "mlir/IR/Diagnostics.h"
#include "pp/Models/Models.h"
#include <cmath>

using namespace mlir;
using namespace pp;

namespace {

/// Sizes of one configuration and the values every layer needs.
struct Gpt {
  GraphBuilder &graph;
  const GptConfig &config;
  int64_t headSize;

  Value attention(Value x, const std::string &prefix);
  Value fusedHeads(Value x, const std::string &prefix);
  Value groupedHeads(Value x, const std::string &prefix);
  Value project(Value x, const std::string &name, ArrayRef<int64_t> heads);
  Value feedForward(Value x, const std::string &prefix);
  Value norm(Value x, const std::string &name);
  /// The initial values of a matrix that sums over `inputs` elements.
  InitAttr matrix(int64_t inputs) const {
    return graph.normal(1 / std::sqrt(static_cast<double>(inputs)));
  }
  /// The same, for one whose result is added to the residual stream.
  InitAttr residualMatrix(int64_t inputs) const {
    return graph.normal(1 / std::sqrt(2.0 * config.layers * inputs));
  }
};

Value Gpt::norm(Value x, const std::string &name) {
  graph.enter(name);
  Value weight =
      graph.param(name + ".weight", {config.hidden}, graph.constant(1.0));
  Value bias = graph.param(name + ".bias", {config.hidden}, graph.zeros());
  return graph.layerNorm(x, weight, bias);
}

/// x: [batch, seq, hidden]. Returns the output of the heads, [batch, seq,
/// heads, size].
Value Gpt::fusedHeads(Value x, const std::string &prefix) {
  int64_t hidden = config.hidden, heads = config.heads;
  graph.enter(prefix + ".c_attn");
  Value weight =
      graph.param(prefix + ".c_attn.weight", {hidden, 3, heads, headSize},
                  matrix(hidden), {hidden, 3 * hidden});
  Value bias = graph.param(prefix + ".c_attn.bias", {3, heads, headSize},
                           graph.zeros(), {3 * hidden});
  Value qkv = graph.addTrailing(graph.dot(x, weight, {}, {}, {2}, {0}), bias);

  graph.enter(prefix);
  qkv = graph.name(qkv, prefix + ".qkv", {"batch", "sequence", "", "head", ""});
  // Part i of [batch, seq, 3, heads, size] as [batch, seq, heads, size].
  auto part = [&](int64_t index) {
    return graph.reshape(graph.slice(qkv, 2, index, index + 1),
                         {config.batch, config.seq, heads, headSize});
  };
  Value query = part(0), key = part(1), value = part(2);
  Value scores = graph.scale(graph.dot(query, key, {0, 2}, {0, 2}, {3}, {3}),
                             1.0 / std::sqrt(static_cast<double>(headSize)));
  Value probabilities =
      graph.dropout(graph.softmax(graph.maskCausal(scores)), config.dropout);
  Value mixed = graph.dot(probabilities, value, {0, 1}, {0, 2}, {3}, {1});
  return graph.name(graph.transpose(mixed, {0, 2, 1, 3}), prefix + ".mixed",
                    {"batch", "sequence", "head", ""});
}

/// [batch, seq, heads..., size] of x.
Value Gpt::project(Value x, const std::string &name, ArrayRef<int64_t> heads) {
  graph.enter(name);
  SmallVector<int64_t> out(heads), in{config.hidden};
  out.push_back(headSize);
  llvm::append_range(in, out);
  const int64_t columns = llvm::product_of(out);
  Value weight = graph.param(name + ".weight", in, matrix(config.hidden),
                             {config.hidden, columns});
  Value bias = graph.param(name + ".bias", out, graph.zeros(), {columns});
  return graph.addTrailing(graph.dot(x, weight, {}, {}, {2}, {0}), bias);
}

/// The same for queries in groups, [batch, seq, groups, queries, size].
Value Gpt::groupedHeads(Value x, const std::string &prefix) {
  const int64_t groups = config.keyValueHeads, queries = config.heads / groups;
  Value query = project(x, prefix + ".c_q", {groups, queries});
  Value key = project(x, prefix + ".c_k", {groups});
  Value value = project(x, prefix + ".c_v", {groups});
  graph.enter(prefix);
  const StringRef ofQuery[] = {"batch", "sequence", "head", "", ""};
  const StringRef ofKey[] = {"batch", "sequence", "head", ""};
  query = graph.name(query, prefix + ".query", ofQuery);
  key = graph.name(key, prefix + ".key", ofKey);
  value = graph.name(value, prefix + ".value", ofKey);
  query = graph.transpose(query, {0, 2, 3, 1, 4});
  Value scores = graph.scale(graph.dot(query, key, {0, 1}, {0, 2}, {4}, {3}),
                             1.0 / std::sqrt(static_cast<double>(headSize)));
  Value probabilities =
      graph.dropout(graph.softmax(graph.maskCausal(scores)), config.dropout);
  Value mixed = graph.dot(probabilities, value, {0, 1}, {0, 2}, {4}, {1});
  return graph.name(graph.transpose(mixed, {0, 3, 1, 2, 4}), prefix + ".mixed",
                    ofQuery);
}

/// x: [batch, seq, hidden].
Value Gpt::attention(Value x, const std::string &prefix) {
  const bool isGrouped =
      config.keyValueHeads != 0 && config.keyValueHeads != config.heads;
  Value mixed = isGrouped ? groupedHeads(x, prefix) : fusedHeads(x, prefix);
  graph.enter(prefix + ".c_proj");
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(mixed.getType()).getShape().drop_front(2));
  auto contracted = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
  auto ofMixed = llvm::to_vector(llvm::seq<int64_t>(2, shape.size() + 2));
  const int64_t hidden = config.hidden;
  shape.push_back(hidden);
  Value projection = graph.param(prefix + ".c_proj.weight", shape,
                                 residualMatrix(hidden), {hidden, hidden});
  Value projectionBias =
      graph.param(prefix + ".c_proj.bias", {hidden}, graph.zeros());
  return graph.addTrailing(
      graph.dot(mixed, projection, {}, {}, ofMixed, contracted),
      projectionBias);
}

Value Gpt::feedForward(Value x, const std::string &prefix) {
  int64_t hidden = config.hidden;
  graph.enter(prefix + ".c_fc");
  Value up = graph.param(prefix + ".c_fc.weight", {hidden, 4 * hidden},
                         matrix(hidden));
  Value upBias =
      graph.param(prefix + ".c_fc.bias", {4 * hidden}, graph.zeros());
  Value inner = graph.geluTanh(
      graph.addTrailing(graph.dot(x, up, {}, {}, {2}, {0}), upBias));
  graph.enter(prefix + ".c_proj");
  Value down = graph.param(prefix + ".c_proj.weight", {4 * hidden, hidden},
                           residualMatrix(4 * hidden));
  Value downBias =
      graph.param(prefix + ".c_proj.bias", {hidden}, graph.zeros());
  return graph.addTrailing(graph.dot(inner, down, {}, {}, {2}, {0}), downBias);
}

} // namespace

static LogicalResult verifyConfig(MLIRContext &context, StringRef family,
                                  const GptConfig &config) {
  if (failed(verifySizes(
          context, family,
          {{"layers", config.layers, kMaxLayers},
           {"hidden", config.hidden},
           {"heads", config.heads},
           {"kv-heads",
            config.keyValueHeads != 0 ? config.keyValueHeads : config.heads},
           {"seq", config.seq},
           {"batch", config.batch},
           {"vocab", config.vocab}})) ||
      failed(verifyDivides(context, family, {"heads", config.heads},
                           {"hidden", config.hidden})) ||
      (config.keyValueHeads != 0 &&
       failed(verifyDivides(context, family, {"kv-heads", config.keyValueHeads},
                            {"heads", config.heads}))))
    return failure();
  if (!(config.dropout >= 0 && config.dropout < 1))
    return refuseConfig(context, family)
           << "a dropout from 0 to less than 1, got " << config.dropout;
  return success();
}

/// The feed-forward part of every `every`-th block is that of `experts`, if
/// there are any.
static OwningOpRef<ModuleOp> build(GraphBuilder &graph, const GptConfig &config,
                                   Experts *experts, int64_t every) {
  Gpt gpt{graph, config, config.hidden / config.heads};
  Type i32 = graph.getI32();
  SmallVector<int64_t> tokenShape{config.batch, config.seq};
  Value tokens = graph.input("tokens", tokenShape, Role::Input, i32,
                             config.vocab, {"batch", "sequence"});
  Value labels = graph.input("labels", tokenShape, Role::Label, i32,
                             config.vocab, {"batch", "sequence"});

  graph.enter("wte");
  Value embedding = graph.param("wte.weight", {config.vocab, config.hidden},
                                graph.normal(0.02));
  Value positions = graph.param("wpe.weight", {config.seq, config.hidden},
                                graph.normal(0.02));
  // The residual stream. Splitting its sequence does not split that of the
  // tokens, which a split vocabulary needs whole.
  Value x =
      graph.name(graph.addTrailing(graph.gather(embedding, tokens), positions),
                 "embedded", {"batch", "sequence", ""});
  x = graph.dropout(x, config.dropout);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    std::string prefix = "h." + std::to_string(layer);
    Value attended =
        gpt.attention(gpt.norm(x, prefix + ".ln_1"), prefix + ".attn");
    x = graph.binary<AddOp>(x, graph.dropout(attended, config.dropout));
    Value normal = gpt.norm(x, prefix + ".ln_2");
    Value fed = experts && layer % every == every - 1
                    ? experts->add(normal, prefix + ".moe")
                    : gpt.feedForward(normal, prefix + ".mlp");
    x = graph.binary<AddOp>(x, graph.dropout(fed, config.dropout));
  }
  x = gpt.norm(x, "ln_f");

  graph.enter("lm_head");
  Value head =
      config.tied ? embedding
                  : graph.param("lm_head.weight", {config.vocab, config.hidden},
                                graph.normal(0.02));
  Value logits = graph.dot(x, head, {}, {}, {2}, {1});
  // Nobody reads the name: it is there for predictions.
  graph.name(logits, "logits", {"batch", "sequence", ""});
  graph.enter("loss");
  Value loss = graph.meanCrossEntropy(logits, labels);
  return graph.finish(experts ? experts->finish(loss) : loss);
}

OwningOpRef<ModuleOp> pp::buildGpt(MLIRContext &context,
                                   const GptConfig &config, Type element) {
  if (failed(verifyConfig(context, "gpt", config)))
    return {};
  GraphBuilder graph(context, element);
  return build(graph, config, /*experts=*/nullptr, /*every=*/1);
}

static LogicalResult verifyConfig(MLIRContext &context,
                                  const MoeConfig &config) {
  if (failed(verifyConfig(context, "moe", config)) ||
      failed(verifySizes(context, "moe",
                         {{"experts", config.experts},
                          {"top-k", config.topK, config.experts},
                          {"moe-every", config.every, config.layers}})))
    return failure();
  if (!(config.capacityFactor > 0 && config.capacityFactor <= config.experts))
    return refuseConfig(context, "moe")
           << "a capacity-factor above 0 and up to the number of experts, got "
           << config.capacityFactor;
  if (!(config.auxWeight >= 0 && std::isfinite(config.auxWeight)))
    return refuseConfig(context, "moe")
           << "a finite aux-weight from 0 on, got " << config.auxWeight;
  return success();
}

OwningOpRef<ModuleOp> pp::buildMoe(MLIRContext &context,
                                   const MoeConfig &config, Type element) {
  if (failed(verifyConfig(context, config)))
    return {};
  GraphBuilder graph(context, element);
  Experts experts(graph, config);
  return build(graph, config, &experts, config.every);
}

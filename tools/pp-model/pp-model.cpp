//===- pp-model.cpp - writes an example model as a level 1 module ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a family and its sizes. Out: the text of a module; nothing is written
// unless it is whole and valid.
//
//===----------------------------------------------------------------------===//
#include "../NamedValues.h"
#include "../Process.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "pp/IR/PP.h"
#include "pp/IR/Version.h"
#include "pp/Models/Models.h"
#include "pprt/Files.h"
#include "pprt/Status.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <list>

namespace cl = llvm::cl;
using pprt::ExitCode;

static int fail(const llvm::Twine &message, ExitCode code) {
  llvm::errs() << "pp-model: error: " << message << "\n";
  return int(code);
}

int main(int argc, char **argv) {
  pp::guardProcess("pp-model");
  llvm::InitLLVM init(argc, argv);
  cl::SubCommand gptCommand(
      "gpt", "GPT-2: pre-norm, learned positions, tanh GELU, biases");
  cl::SubCommand moeCommand(
      "moe", "gpt with experts in place of some feed-forward parts");
  cl::SubCommand mlpCommand("mlp", "tanh layers and a softmax classifier");
  cl::SubCommand resnetCommand(
      "resnet", "a residual network on images, as in torchvision");
  cl::SubCommand unetCommand(
      "unet", "encoder and decoder with skips: a class per pixel");

  pp::MoeConfig moe; // of gpt, too
  pp::MlpConfig mlp;
  pp::ResNetConfig resnet;
  pp::UNetConfig unet;
  std::list<std::string> descriptions; // options only refer to theirs
  auto number = [&](auto &command, llvm::StringRef name, llvm::StringRef what,
                    auto &value) {
    std::string shown;
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>)
      llvm::raw_string_ostream(shown) << llvm::format("%g", value);
    else
      shown = llvm::formatv("{0}", value);
    descriptions.push_back(llvm::formatv("{0} (default {1})", what, shown));
    return cl::opt<std::decay_t<decltype(value)>, true>(
        name, cl::desc(descriptions.back()), cl::location(value),
        cl::init(value), cl::sub(command));
  };
  // Options that gpt and moe share.
  cl::SubCommandGroup transformers = {&gptCommand, &moeCommand};
  auto layers =
      number(transformers, "layers", "transformer blocks", moe.layers);
  auto hidden = number(transformers, "hidden", "width of the residual stream",
                       moe.hidden);
  auto heads = number(transformers, "heads",
                      "attention heads; they divide hidden", moe.heads);
  auto keyValueHeads = number(transformers, "kv-heads",
                              "key-value heads, shared by equally many "
                              "queries; they divide heads; 0: one per head",
                              moe.keyValueHeads);
  auto seq = number(transformers, "seq", "tokens of a sequence", moe.seq);
  auto batch =
      number(transformers, "batch", "sequences of a global batch", moe.batch);
  auto vocab = number(transformers, "vocab", "distinct tokens", moe.vocab);
  cl::opt<bool, true> tied(
      "tied",
      cl::desc("tie the output projection to the embedding (default true; "
               "--tied=false gives it a weight of its own)"),
      cl::location(moe.tied), cl::init(moe.tied), cl::sub(transformers));
  auto dropout = number(
      transformers, "dropout",
      "dropout rate of embeddings, attention probabilities and block outputs",
      moe.dropout);
  auto experts =
      number(moeCommand, "experts", "experts of a block", moe.experts);
  auto topK =
      number(moeCommand, "top-k", "experts that a token chooses", moe.topK);
  auto every = number(moeCommand, "moe-every", "every N-th block has experts",
                      moe.every);
  auto capacity = number(moeCommand, "capacity-factor",
                         "expert capacity relative to evenly spread tokens",
                         moe.capacityFactor);
  auto weight =
      number(moeCommand, "aux-weight",
             "weight of the auxiliary load-balancing loss", moe.auxWeight);
  auto mlpLayers = number(mlpCommand, "layers", "linear layers", mlp.layers);
  auto mlpInput =
      number(mlpCommand, "input", "features of a sample", mlp.input);
  auto mlpHidden =
      number(mlpCommand, "hidden", "width of the hidden layers", mlp.hidden);
  auto mlpClasses =
      number(mlpCommand, "classes", "number of classes", mlp.classes);
  auto mlpBatch =
      number(mlpCommand, "batch", "samples of a global batch", mlp.batch);

  auto resnetDepth =
      number(resnetCommand, "depth", "18, 34 or 50", resnet.depth);
  enum class Norm { Batch, Group };
  pp::NamedValues<Norm> resnetNorm(
      "norm", cl::desc("norm after each convolution"), cl::init(Norm::Batch),
      cl::values(clEnumValN(Norm::Batch, "batch",
                            "batch norm; running statistics are states "
                            "(default)"),
                 clEnumValN(Norm::Group, "group", "group norm")),
      cl::sub(resnetCommand));
  auto resnetImage = number(resnetCommand, "image",
                            "height and width of an image", resnet.image);
  auto resnetClasses =
      number(resnetCommand, "classes", "number of classes", resnet.classes);
  auto resnetBatch =
      number(resnetCommand, "batch", "images of a global batch", resnet.batch);
  auto resnetWidth = number(resnetCommand, "width",
                            "channels of the first layers", resnet.width);
  auto resnetGroups =
      number(resnetCommand, "groups", "groups of group norm; they divide width",
             resnet.groups);
  auto unetDepth =
      number(unetCommand, "depth",
             "number of times that the encoder halves an image", unet.depth);
  auto unetImage =
      number(unetCommand, "image", "height and width of an image", unet.image);
  auto unetChannels =
      number(unetCommand, "channels", "channels of an image", unet.channels);
  auto unetClasses =
      number(unetCommand, "classes", "number of classes", unet.classes);
  auto unetBatch =
      number(unetCommand, "batch", "images of a global batch", unet.batch);
  auto unetWidth =
      number(unetCommand, "width", "channels at full resolution", unet.width);
  auto unetGroups =
      number(unetCommand, "groups", "groups of group norm; they divide width",
             unet.groups);

  cl::OptionCategory shared("Options of every family");
  enum class Element { F32, F64, BF16, F16 };
  pp::NamedValues<Element> dtype(
      "dtype", cl::desc("element type of parameters and activations"),
      cl::init(Element::F32),
      cl::values(
          clEnumValN(Element::F32, "f32", "single precision (default)"),
          clEnumValN(Element::F64, "f64", "double precision, for checking"),
          clEnumValN(Element::BF16, "bf16", "bfloat16"),
          clEnumValN(Element::F16, "f16", "half precision")),
      cl::cat(shared), cl::sub(cl::SubCommand::getAll()));
  cl::opt<std::string> output(
      "o", cl::desc("file to write; - is standard output"),
      cl::value_desc("file"), cl::init("-"), cl::cat(shared),
      cl::sub(cl::SubCommand::getAll()));
  // libLLVM brings hundreds of options of its own into --help.
  cl::HideUnrelatedOptions(shared);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << pp::describeVersion() << "\n"; });
  // LLVM's own -h would print help for every misspelt --h...
  cl::opt<bool> help("h", cl::ReallyHidden, cl::sub(cl::SubCommand::getAll()));
  // LLVM takes a subcommand in the first place alone, and does not say so.
  constexpr llvm::StringLiteral families[] = {"gpt", "moe", "mlp", "resnet",
                                              "unet"};
  const auto isFamily = [&](llvm::StringRef word) {
    return llvm::is_contained(families, word);
  };
  const bool hasFamily = argc > 1 && isFamily(argv[1]);
  if (argc > 1 && argv[1][0] != '-' && !hasFamily)
    return fail("expects a family, " +
                    llvm::join(llvm::ArrayRef(families), ", ") + ", got '" +
                    argv[1] + "'",
                ExitCode::usage);
  if (argc > 1 && !hasFamily)
    for (int i = 2; i < argc; ++i)
      if (isFamily(argv[i]))
        return fail("expects the family before all options, as in pp-model " +
                        llvm::Twine(argv[i]) + " -o FILE; got '" + argv[1] +
                        "' before '" + argv[i] + "'",
                    ExitCode::usage);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "pp-model: writes an example model as a level 1 module\n\n"
          "  pp-model gpt --layers=4 --hidden=256 --heads=8 --seq=128 "
          "--batch=16 --vocab=256 -o gpt.mlir\n",
          &llvm::errs()))
    return int(ExitCode::usage);
  if (help) {
    cl::PrintHelpMessage();
    return 0;
  }
  cl::SubCommand *chosen = nullptr;
  for (cl::SubCommand *command :
       {&gptCommand, &moeCommand, &mlpCommand, &resnetCommand, &unetCommand})
    if (*command)
      chosen = command;
  if (!chosen)
    return fail("expects a family, " +
                    llvm::join(llvm::ArrayRef(families), ", ") +
                    "; try pp-model --help",
                ExitCode::usage);
  for (const auto &entry : cl::getRegisteredOptions(*chosen))
    if (entry.second->getNumOccurrences() > 1)
      return fail("expects '--" + entry.first + "' once, got it more often",
                  ExitCode::usage);

  mlir::MLIRContext context;
  context.loadDialect<pp::PPDialect, mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &what) {
    llvm::errs() << "pp-model: error: " << what << "\n";
    return mlir::success();
  });
  mlir::Type element = mlir::Float32Type::get(&context);
  if (dtype == Element::F64)
    element = mlir::Float64Type::get(&context);
  if (dtype == Element::BF16)
    element = mlir::BFloat16Type::get(&context);
  if (dtype == Element::F16)
    element = mlir::Float16Type::get(&context);
  if (!every.getNumOccurrences())
    moe.every = std::clamp<int64_t>(moe.layers, 1, moe.every);
  resnet.batchNorm = resnetNorm == Norm::Batch;
  if (resnet.batchNorm && resnetGroups.getNumOccurrences())
    return fail("expects --groups with --norm=group only, got --norm=batch",
                ExitCode::usage);
  auto module = gptCommand      ? pp::buildGpt(context, moe, element)
                : moeCommand    ? pp::buildMoe(context, moe, element)
                : mlpCommand    ? pp::buildMlp(context, mlp, element)
                : resnetCommand ? pp::buildResNet(context, resnet, element)
                                : pp::buildUNet(context, unet, element);
  if (!module)
    return int(ExitCode::usage);
  if (failed(mlir::verify(*module)))
    return int(ExitCode::doesNotCompile);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(
                            true, /*prettyForm=*/false));
  pprt::Status written = pprt::writeOutput(output, text.data(), text.size());
  return written.ok() ? 0 : fail(written.message(), written.code());
}

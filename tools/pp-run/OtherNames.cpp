//===- OtherNames.cpp - names that other tools give to options ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OtherNames.h"

#include <algorithm>

using namespace pp::run;

namespace {
/// Names, with blanks around each, and what stands here for them.
struct Row {
  const char *names, *ours;
};
} // namespace

static constexpr char kOfModel[] =
    "it is the model's: give it to pp-model, or change the module";

static constexpr Row rows[] = {
    {" pp-predict predict-only ", "--dry-run"},
    {" pp-memory-report ", "--memory-report"},
    {" pp-parallelize plan mesh ", "--parallelize=\"...\""},
    {" ckpt checkpoint-dir checkpoint-path save-dir output-dir out-dir ",
     "--checkpoint=FOLDER"},
    {" load load-dir load-checkpoint continue resume-from restore "
     "resume-from-checkpoint ",
     "--resume"},
    {" save-interval save-steps save-freq checkpoint-every ", "--save-every=N"},
    {" keep-last save-total-limit max-to-keep ", "--keep=N"},
    {" weights init-from init load-weights ", "--parameters=FILE.safetensors"},
    {" epochs num-epochs num-train-epochs max-steps max-iters iterations iters "
     "train-iters ",
     "--steps=N"},
    {" train-data dataset input ", "--data=KIND"},
    {" valid-data validation-data ", "--eval-data=KIND"},
    {" eval-interval val-interval eval-freq validate-every ", "--eval-every=N"},
    {" eval-iters eval-batches ", "--eval-steps=N"},
    {" val-split validation-split ", "--hold-out=SHARE"},
    {" inference generate ", "--predict=FILE"},
    {" log-interval log-freq logging-steps print-every ", "--log-every=N"},
    {" tensorboard-dir logdir log-dir ", "--tensorboard=FOLDER"},
    {" prometheus port ", "--listen=PORT"},
    {" max-restarts ", "--restart=N"},
    {" draw-schedule ", "--draw=FILE.svg"},
    {" emit ", "pp-opt --emit=KIND"},
    {" remarks-filter ", "pp-opt --remarks-filter=REGEX"},
    {" nproc nproc-per-node processes np ", "--launcher=\"mpirun -n N\""},
    {" learning-rate ", "--parallelize=\"lr=...\""},
    {" min-learning-rate ", "--parallelize=\"min_lr=...\""},
    {" lr-decay lr-scheduler lr-schedule ", "--parallelize=\"decay=...\""},
    {" warmup-steps warmup-iters ", "--parallelize=\"warmup=...\""},
    {" weight-decay wd ", "--parallelize=\"weight_decay=...\""},
    {" grad-clip clip-grad max-grad-norm gradient-clip ",
     "--parallelize=\"clip=...\""},
    {" accumulate gradient-accumulation-steps grad-accum ",
     "--parallelize=\"microbatches=...\""},
    {" fp16 bf16 amp mixed-precision ", "--parallelize=\"precision=...\""},
    {" batch batch-size seq-length block-size dropout layers hidden ",
     kOfModel}};

std::string pp::run::findOtherName(std::string_view name) {
  std::string word = " " + std::string(name) + " ";
  std::replace(word.begin(), word.end(), '_', '-');
  for (const Row &row : rows)
    if (std::string_view(row.names).find(word) != std::string_view::npos)
      return row.ours == kOfModel ? ": " + std::string(row.ours)
                                  : "; here it is " + std::string(row.ours);
  return "";
}

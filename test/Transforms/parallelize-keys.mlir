// The text of --pp-parallelize is read strictly: an unknown key names the near
// ones, a wrong value says what was expected.

// RUN: not pp-opt %s --pp-parallelize="microbatch=2" 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: unknown key 'microbatch'; did you mean 'microbatches'?

// RUN: not pp-opt %s --pp-parallelize="unheard=2" 2>&1 | FileCheck %s --check-prefix=FAR
// FAR: unknown key 'unheard'; expects one of microbatches pp dp ep sp tp schedule

// RUN: not pp-opt %s --pp-parallelize="dp=2 offload=2" 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: unknown key 'offload': it is not supported

// RUN: not pp-opt %s --pp-parallelize="tp=2 zero=1" 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: 'zero' has an effect with dp, ep or sp above 1 only, got none: choose that, or leave zero out

// A file whose name has blanks is quoted, or has them escaped.
// RUN: not pp-opt %s --pp-parallelize="plan='no such.plan' stop-after=graph" 2>&1 | FileCheck %s --check-prefix=QUOTED
// RUN: not pp-opt %s --pp-parallelize='plan=no\ such.plan stop-after=graph' 2>&1 | FileCheck %s --check-prefix=QUOTED
// QUOTED: expects a file with a plan: no such.plan: cannot open

// RUN: not pp-opt %s --pp-parallelize="dp=0" 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: 'dp' expects a number from 1 to 16777216, got '0'

// RUN: not pp-opt %s --pp-parallelize="dp=2,tp=2" 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not pp-opt %s --pp-parallelize="dp=2, tp=2" 2>&1 | FileCheck %s --check-prefix=COMMAS
// RUN: not pp-opt %s --pp-parallelize="dp=2;tp=2;pp=2" 2>&1 | FileCheck %s --check-prefix=SEMICOLONS
// RUN: not pp-opt %s --pp-parallelize="dp = 2" 2>&1 | FileCheck %s --check-prefix=SPACES
// RUN: not pp-opt %s --pp-parallelize="dp=2 lr='1e-3" 2>&1 | FileCheck %s --check-prefix=QUOTE
// COMMA: 'dp' expects a number from 1 to 16777216, got '2,tp=2': spaces separate keys, as in 'dp=2 tp=2'
// SEMICOLONS: 'dp' expects a number from 1 to 16777216, got '2;tp=2;pp=2': spaces separate keys, as in 'dp=2 tp=2 pp=2'
// SPACES: 'dp' expects a number from 1 to 16777216, got '': a key, '=' and its value stand without spaces between them
// QUOTE: expects every quote to be closed, got an open ' in 'dp=2 lr='1e-3'
// COMMAS: 'dp' expects a number from 1 to 16777216, got '2,': spaces separate keys, as in 'dp=2'

// RUN: not pp-opt %s --pp-parallelize="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: 'optimizer' expects sgd, momentum, adam or adamw, got 'lion'

// RUN: not pp-opt %s --pp-parallelize="lr=fast" 2>&1 | FileCheck %s --check-prefix=REAL
// REAL: 'lr' expects a finite number from 0 on, got 'fast'

// RUN: not pp-opt %s --pp-parallelize="lr=1e-" 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: 'lr' expects a finite number from 0 on, got '1e-'

// RUN: not pp-opt %s --pp-parallelize="betas=0.9" 2>&1 | FileCheck %s --check-prefix=BETAS
// BETAS: 'betas' expects two numbers below 1, as 0.9,0.999, got '0.9'

// RUN: not pp-opt %s --pp-parallelize="dp=2 dp=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: expects 'dp' once, got it twice

// RUN: not pp-opt %s --pp-parallelize="optimizer=sgd momentum=0.5" 2>&1 | FileCheck %s --check-prefix=UNUSED
// UNUSED: 'momentum' has an effect with optimizer=momentum only, got optimizer=sgd: choose that, or leave {{betas|momentum}} out

// RUN: not pp-opt %s --pp-parallelize="remat=none keep=h.0" 2>&1 | FileCheck %s --check-prefix=KEPT
// KEPT: 'keep' has an effect with remat=cheap, selective, full or auto only, got remat=none: choose that, or leave keep out
// RUN: not pp-opt %s --pp-parallelize="dp=2 schedule=gpipe" 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: 'schedule' has an effect with microbatches or pp above 1 only, got none: choose that, or leave schedule out

// RUN: not pp-opt %s --pp-parallelize="microbatches=2 bucket=0" 2>&1 | FileCheck %s --check-prefix=ALONE
// What a sweep says is no mistake: a default, or an axis of one device.
// RUN: pp-opt %s --pp-parallelize="vocab=auto zero.gather=step dp=1 zero=3 tp=1 sequence=true microbatches=1 schedule=gpipe bucket=0 stop-after=graph" | FileCheck %s --check-prefix=SWEEP
// SWEEP: pp.plan = #pp.plan<mesh = <[]>, threads = 1, numerics

// RUN: not pp-opt %s --pp-parallelize="lr.of=w" 2>&1 | FileCheck %s --check-prefix=RATES
// RATES: 'lr.of' expects PATTERN:NUMBER, separated by commas, as *.bias:0,wte.*:1e-4, got 'w'
// RUN: not pp-opt %s --pp-parallelize="optimizer=sgd weight_decay.of=none*:0" 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: 'weight_decay.of' expects patterns of parameters, got 'none*', which matches none
// RUN: not pp-opt %s --pp-parallelize="optimizer=sgd min_lr=0.1" 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: 'min_lr' has an effect with decay=linear or cosine only, got decay=constant
// RUN: not pp-opt %s --pp-parallelize="optimizer=sgd lr=0.1 decay=linear steps=3 min_lr=0.2" 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: expects a min_lr of at most lr, with a decay, got

// ALONE: 'bucket' has an effect with several devices only, got one: choose that, or leave bucket out

// RUN: not pp-opt %s --pp-parallelize="plan=%t.plan dp=2" 2>&1 | FileCheck %s --check-prefix=BESIDE
// BESIDE: 'plan' expects no key but stop-after beside it, got 'dp'

// RUN: not pp-opt %s --pp-parallelize="plan=" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: 'plan' expects a file, got ''

// RUN: not pp-opt %s --pp-parallelize="plan=%t.missing" 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: expects a file with a plan: {{.*}}.missing: cannot open: No such file or directory

// Any white space separates keys.
// RUN: printf 'dp=2\n\ttp=1  \r\n optimizer=sgd\tlr=0.5\n' > %t.keys
// RUN: pp-opt %s --pp-parallelize="$(cat %t.keys) stop-after=graph" | FileCheck %s --check-prefix=SPACE
// SPACE: #pp.plan<mesh = <["dp"=2]>, threads = 1, numerics = "f32", precision = "f32", remat = "cheap", epilogues = "library", links = "1e10:1e-5", rates = "1e11:1e10:1e-6", zero = 0, bucket = 26214400, ahead = 1, optimizer = #pp.optimizer<sgd, lr = 5.{{0+}}e-01>

func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %y = pp.mul %x, %w : tensor<4xf32>
  %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

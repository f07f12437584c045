//===- pp.h - compiling and training from C ---------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the text of a model, and the keys of --parallelize. Out: a program whose
// kernels are compiled for this processor, and sessions that run it on threads
// of this process. Sessions are those of pprt.h, and so are all calls of them.
//
// The order of calls: pp_parse or pp_read, pp_compile, pp_open; then as in
// pprt.h. A call that can fail returns a code, 0 for success; pprt_error()
// returns the text, with the place in the model as FILE:LINE:COLUMN and what to
// change. Nothing throws, nothing prints, and signal handlers of the process
// stay. Compiled kernels are cached where the tools do (~/.cache/pp).
//
// A handle belongs to the caller and is used by one thread at a time; different
// models can be used at once. Sizes are in bytes. Text ends in a zero byte.
//
//===----------------------------------------------------------------------===//
#ifndef PP_C_PP_H
#define PP_C_PP_H

#include "pprt/pprt.h"

#include <stddef.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Beside the codes of pprt.h. */
enum {
  PP_DOES_NOT_COMPILE = 1, /* the model, or the model under this plan */
  PP_DIFFERS = 7,          /* pp_verify found a difference */
  PP_NOT_FINITE = 12       /* a loss or parameter is infinite or no number */
};

/* A parsed model. It is compiled as often as wanted. */
typedef struct pp_model pp_model;
/* The programs of all ranks, with their kernels in this process. */
typedef struct pp_program pp_program;

/* Parses the `size` bytes of `text`, a module as pp-model and pp-opt write it,
   as text or as bytecode. `name` stands for it in messages. */
int pp_parse(const char *name, const char *text, size_t size, pp_model **model);
/* The same for a file. */
int pp_read(const char *path, pp_model **model);
/* Programs and sessions of the model stay. Null is ignored. */
void pp_free_model(pp_model *model);

/* Partitions the model by `parallelize`, the text that --parallelize of pp-run
   takes ("dp=2 tp=2 optimizer=adamw lr=1e-3"; null: one rank), proves that the
   programs neither race nor hang, and compiles their kernels. A word that means
   nothing is PPRT_USAGE. */
int pp_compile(pp_model *model, const char *parallelize, pp_program **program);
/* Sessions of the program stay. Null is ignored. */
void pp_free_program(pp_program *program);

/* The complete plan that the program obeys, `#pp.plan<...>`, and warnings of
   the compiler, a line each. Valid until the program is freed. */
const char *pp_plan(const pp_program *program);
const char *pp_warnings(const pp_program *program);

/* A session on threads of this process, as pprt_open makes it of a file;
   pprt_close frees it. `options` may be null; its device is "cpu". */
int pp_open(pp_program *program, const pprt_options *options,
            pprt_session **session);

/* The bytes of a .ppx file of the same program, for processors like this
   one's, which pp-run and pprt_open_bytes take. Needs ld.lld. Free them with
   pp_free. */
int pp_make_artifact(pp_model *model, const char *parallelize, void **bytes,
                     size_t *size);

/* What --pp-explain says: the collectives of the plan, and why each is there.
   Free the text with pp_free. */
int pp_explain(pp_model *model, const char *parallelize, char **text);

/* Compares three steps of the program, from the session's parameters and
   states, with those of the model that is not partitioned, as pp-run --verify
   does. `inputs` has, by argument number, the batch of each input and label, of
   the argument's bytes; null elsewhere. The session stays as it is. Returns
   PP_DIFFERS if an error is out of bounds. Either way `report` has the table,
   to free with pp_free; other failures leave it null. */
int pp_verify(pp_model *model, const char *parallelize,
              const pprt_session *session, const void *const *inputs,
              char **report);

/* Frees what a function above returned. Null is ignored. */
void pp_free(void *memory);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* PP_C_PP_H */

//===- pprt.h - running artifacts from C ------------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a .ppx artifact, values of its parameters, a global batch per step. Out:
// its outputs, the updated parameters. Tensors go in and out whole, dense and
// row-major, however they are split over ranks.
//
// The order of calls: open, initialize or set what is trained, set the inputs,
// begin, then step as often as wanted, end, close. The calls of a session come
// from one thread. A call that can fail returns a code of Status.h, 0 for
// success; pprt_error() returns the text. Nothing throws, nothing prints.
//
// Ranks may be in several processes: then each of them opens the world, opens
// the same artifact in it, and makes the same calls. Process 0 reads whole
// tensors and writes files. On failures or signals that may affect one process
// alone, the processes must agree (pprt_agree).
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PPRT_H
#define PPRT_PPRT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of the tools. */
enum {
  PPRT_OK = 0,
  PPRT_USAGE = 2,         /* not possible now, or on an unknown object */
  PPRT_BAD_ARTIFACT = 3,  /* not a .ppx file that can be run here */
  PPRT_OUT_OF_MEMORY = 4, /* in a session: only pprt_close is possible then */
  PPRT_CHECK_FAILED = 5,  /* the artifact's programs would race or hang */
  PPRT_RANKS_DISAGREE = 6,
  PPRT_RANK_DIED = 10,
  PPRT_HANG = 11,           /* no rank made progress in time */
  PPRT_BAD_PARAMETERS = 13, /* values that do not fit an argument */
  PPRT_IO = 14,
  PPRT_DEVICE = 15,
  PPRT_INTERRUPTED = 130 /* is_interrupted or a caller of pprt_agree said so */
};

/* Element types in memory. PPRT_I1 takes a byte, PPRT_BF16 and PPRT_F16 (IEEE
   half precision) take two. */
typedef enum {
  PPRT_F32,
  PPRT_F64,
  PPRT_BF16,
  PPRT_I32,
  PPRT_I64,
  PPRT_I1,
  PPRT_F16,
  PPRT_I8
} pprt_element;

typedef enum {
  PPRT_PARAMETER,
  PPRT_STATE, /* for example of an optimizer */
  PPRT_INPUT,
  PPRT_LABEL,
  PPRT_LOSS,
  PPRT_METRIC,
  PPRT_GRADIENT,
  PPRT_PREDICTION
} pprt_role;

/* Description of an argument or output; valid until its session is closed. */
typedef struct {
  const char *name; /* a gradient has its parameter's name */
  pprt_role role;
  pprt_element element;
  uint32_t dimensions;
  const uint64_t *shape;
  uint64_t bytes;
  uint64_t bound; /* an argument's integers lie in [0, bound); 0: any */
} pprt_tensor;

/* Processes that share sessions. */
typedef struct pprt_world pprt_world;

/* Opens the processes that mpirun started, or this one alone; once a process.
   Fails (PPRT_USAGE) with what to install if there is no Open MPI. */
int pprt_open_mpi(pprt_world **world);
/* Call it after closing its sessions. Null is ignored. */
void pprt_close_world(pprt_world *world);
/* Null is a world of one process: process 0 of 1. */
uint32_t pprt_process(const pprt_world *world);
uint32_t pprt_process_count(const pprt_world *world);
/* Returns the same answer in all processes, once all have called: 0, or the
   first nonzero `code`, whose pprt_error() all processes then have; or
   PPRT_INTERRUPTED if any of them is. Null is a world of one process. */
int pprt_agree(pprt_world *world, int code, int interrupted);
/* Ends all processes with the code, from 1 to 255, after one has printed
   pprt_error(): at once, so flush your output first. Does not return. */
void pprt_abort(pprt_world *world, int code);

/* Returns nonzero if a user wants the end. Called a few times a second, from
   threads of the library, with the pointer that was given beside it. */
typedef int (*pprt_is_interrupted)(void *user);

/* From now on, once `is_interrupted` returns nonzero, a call that waits for
   other processes for 1.5 s more ends all of them (PPRT_INTERRUPTED). Null:
   never, for example before saving. */
void pprt_watch(pprt_world *world, pprt_is_interrupted is_interrupted,
                void *user);

/* Fields that are 0 or null have defaults: {.size = sizeof(options)}. */
typedef struct {
  size_t size;                 /* of this structure, as the caller knows it */
  uint32_t threads_per_rank;   /* 0: the artifact's, or what the cores give */
  double hang_timeout_seconds; /* 0: 30 s; negative: waits forever */
  const char *device;          /* "cpu", "cuda" or "null"; null: "cpu" */
  pprt_world *world;           /* null: this process runs all ranks */
  /* Once it returns nonzero, a step in which nothing happens for two seconds
     fails (PPRT_INTERRUPTED). Null: never. */
  pprt_is_interrupted is_interrupted;
  void *user;   /* for is_interrupted */
  int no_graph; /* nonzero: gives each step to a GPU call by call */
} pprt_options;

typedef struct pprt_session pprt_session;

/* For example 0.1.0. */
const char *pprt_version(void);

/* The message of the calling thread's last failed call. The thread's next
   failure, and its end, free it. Never null. */
const char *pprt_error(void);
/* Sets it to `text`, for a failure of the caller's own that pprt_agree or
   pprt_abort will report. Returns the code. */
int pprt_fail(int code, const char *text);

/* Loads, checks and prepares an artifact. `options` may be null, which is all
   as by default. Of another process's file, run only what you trust: kernels
   are machine code. An artifact whose products OpenBLAS computes sets the
   number of threads of the process's libopenblas.so.0 to 1, where it has to
   stay while sessions step; copies under other names are left alone, and so is
   the environment. */
int pprt_open(const char *path, const pprt_options *options,
              pprt_session **session);
int pprt_open_bytes(const void *bytes, size_t size, const pprt_options *options,
                    pprt_session **session);

/* Frees the session. A stuck session stays, since a kernel still uses it: end
   the process by _exit() then. Null is ignored. */
void pprt_close(pprt_session *session);
int pprt_is_stuck(const pprt_session *session);

/* 0 for null. */
uint32_t pprt_rank_count(const pprt_session *session);
uint32_t pprt_argument_count(const pprt_session *session);
uint32_t pprt_output_count(const pprt_session *session);

/* Fail (PPRT_USAGE) if the number is too large or no argument has the name. */
int pprt_argument(const pprt_session *session, uint32_t argument,
                  pprt_tensor *tensor);
int pprt_output(const pprt_session *session, uint32_t output,
                pprt_tensor *tensor);
int pprt_find_argument(const pprt_session *session, const char *name,
                       uint32_t *argument);

/* Sets parameters and states that have no values yet by their initializers.
   Values depend on the seed, not on the split. Call it after pprt_load() to
   make what a file lacks, for example an optimizer's states. */
int pprt_initialize(pprt_session *session, uint64_t seed);
/* Sets them from a safetensors file, which has all parameters and may have
   states. If one does not fit, nothing is changed. */
int pprt_load(pprt_session *session, const char *path);

/* Sets a parameter or state, or the global batch of an input or label for the
   steps that follow; a copy is kept. `bytes` is the tensor's, and integers of
   inputs and labels are below its bound, or else nothing is changed
   (PPRT_BAD_PARAMETERS). */
int pprt_set(pprt_session *session, uint32_t argument, const void *values,
             uint64_t bytes);

/* The same for an input or label without a copy: pprt_begin and pprt_step read
   `values`. They stay as they are until the input is set or lent anew or the
   session is closed; of a stuck session, as long as the process. Fails
   (PPRT_USAGE) on devices other than "cpu". */
int pprt_lend(pprt_session *session, uint32_t argument, const void *values,
              uint64_t bytes);

/* Begin fails (PPRT_USAGE) if a parameter or state has no values, and each of
   them if an input that is read has none; they can then be set, except an input
   that one process of several lacks. After any other failure all fail. */
int pprt_begin(pprt_session *session);
int pprt_step(pprt_session *session);
int pprt_end(pprt_session *session);

/* Read an output of the last step, a parameter or a state, in process 0. In
   others only outputs of one element are whole, and pprt_get reads nothing. */
int pprt_get_output(const pprt_session *session, uint32_t output, void *values,
                    uint64_t bytes);
int pprt_get(const pprt_session *session, uint32_t argument, void *values,
             uint64_t bytes);

/* How files and other frameworks have a parameter or state: pprt_get's values,
   row-major, with dimension order[i] of the argument as the i-th (null: as they
   are), reshaped to `shape`. Valid until the session is closed. */
int pprt_stored(const pprt_session *session, uint32_t argument,
                uint32_t *dimensions, const uint64_t **shape,
                const uint32_t **order);

/* Writes all parameters and states of the model as safetensors in process 0, to
   which the other processes send theirs. */
int pprt_save(const pprt_session *session, const char *path);

/* The steps done, with those before a checkpoint that was resumed. */
uint64_t pprt_steps(const pprt_session *session);
/* Writes the checkpoint FOLDER/step-N after N steps, as pp-run does: with the
   optimizer's states, so that a run on any mesh can go on from it. Another
   running process must not use the folder. A session of one process. */
int pprt_save_checkpoint(const pprt_session *session, const char *folder);
/* Before pprt_begin: sets all parameters and states, and the number of steps
   done, from a checkpoint or the newest one of a folder; if that one is
   damaged, from an earlier one, and pprt_warning says so. */
int pprt_resume(pprt_session *session, const char *path);
/* What the last pprt_resume warned of; empty: nothing. Valid until the next. */
const char *pprt_warning(const pprt_session *session);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif // PPRT_PPRT_H

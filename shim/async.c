/* async.c - non-blocking collectives, on the shim's threads.
 *
 * Idea       A communicator with a non-blocking collective has a queue and a thread, which performs the
 *            collectives one after another with the blocking functions. The program gets a generalized
 *            request of the MPI, which is completed at the end of the collective, so Wait, Test and
 *            similar functions work unchanged.
 * Waiting    A program thread that waits for a queued collective performs it itself, after the collectives queued before it.
 *            A program that starts a collective and waits for it thus rarely waits for the scheduler to switch threads.
 * Progress   The queue's thread makes progress, so MPI must allow all threads to call it (MPI_THREAD_MULTIPLE).
 *            Without work the thread sleeps. In callbacks of MPI_Finalize MPICH takes no locks, so the thread works
 *            only while the finalizing thread waits (net.h, net_finalize_begin). The thread of a freed communicator
 *            serves the next one: a persistent request has a queue, too.
 * Order      A call on a communicator runs after the collectives that were started on it earlier,
 *            so the order is the same on all ranks. Each communicator has a separate thread,
 *            because ranks may start collectives on two communicators in different orders.
 * Arrays     Counts and displacements are copied, as MPIs do: bindings such as mpi4py's free their
 *            arrays before the request has completed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "async.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net.h"
#include "quiet_thread.h"
#include "request_lanes.h"
#include "uses.h"

typedef struct job {
  struct job *next;
  shim_function function;
  async_call call; /* the job owns its arrays */
  use uses;
  state *of, as; /* of: the communicator's state; as: a copy with separate scratch and counts */
  MPI_Request request;
  atomic_int *outcome; /* its result for the program, freed with the request */
} job;

struct async {
  struct async *next; /* the next entry in its list */
  pthread_t thread;
  pthread_cond_t changed;
  job *first, **last;
  int running, stops;
};

static pthread_mutex_t queueing = PTHREAD_MUTEX_INITIALIZER; /* guards all queues and both lists */
static async *in_use, *idle;

atomic_int async_persistent, async_unwaited;
static int possible;         /* all threads may call MPI */
static atomic_int under_way; /* number of jobs on all communicators */

void async_begin(void) {
  int level = MPI_THREAD_SINGLE;
  next()->net.Query_thread(&level);
  possible = level == MPI_THREAD_MULTIPLE;
}

bool async_under_way(void) {
  return atomic_load_explicit(&under_way, memory_order_relaxed) > 0;
}

/* Waiting threads sleep, and a collective that completes wakes them. If many threads yielded instead, the scheduler could
 * keep a working thread off its core for milliseconds. */
enum { LOOKS = 20, NAP_NS = 50000 };
static pthread_mutex_t completing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t completed = PTHREAD_COND_INITIALIZER;

static void sleep_a_little(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += NAP_NS;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&completing);
  pthread_cond_timedwait(&completed, &completing, &until);
  pthread_mutex_unlock(&completing);
}

void async_nap(int vain) {
  net_finalize_pause();
  if (vain < LOOKS)
    sched_yield();
  else
    sleep_a_little();
  net_finalize_resume();
}

static void tell_sleepers(void) {
  pthread_mutex_lock(&completing);
  pthread_cond_broadcast(&completed);
  pthread_mutex_unlock(&completing);
}

bool async_in_progress(MPI_Request request) {
  return request != MPI_REQUEST_NULL && async_under_way() && uses_have(request);
}

/* ---- requests ---- */

static int ask_outcome(void *of, MPI_Status *status) {
  next()->Status_set_elements(status, MPI_BYTE, 0);
  next()->Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  return atomic_load_explicit((atomic_int *)of, memory_order_acquire);
}

static int free_outcome(void *of) {
  atomic_fetch_sub(&async_unwaited, 1);
  free(of);
  return MPI_SUCCESS;
}

static int cancel_nothing(void *of, int complete) {
  (void)of, (void)complete;
  return MPI_SUCCESS;
}

/* ---- one collective ---- */

static answer run(job *j, bool only_asks) {
  state_act_as(&j->as, only_asks);
  const answer a = async_serve(j->function, &j->call);
  state_act_as(NULL, false);
  return a;
}

/* Performs the collective. If this is the first collective on its communicator, tutti's communicator is created first. */
static void finish(job *j) {
  if (!j->as.comm && state_serves(j->of)) j->as.comm = j->of->comm;
  if (!j->as.comm) j->as.why = WHY_FAILED;
  const answer a = run(j, false);
  int code = a.code;
  if (a.why == WHY_FAILED)
    code = serve_fail(&j->as, "tutti could not make a communicator for a non-blocking collective").code;
  else if (a.why != WHY_SERVED)
    code = serve_fail(&j->as,
                      "tutti has begun a non-blocking collective and cannot do it: no plan "
                      "is left, or its arguments have changed")
               .code;
  atomic_store_explicit(j->outcome, code, memory_order_release);
  next()->Grequest_complete(j->request);
  tell_sleepers();
}

static void free_job(job *j) {
  async_free_arrays(&j->call);
  free(j->as.counts);
  free(j->as.scratch);
  free(j);
}

static job *new_job(shim_function function, const async_call *call, state *s) {
  job *j = calloc(1, sizeof *j);
  if (!j) return NULL;
  *j = (job){.function = function, .call = *call, .of = s};
  j->as = (state){.mpi = s->mpi,
                  .comm = s->comm,
                  .rank = s->rank,
                  .ranks = s->ranks,
                  .numbering = MPI_REQUEST_NULL,
                  .form = s->form ? s->form : 1};
  j->as.counts = malloc(2 * (size_t)s->ranks * sizeof *j->as.counts);
  j->outcome = calloc(1, sizeof *j->outcome);
  const bool copied = async_copy_arrays(function, &j->call, s);
  if (j->as.counts && j->outcome && copied) return j;
  free(j->outcome);
  free_job(j);
  return NULL;
}

/* ---- queues and their threads ---- */

/* Performs the first job in the queue, which no thread has started yet. The caller has locked `queueing`. */
static void perform(async *a) {
  job *j = a->first;
  a->first = j->next;
  if (!a->first) a->last = &a->first;
  a->running = 1;
  pthread_mutex_unlock(&queueing);
  net_enter(&next()->net, MPI_THREAD_MULTIPLE, 1);
  finish(j);
  use_end(&j->uses);
  net_leave();
  free_job(j);
  atomic_fetch_sub(&under_way, 1);
  pthread_mutex_lock(&queueing);
  a->running = 0;
  pthread_cond_broadcast(&a->changed);
}

static void *work_off(void *of) {
  async *a = of;
  pthread_mutex_lock(&queueing);
  while (!a->stops)
    if (a->first && !a->running)
      perform(a);
    else
      pthread_cond_wait(&a->changed, &queueing);
  pthread_mutex_unlock(&queueing);
  return NULL;
}

/* Returns the queue that contains this request. Returns NULL if no queue contains it, or if a job of the queue is running. */
static async *queue_of(MPI_Request request) {
  for (async *a = in_use; a; a = a->next)
    for (const job *j = a->running ? NULL : a->first; j; j = j->next)
      if (j->request == request) return a;
  return NULL;
}

void async_perform(int n, const MPI_Request *requests) {
  pthread_mutex_lock(&queueing);
  for (int i = 0; requests && i < n; i++)
    for (async *a; requests[i] != MPI_REQUEST_NULL && (a = queue_of(requests[i]));) perform(a);
  pthread_mutex_unlock(&queueing);
}

static async *start_thread(void) {
  async *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  pthread_cond_init(&a->changed, NULL);
  a->last = &a->first;
  if (tt_quiet_thread(&a->thread, work_off, a) == 0) return a;
  free(a);
  return NULL;
}

static async *new_async(void) {
  pthread_mutex_lock(&queueing);
  async *a = idle;
  if (a) idle = a->next;
  pthread_mutex_unlock(&queueing);
  if (!a) a = start_thread();
  if (!a) return NULL;
  pthread_mutex_lock(&queueing);
  a->next = in_use;
  in_use = a;
  pthread_mutex_unlock(&queueing);
  return a;
}

void async_drain(state *s) {
  async *a = s->async;
  if (!a) return;
  pthread_mutex_lock(&queueing);
  while (a->first || a->running) {
    if (!a->running) {
      perform(a);
      continue;
    }
    net_finalize_pause();
    pthread_cond_wait(&a->changed, &queueing);
    pthread_mutex_unlock(&queueing);
    net_finalize_resume();
    pthread_mutex_lock(&queueing);
  }
  pthread_mutex_unlock(&queueing);
}

void async_stop(state *s) {
  async *a = s->async, **at = &in_use;
  if (!a) return;
  async_drain(s);
  s->async = NULL;
  pthread_mutex_lock(&queueing);
  while (*at != a) at = &(*at)->next;
  *at = a->next;
  a->next = idle;
  idle = a;
  pthread_mutex_unlock(&queueing);
}

static void end_threads(void) {
  for (async *a; (a = idle); free(a)) {
    pthread_mutex_lock(&queueing);
    idle = a->next;
    a->stops = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&queueing);
    net_finalize_pause();
    pthread_join(a->thread, NULL);
    net_finalize_resume();
    pthread_cond_destroy(&a->changed);
  }
}

static void enqueue(async *a, job *j) {
  pthread_mutex_lock(&queueing);
  *a->last = j;
  a->last = &j->next;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&queueing);
}

/* ---- starting ---- */

/* Hands a collective to the communicator's thread. Creates the thread if necessary. */
static answer begin(shim_function function, const async_call *call, state *s,
                    MPI_Request *request) {
  job *j = new_job(function, call, s);
  if (!j) return serve_fail(s, "out of memory for a non-blocking collective");
  const answer can = run(j, true);
  if (can.why == WHY_SERVED && !s->async) s->async = new_async();
  if (can.why != WHY_SERVED || !s->async || !state_number(s) ||
      next()->Grequest_start(ask_outcome, free_outcome, cancel_nothing, j->outcome, &j->request)) {
    free(j->outcome);
    free_job(j);
    if (can.why != WHY_SERVED) return can;
    return serve_fail(s, "no thread, or no request, for a non-blocking collective");
  }
  *request = j->request;
  atomic_fetch_add(&under_way, 1);
  atomic_fetch_add(&async_unwaited, 1);
  use_begin(&j->uses, &j->call, j->request);
  enqueue(s->async, j);
  return can;
}

/* Returns the state of a communicator for which tutti can make a request. If tutti cannot, returns NULL and stores the reason
 * in *why. */
static state *served(const async_call *call, const MPI_Request *request, shim_why *why) {
  state *s = possible ? state_look(call->comm, why) : NULL;
  if (!possible) *why = WHY_NO_THREAD;
  if (s && !request) *why = WHY_REFUSED;
  return request ? s : NULL;
}

answer async_start(shim_function function, const async_call *call, MPI_Request *request) {
  shim_why why;
  state *s = served(call, request, &why);
  return s ? begin(function, call, s, request) : hand_on(why);
}

/* ---- persistent collectives ---- */

/* The handle that the program receives is a persistent collective of the MPI, which is never started. A persistent message
 * would be sufficient, but after such a request has been freed, the persistent collectives of Intel MPI 2021.18 complete
 * without their data. */
typedef struct persistent {
  struct persistent *next;
  shim_function function;
  async_call call;
  use uses;
  state as;
  lane lane;                 /* the lane that it runs on */
  MPI_Request token, active; /* the program's handle; the inner request, while active */
} persistent;

static persistent *prepared;
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;

static persistent **find(MPI_Request request) {
  persistent **at = &prepared;
  while (*at && (*at)->token != request) at = &(*at)->next;
  return at;
}

static persistent *look_up(MPI_Request request) {
  pthread_mutex_lock(&preparing);
  persistent *p = *find(request);
  pthread_mutex_unlock(&preparing);
  return p;
}

static answer prepare(persistent *p, state *s, MPI_Request *request) {
  async_drain(s);
  if (!state_serves(s)) return hand_on(s->why);
  if (!lane_take(s, &p->lane)) return hand_on(WHY_FAILED); /* fails on all ranks */
  p->as.comm = p->lane.comm;
  if (next()->Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &p->token)) {
    lane_give(&p->lane);
    return serve_fail(s, "no request for a persistent collective");
  }
  *request = p->token;
  pthread_mutex_lock(&preparing);
  p->next = prepared;
  prepared = p;
  pthread_mutex_unlock(&preparing);
  use_begin(&p->uses, &p->call, MPI_REQUEST_NULL);
  atomic_fetch_add(&async_persistent, 1);
  return (answer){WHY_SERVED, MPI_SUCCESS, NULL};
}

answer async_init(shim_function function, const async_call *call, MPI_Request *request) {
  shim_why why;
  state *s = served(call, request, &why);
  if (!s) return hand_on(why);
  job *j = new_job(function, call, s);
  persistent *p = calloc(1, sizeof *p);
  answer a = j && p ? run(j, true) : serve_fail(s, "out of memory for a persistent collective");
  if (j && p && a.why == WHY_SERVED) {
    *p = (persistent){.function = function, .call = j->call, .as = j->as};
    j->call = (async_call){.comm = call->comm}; /* p owns its arrays now */
    p->as.counts = NULL;
    p->as.form = 2;
    p->active = MPI_REQUEST_NULL;
    a = prepare(p, s, request);
  }
  if (p && (a.why != WHY_SERVED || a.code != MPI_SUCCESS)) async_free_arrays(&p->call), free(p);
  if (j) free(j->outcome);
  if (j) free_job(j);
  return a;
}

MPI_Request *async_active(MPI_Request request) {
  persistent *p = look_up(request);
  return p ? &p->active : NULL;
}

int async_restart(MPI_Request request) {
  persistent *p = look_up(request);
  if (p->active != MPI_REQUEST_NULL) { /* the program has not waited for it */
    next()->Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
  }
  return begin(p->function, &p->call, &p->as, &p->active).code;
}

void async_free(MPI_Request request) {
  pthread_mutex_lock(&preparing);
  persistent **at = find(request), *p = *at;
  if (p) *at = p->next;
  pthread_mutex_unlock(&preparing);
  if (!p) return;
  atomic_fetch_sub(&async_persistent, 1);
  async_stop(&p->as);
  lane_give(&p->lane);
  next()->Request_free(&p->token);
  use_end(&p->uses);
  async_free_arrays(&p->call);
  free(p);
}

/* ---- shutdown ---- */

void async_end(void) {
  while (prepared) async_free(prepared->token);
  end_threads();
  possible = 0;
}

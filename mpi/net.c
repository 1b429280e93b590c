/* net.c - an MPI communicator as a network: an array of requests, tested together.
 *
 * Idea       Request number `slot` is the element at that index of an array. The array is passed to
 *            MPI_Testsome, which also drives MPI's progress.
 * Threads    MPI_THREAD_MULTIPLE: concurrent calls. SERIALIZED: one at a time. Lower levels: only
 *            the main thread calls MPI; a poll by another thread returns nothing.
 * Simulated  For SimGrid's SMPI, which is detected at compile time: ranks share one process, and
 *            time passes only inside MPI calls, so tutti waits in MPI_Waitany.
 * The end    MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one first. One
 *            attribute for all networks is attached there: its deletion makes them release all
 *            their MPI objects, and from then on every call fails. (One per network would be simpler, but MPICH corrupts
 *            the list of attributes when threads change it concurrently.)
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef TUTTI_MPI_SIMULATED
static const int simulated = 1;
#else
static const int simulated = 0;
#endif

typedef struct self {
  const mpi_calls *mpi;
  MPI_Comm comm;
  MPI_Request *requests;
  MPI_Status *statuses;
  int *indices, room;
  MPI_Request mine, sent; /* simulated ranks: a message from this rank to itself (ask) */
  char *receives;         /* by request: 1 for a receive */
  int done, ndone;        /* results of the last test: number reported, and total number */
  int threads;            /* MPI's thread level */
  int over;               /* MPI has ended */
  int unclean;            /* some messages will never be received */
  double cancels;         /* time in seconds of the first wait for a partly arrived message; 0 if
                             none */
  struct self *next;      /* the next open network */
  char error[MPI_MAX_ERROR_STRING + 256];
} self;

static pthread_mutex_t one_at_a_time = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_bool finalizing; /* requires the mutex at all thread levels */
/* Number of times that this thread has locked the mutex. A thread may enter before MPI finalizes, when no mutex is needed,
 * and leave afterwards, so the number can differ from the number of entries. Entries are left in reverse order. */
static _Thread_local int held, held_finalizing;

void net_finalize_pause(void) {
  for (int i = 0; i < held_finalizing; i++) pthread_mutex_unlock(&one_at_a_time);
}

void net_finalize_resume(void) {
  for (int i = 0; i < held_finalizing; i++) pthread_mutex_lock(&one_at_a_time);
}

void net_finalize_begin(void) {
  pthread_mutex_lock(&one_at_a_time);
  finalizing = true;
  held_finalizing = 1;
}

void net_finalize_end(void) {
  finalizing = false;
  held_finalizing = 0;
  pthread_mutex_unlock(&one_at_a_time);
}

int net_enter(const mpi_calls *mpi, int threads, int waits) {
  int main_thread = 1;
  if (threads < MPI_THREAD_SERIALIZED && !simulated) mpi->Is_thread_main(&main_thread);
  if (!main_thread) return 0;
  if (threads != MPI_THREAD_SERIALIZED && !finalizing) return 1;
  if ((waits ? pthread_mutex_lock : pthread_mutex_trylock)(&one_at_a_time)) return 0;
  ++*(finalizing ? &held_finalizing : &held);
  return 1;
}

void net_leave(void) {
  int *of = held_finalizing ? &held_finalizing : &held;
  if (!*of) return;
  --*of;
  pthread_mutex_unlock(&one_at_a_time);
  if (!held_finalizing) return;
  net_finalize_pause();
  sched_yield(); /* other threads may be waiting for this thread's peers */
  net_finalize_resume();
}

static int enter(const self *s) {
  return net_enter(s->mpi, s->threads, 1);
}

/* Enters MPI. Returns 0, and records the reason, on errors. */
static int admitted(self *s) {
  if (enter(s)) return 1;
  snprintf(s->error, sizeof s->error,
           "MPI was not initialized for threads, and this is not its main thread (ask for "
           "MPI_THREAD_SERIALIZED)");
  return 0;
}

static void read_error(const mpi_calls *mpi, int error, char *text) {
  int length = 0;
  if (mpi->Error_string(error, text, &length))
    snprintf(text, MPI_MAX_ERROR_STRING, "error %d", error);
}

/* Returns 0, or records the error and returns 1. */
static int result(self *s, int error) {
  if (error != MPI_SUCCESS) read_error(s->mpi, error, s->error);
  return error != MPI_SUCCESS;
}

static int usable(self *s) {
  if (s->over) snprintf(s->error, sizeof s->error, "MPI has been finalized");
  return !s->over;
}

/* ---- the table ---- */

static int grow(self *s, int slot) {
  const int room = s->room, n = slot < 64 ? 64 : 2 * slot;
  if (slot < room) return 0;
  MPI_Request *requests = realloc(s->requests, (size_t)n * sizeof *requests);
  if (requests) s->requests = requests;
  MPI_Status *statuses = realloc(s->statuses, (size_t)n * sizeof *statuses);
  if (statuses) s->statuses = statuses;
  int *indices = realloc(s->indices, (size_t)n * sizeof *indices);
  if (indices) s->indices = indices;
  char *receives = realloc(s->receives, (size_t)n);
  if (receives) s->receives = receives;
  if (!requests || !statuses || !indices || !receives) {
    snprintf(s->error, sizeof s->error, "out of memory for requests");
    return 1;
  }
  for (s->room = n; s->room > room;) s->requests[--s->room] = MPI_REQUEST_NULL;
  s->room = n;
  return 0;
}

static int begin(self *s, int slot, int receives) {
  if (!usable(s) || grow(s, slot)) return 1;
  s->receives[slot] = (char)receives;
  return !admitted(s);
}

static int net_send(void *self_, int slot, int peer, int tag, const void *bytes, size_t n,
                    int sure) {
  self *s = self_;
  if (begin(s, slot, 0)) return 1;
  const int error = (sure ? s->mpi->Issend : s->mpi->Isend)(bytes, (int)n, MPI_BYTE, peer, tag,
                                                            s->comm, &s->requests[slot]);
  net_leave();
  return result(s, error);
}

static int net_recv(void *self_, int slot, int peer, int tag, void *bytes, size_t n) {
  self *s = self_;
  if (begin(s, slot, 1)) return 1;
  const int from = peer == TUTTI_NET_ANY ? MPI_ANY_SOURCE : peer;
  const int error = s->mpi->Irecv(bytes, (int)n, MPI_BYTE, from, tag, s->comm, &s->requests[slot]);
  net_leave();
  return result(s, error);
}

#ifdef TUTTI_MPI_SIMULATED
/* Requests complete one at a time, in MPI_Waitany. A test that does not wait uses one more request: a message of this rank to
 * itself, which has already arrived. (SMPI 3.32 keeps requests that were completed by tests in a list, which it searches in
 * all later calls.) However, SMPI scans all requests in each wait. If a rank waits for very many messages, it therefore uses
 * tests to fetch all requests that ended at the same instant. */
enum { BLOCK = 32 }; /* requests per test, and the number from which there are "very many" */

static int awaits_many(const self *s, int slots) {
  int n = 0;
  for (int i = 0; i < slots && n < BLOCK; i++) n += s->requests[i] != MPI_REQUEST_NULL;
  return n == BLOCK;
}

static int take_more(self *s, int slots) {
  for (int at = 0, index, done; at < slots;) {
    const int n = slots - at < BLOCK ? slots - at : BLOCK;
    const int error = s->mpi->Testany(n, s->requests + at, &index, &done, &s->statuses[s->ndone]);
    if (error) return error;
    if (done && index >= 0)
      s->indices[s->ndone++] = at + index;
    else
      at += n;
  }
  return MPI_SUCCESS;
}

static int send_myself(self *s) {
  if (s->mine != MPI_REQUEST_NULL) return MPI_SUCCESS;
  const int error = s->mpi->Irecv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &s->mine);
  return error ? error : s->mpi->Isend(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &s->sent);
}

static int ask(self *s, int wait, int slots) {
  int n = slots, error = MPI_SUCCESS, looks = !wait;
  if (looks && (grow(s, slots) || (error = send_myself(s)))) return error ? error : MPI_ERR_OTHER;
  if (looks) s->requests[n++] = s->mine;
  do {
    int *index = &s->indices[s->ndone];
    error = s->mpi->Waitany(n, s->requests, index, &s->statuses[s->ndone]);
    looks = looks && !error && *index < slots;
    s->ndone += !error && *index >= 0 && *index < slots;
  } while (looks && s->ndone < slots);
  if (wait) return error || !awaits_many(s, slots) ? error : take_more(s, slots);
  s->mine = s->requests[slots];
  s->requests[slots] = MPI_REQUEST_NULL;
  if (!error && s->mine == MPI_REQUEST_NULL) error = s->mpi->Wait(&s->sent, MPI_STATUS_IGNORE);
  return error;
}

/* Completes the last message to itself. */
static void hear_myself(self *s) {
  if (s->mine != MPI_REQUEST_NULL) s->mpi->Wait(&s->mine, MPI_STATUS_IGNORE);
  if (s->sent != MPI_REQUEST_NULL) s->mpi->Wait(&s->sent, MPI_STATUS_IGNORE);
}
#else
static int ask(self *s, int wait, int slots) {
  (void)wait; /* the table has no `wait` */
  const int error = s->mpi->Testsome(slots, s->requests, &s->ndone, s->indices, s->statuses);
  if (s->ndone == MPI_UNDEFINED) s->ndone = 0;
  return error;
}

static void hear_myself(self *s) {
  (void)s;
}
#endif

static int look(self *s, int wait, int slots, tutti_net_done *done, int most, int *n) {
  int error = MPI_SUCCESS;
  *n = 0;
  if (!usable(s)) return 1;
  if (s->done == s->ndone && slots) {
    if (!enter(s)) return 0;
    s->done = s->ndone = 0;
    error = ask(s, wait, slots);
    net_leave();
    if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return result(s, error);
  }
  for (; s->done < s->ndone && *n < most; s->done++) {
    const MPI_Status *status = &s->statuses[s->done];
    /* the field is valid only if some request failed */
    const int failed = error == MPI_ERR_IN_STATUS && result(s, status->MPI_ERROR);
    int bytes = 0;
    s->mpi->Get_count(status, MPI_BYTE, &bytes);
    done[(*n)++] = (tutti_net_done){.slot = s->indices[s->done],
                                    .peer = status->MPI_SOURCE,
                                    .bytes = bytes < 0 ? 0 : (size_t)bytes,
                                    .failed = failed};
  }
  return 0;
}

static int net_poll(void *self_, int slots, tutti_net_done *done, int most, int *n) {
  return look(self_, 0, slots, done, most, n);
}

static int net_wait(void *self_, int slots, tutti_net_done *done, int most, int *n) {
  return look(self_, 1, slots, done, most, n);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Cancels a receive. If a part of its message has arrived, the receive completes only when the sender continues. All such
 * receives together wait for at most one second; after that, *r is unchanged. */
static int take_back(self *s, MPI_Request *r) {
  MPI_Status status;
  int n = 0, index = 0, error = MPI_SUCCESS;
  if (*r != MPI_REQUEST_NULL) error = s->mpi->Cancel(r);
  if (simulated && !error) return s->mpi->Wait(r, &status);
  while (!error && !n) {
    error = s->mpi->Testsome(1, r, &n, &index, &status);
    if (n || error) break;
    if (s->cancels <= 0) s->cancels = seconds();
    if (seconds() - s->cancels > 1) return MPI_SUCCESS;
    sched_yield();
  }
  return error;
}

static int net_cancel(void *self_, int slot) {
  self *s = self_;
  if (s->over) return 0;
  if (begin(s, slot, 1)) return 1;
  const int error = take_back(s, &s->requests[slot]);
  net_leave();
  if (result(s, error)) return 1;
  if (s->requests[slot] == MPI_REQUEST_NULL) return 0;
  snprintf(s->error, sizeof s->error, "a message that has begun does not end");
  return 1;
}

static int net_split(void *self_, int color, int key, tutti_net *net) {
  self *s = self_;
  MPI_Comm comm = MPI_COMM_NULL;
  if (!usable(s) || !admitted(s)) return 1;
  const int error = s->mpi->Comm_split(s->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
  net_leave();
  if (result(s, error)) return 1;
  if (comm == MPI_COMM_NULL) return 0;
  if (mpi_net(s->mpi, comm, net)) {
    snprintf(s->error, sizeof s->error, "%.200s", tutti_error());
    return 1;
  }
  net->site = (tutti_net_site){0};
  return 0;
}

static const char *net_error(void *self_) {
  return ((self *)self_)->error;
}

/* ---- closing ---- */

/* Releases a network's MPI objects when the network is closed or, if that is earlier, when MPI ends. Cancels receives. If
 * messages are still in flight, the communicator is not freed. Otherwise MPI would reuse its context id, and another
 * communicator would receive these messages. */
static void give_back(self *s) {
  int busy = 0;
  hear_myself(s);
  for (int i = 0; i < s->room; i++) {
    MPI_Request *r = &s->requests[i];
    if (*r != MPI_REQUEST_NULL && s->receives[i]) take_back(s, r);
    busy |= *r != MPI_REQUEST_NULL;
  }
  if (!busy && !s->unclean) s->mpi->Comm_free(&s->comm);
  s->over = 1;
}

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static self *all; /* list of open networks */

/* Releases the MPI objects of all networks when MPI ends. No thread opens or closes a network at that time. */
static int give_all_back(MPI_Comm comm, int keyval, void *attribute, void *extra) {
  (void)comm, (void)keyval, (void)attribute, (void)extra;
  for (self *s = all; s; s = s->next) give_back(s);
  return MPI_SUCCESS;
}

static int copy_nothing(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *copies) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
  *copies = 0;
  return MPI_SUCCESS;
}

int mpi_keyval(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function, int *keyval) {
  return mpi->Comm_create_keyval(copy_nothing, function, keyval, NULL);
}

int net_at_end(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function) {
  int keyval;
  int error = mpi_keyval(mpi, function, &keyval);
  if (!error) error = mpi->Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  if (!error) error = mpi->Comm_free_keyval(&keyval); /* freed with the attribute */
  return error;
}

static int hangs; /* true once give_all_back has been registered */

int mpi_net_begin(const mpi_calls *mpi) {
  int error = MPI_SUCCESS;
  pthread_mutex_lock(&listing);
  if (!hangs) error = net_at_end(mpi, give_all_back);
  hangs |= !error;
  pthread_mutex_unlock(&listing);
  return error;
}

static int list(self *s) {
  const int error = mpi_net_begin(s->mpi);
  pthread_mutex_lock(&listing);
  if (!error) s->next = all;
  if (!error) all = s;
  pthread_mutex_unlock(&listing);
  return error;
}

static void unlist(self *s) {
  pthread_mutex_lock(&listing);
  for (self **at = &all; *at; at = &(*at)->next)
    if (*at == s) {
      *at = s->next;
      break;
    }
  pthread_mutex_unlock(&listing);
}

static void drop(self *s) {
  if (!s) return;
  free(s->requests);
  free(s->statuses);
  free(s->indices);
  free(s->receives);
  free(s);
}

static void net_close(void *self_, int clean) {
  self *s = self_;
  int finalized = 0;
  s->mpi->Finalized(&finalized);
  s->unclean = !clean;
  if (!finalized) {
    if (!enter(s)) return; /* MPI may still use it until it ends */
    if (!s->over) give_back(s);
    net_leave();
  }
  unlist(s);
  drop(s);
}

/* ---- making a network ---- */

/* Returns true if MPI yields the processor while it waits. Open MPI does so if it is configured to, or if it detects more
 * processes than cores. After MPI_Init, its library has the setting in a variable. A query through MPI_T would take a fifth
 * of a second, because it loads all of Open MPI's components. */
static int yields(void) {
#ifdef TUTTI_MPI_SIMULATED
  return 1;
#else
  const _Bool *idle = mpi_find_object("ompi_mpi_yield_when_idle");
  return idle && *idle;
#endif
}

tutti_status mpi_failed(const mpi_calls *mpi, const char *what, int error) {
  char text[MPI_MAX_ERROR_STRING] = "", sentence[MPI_MAX_ERROR_STRING + 100];
  read_error(mpi, error, text);
  snprintf(sentence, sizeof sentence, "MPI cannot %s: %s", what, text);
  return tutti_net_refuse(TUTTI_ERR_SYSTEM, sentence);
}

tutti_status mpi_net(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net) {
  self *s = calloc(1, sizeof *s);
  *net = (tutti_net){.size = sizeof *net,
                     .name = TUTTI_MPI_FAMILY,
                     .self = s,
                     .send = net_send,
                     .recv = net_recv,
                     .poll = net_poll,
                     .cancel = net_cancel,
                     .wait = simulated ? net_wait : NULL,
                     .simulated = simulated,
                     .split = net_split,
                     .close = net_close,
                     .error = net_error};
  int error = s ? mpi->Comm_set_errhandler(comm, MPI_ERRORS_RETURN) : MPI_SUCCESS;
  if (s && !error) {
    *s = (self){.mpi = mpi, .comm = comm, .mine = MPI_REQUEST_NULL, .sent = MPI_REQUEST_NULL};
    error = mpi->Query_thread(&s->threads);
    net->threads = s->threads == MPI_THREAD_MULTIPLE;
    net->yields = yields();
    if (!error) error = mpi->Comm_rank(comm, &net->rank);
    if (!error) error = mpi->Comm_size(comm, &net->ranks);
  }
  if (s && !error && !grow(s, 0)) {
    error = list(s);
    if (!error) return TUTTI_OK;
  }
  mpi->Comm_free(&comm);
  drop(s);
  return error ? mpi_failed(mpi, "make a communicator", error)
               : tutti_net_refuse(TUTTI_ERR_MEMORY, "out of memory for a communicator over MPI");
}

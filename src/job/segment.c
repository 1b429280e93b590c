/* segment.c - the job's shared memory: a memfd that has no name in the file system and cannot
 * shrink or grow, or an anonymous mapping if the ranks are threads.
 *
 * Invariant  The memory is freed when the last process that holds it has ended, no matter how that process ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap.h"
#include "huge.h"
#include "lent.h"
#include "process_state.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Minimum address space per rank. A process whose limit is lower cannot even start. */
/* each users: order: a count, the last one frees */

static const size_t LEAST = (size_t)1 << 25;

/* Returns the size of the address space that this process may use, as set by `ulimit -v`. */
static size_t space(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return (size_t)limit.rlim_cur;
}

/* Reduces the address space per rank to fit the limit of the process. Each rank maps the whole segment, and half of
 * the limit is left to the program. */
static size_t within_limit(size_t stride, int n) {
  while (stride > LEAST && stride * (size_t)n > space() / 2) stride /= 2;
  return stride;
}

/* Returns the address space to reserve per rank, which is about the size of the machine's memory. The whole job gets
 * at most 16 TiB, because a process has an address space of only 128 TiB. */
static size_t stride_for(int n) {
  size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  size_t stride = (size_t)1 << 30;
  while (stride < memory && 2 * stride * (size_t)n <= (size_t)1 << 44) stride *= 2;
  return within_limit(stride, n);
}

static tutti_status say_no_map(size_t stride, int n, int why) {
  char limit[120] = "";
  if (space() != SIZE_MAX)
    snprintf(limit, sizeof limit, "; this process may have %zu MiB of addresses: raise `ulimit -v`",
             space() >> 20);
  return tt_fail(TUTTI_ERR_MEMORY, "cannot map %zu MiB of shared memory for each of %d ranks: %s%s",
                 stride >> 20, n, strerror(why), limit);
}

/* Maps memory at a multiple of the huge page size, so that all ranks can use the same huge pages. Linux 6.7 and
 * later usually align such mappings without help. */
static void *map(size_t size, int flags, int fd) {
  void *lucky = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags, fd, 0);
  if (lucky == MAP_FAILED || (uintptr_t)lucky % TT_HUGE == 0) return lucky;
  munmap(lucky, size);
  const size_t capacity = size + TT_HUGE;
  char *free = mmap(NULL, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (free == MAP_FAILED) return MAP_FAILED;
  const size_t before = tt_round_up((uintptr_t)free, TT_HUGE) - (uintptr_t)free;
  void *base = mmap(free + before, size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE | MAP_FIXED | flags, fd, 0);
  const int why = errno;
  if (base == MAP_FAILED) {
    munmap(free, capacity);
  } else {
    if (before) munmap(free, before);
    munmap(free + before + size, capacity - before - size);
  }
  errno = why;
  return base;
}

tutti_status tt_segment_create(int n, int joiners, long launcher, uint64_t id, int *fd) {
  const int heaps = n + joiners;
  int made = memfd_create("tutti", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0)
    return tt_fail(TUTTI_ERR_SYSTEM, "no shared memory for %d ranks: memfd_create: %s", n,
                   strerror(errno));
  off_t size = (off_t)(tt_heap_first(heaps) + stride_for(heaps) * (size_t)heaps);
  uint64_t job_header[TT_JOB_WORDS] = {TT_JOB_MAGIC,
                                       (uint64_t)TT_LAYOUT << 32 | (uint32_t)heaps,
                                       (uint64_t)n,
                                       (uint64_t)launcher,
                                       0,
                                       id};
  if (launcher > 0) tt_process_state(launcher, &job_header[4]);
  if (ftruncate(made, size) != 0 ||
      pwrite(made, job_header, sizeof job_header, offsetof(tt_job_head, is)) != sizeof job_header ||
      fcntl(made, F_ADD_SEALS, SEALS) != 0) {
    int why = errno;
    close(made);
    return tt_fail(TUTTI_ERR_SYSTEM, "no shared memory of %lld bytes for %d ranks: %s",
                   (long long)size, n, strerror(why));
  }
  *fd = made;
  return TUTTI_OK;
}

static tutti_status wrap_mapping(void *base, size_t stride, int n, int founders, bool threads,
                                 tt_segment **segment) {
  if (base == MAP_FAILED) return say_no_map(stride, n, errno);
  tt_segment *s = calloc(1, sizeof *s + (size_t)n * sizeof *s->wake_fds);
  if (!s) {
    munmap(base, tt_heap_first(n) + stride * (size_t)n);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a segment of %d ranks", n);
  }
  s->base = base;
  s->first = tt_heap_first(n);
  s->stride = stride;
  s->ranks = n;
  s->founders = founders;
  s->threads = threads;
  s->fd = s->launcher_fd = -1;
  atomic_init(&s->users, 1);
  pthread_mutex_init(&s->lending, NULL);
  *segment = s;
  return TUTTI_OK;
}

/* Opens a pidfd for the launcher, whose pid is in the job header. Does nothing if this pid is not valid in the PID
 * namespace of the caller, or now belongs to another process. */
static void find_launcher(tt_segment *s, const uint64_t *job_header) {
#ifdef SYS_pidfd_open
  uint64_t since;
  const bool watched = (long)job_header[3] > 0;
  const int fd = watched ? (int)syscall(SYS_pidfd_open, (pid_t)job_header[3], 0) : -1;
  if (fd < 0) return;
  if (tt_process_state((long)job_header[3], &since) && since == job_header[4]) {
    s->launcher = (long)job_header[3];
    s->launcher_fd = fd;
  } else {
    close(fd);
  }
#endif
}

tutti_status tt_segment_map(int fd, int n, tt_segment **segment) {
  struct stat st;
  int seals = fcntl(fd, F_GET_SEALS);
  if (fstat(fd, &st) != 0 || seals < 0 || (seals & SEALS) != SEALS)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "descriptor %d is not the shared memory of a tutti job; was it closed by a "
                   "program between `tutti run` and this one?",
                   fd);
  uint64_t job_header[TT_JOB_WORDS];
  if (pread(fd, job_header, sizeof job_header, offsetof(tt_job_head, is)) != sizeof job_header ||
      job_header[0] != TT_JOB_MAGIC || job_header[1] >> 32 != TT_LAYOUT)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "descriptor %d holds no job, or one of another version of tutti than this one",
                   fd);
  const uint32_t heaps = (uint32_t)job_header[1];
  const size_t first = tt_heap_first(heaps <= 1 << 17 ? (int)heaps : 0);
  const size_t stride =
      heaps && (size_t)st.st_size > first ? ((size_t)st.st_size - first) / heaps : 0;
  if (job_header[2] != (uint64_t)n || heaps < (uint32_t)n || heaps > 1 << 17 || stride < LEAST ||
      first + stride * heaps != (size_t)st.st_size)
    return tt_fail(TUTTI_ERR_SYSTEM, "descriptor %d holds a job of another size than %d ranks", fd,
                   n);
  tutti_status status =
      wrap_mapping(map(first + stride * heaps, 0, fd), stride, (int)heaps, n, false, segment);
  if (status) return status;
  (*segment)->told = job_header[3] != 0;
  (*segment)->id = job_header[5];
  find_launcher(*segment, job_header);
  return TUTTI_OK;
}

/* The descriptor of the other process may be anything, even a FIFO or a terminal, so opening it must not block. */
tutti_status tt_segment_open(long pid, int fd, int n, uint64_t id, tt_segment **segment) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", pid, fd);
  const int mine = fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (mine < 0)
    return tt_fail(TUTTI_ERR_SYSTEM, "process %ld's shared memory cannot be opened", pid);
  tutti_status status = tt_segment_map(mine, n, segment);
  if (!status && (*segment)->id != id) {
    tt_segment_release(*segment);
    status = tt_fail(TUTTI_ERR_SYSTEM, "process %ld has another job's shared memory here", pid);
  }
  if (status)
    close(mine);
  else
    (*segment)->fd = mine;
  return status;
}

bool tt_segment_orphaned(const tt_segment *s, long *pid) {
  struct pollfd p = {.fd = s->launcher_fd, .events = POLLIN};
  *pid = s->launcher;
  return s->launcher_fd >= 0 && poll(&p, 1, 0) == 1;
}

tutti_status tt_segment_anonymous(int n, tt_segment **segment) {
  size_t stride = (size_t)1 << 32;
  while (stride * (size_t)n > (size_t)1 << 39 && stride > (size_t)1 << 26) stride /= 2;
  stride = within_limit(stride, n);
  return wrap_mapping(map(tt_heap_first(n) + stride * (size_t)n, MAP_ANONYMOUS, -1), stride, n, n,
                      true, segment);
}

/* Calls mremap through syscall, because a library that intercepts mremap may drop the last argument, as UCX 1.13
 * does. Such a library also intercepts madvise, and then drops its registrations with the network card. The madvise
 * discards no data while the memory is shared. */
bool tt_map_over(void *from, size_t size, void *at, bool keeps) {
  if (!keeps) madvise(at, size, MADV_DONTNEED);
  if (syscall(SYS_mremap, from, keeps ? 0 : size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == -1)
    return false;
  if (keeps) madvise(at, size, MADV_DONTNEED);
  return true;
}

void tt_segment_release(tt_segment *s) {
  if (!s || atomic_fetch_sub(&s->users, 1) != 1) return;
  munmap(s->base, tt_segment_bytes(s));
  tt_lent_forget(s);
  pthread_mutex_destroy(&s->lending);
  for (int r = 0; r < s->ranks; r++)
    if (s->wake_fds[r] > 0) close(s->wake_fds[r] - 1);
  if (s->fd >= 0) close(s->fd);
  if (s->launcher_fd >= 0) close(s->launcher_fd);
  free(s);
}

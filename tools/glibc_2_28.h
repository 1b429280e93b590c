/* glibc_2_28.h - included before every source of the wheel (`make wheel`). Libraries that are linked with a new glibc can
 * then be loaded with glibc 2.28, as manylinux_2_28 requires.
 *
 * Idea       glibc keeps old versions of its functions for older programs. A .symver line selects the oldest version.
 *            Functions that are newer than 2.28 are implemented here. tools/check_wheel.py detects functions that are missed.
 * Source     PEP 600; auditwheel's policy manylinux_2_28.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef GLIBC_2_28_H
#define GLIBC_2_28_H
#include <string.h>
#include <sys/stat.h>

#if defined __x86_64__
#define OLD_GLIBC "GLIBC_2.2.5" /* the first glibc on this processor */
#define OLD_GLIBC_TIMED "GLIBC_2.3.3"
enum { OLD_GLIBC_STAT = 1 };
#elif defined __aarch64__
#define OLD_GLIBC "GLIBC_2.17"
#define OLD_GLIBC_TIMED "GLIBC_2.17"
enum { OLD_GLIBC_STAT = 0 };
#else
#error "make wheel knows the old symbols of x86_64 and of aarch64 only"
#endif
#define OLD_VERSION(name) __asm__(".symver " #name "," #name "@" OLD_GLIBC)
OLD_VERSION(dladdr);
OLD_VERSION(dlclose);
OLD_VERSION(dlerror);
OLD_VERSION(dlopen);
OLD_VERSION(dlsym);
OLD_VERSION(exp);
OLD_VERSION(log);
OLD_VERSION(pow);
OLD_VERSION(pthread_create);
OLD_VERSION(pthread_detach);
OLD_VERSION(pthread_join);
OLD_VERSION(pthread_mutex_trylock);
OLD_VERSION(pthread_once);
OLD_VERSION(pthread_sigmask);
__asm__(".symver pthread_timedjoin_np,pthread_timedjoin_np@" OLD_GLIBC_TIMED);

/* Before 2.33 these functions had the version of the struct as an argument. */
OLD_VERSION(__xstat);
OLD_VERSION(__fxstat);
extern int __xstat(int version, const char *path, struct stat *s);
extern int __fxstat(int version, int fd, struct stat *s);
#define stat(path, s) __xstat(OLD_GLIBC_STAT, path, s)
#define fstat(fd, s) __fxstat(OLD_GLIBC_STAT, fd, s)

/* New in 2.32. */
static inline const char *old_sigabbrev(int signal) {
  static const char *const names[] = {
      "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP", "ABRT", "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR", "SYS"};
  return signal > 0 && signal < (int)(sizeof names / sizeof *names) ? names[signal] : NULL;
}
#define __libc_single_threaded no_single_threaded /* a weak reference, so it is NULL */
#define sigabbrev_np old_sigabbrev
#define strerrordesc_np strerror
#endif

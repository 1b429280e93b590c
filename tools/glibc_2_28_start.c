/* glibc_2_28_start.c - the startup code of the command in a wheel: calls main through the interface of glibc 2.28.
 *
 * Idea       The compiler's startup file calls the __libc_start_main of this machine's glibc; the linker redirects the call
 *            to this function (--wrap). The old __libc_start_main does not run constructors, so it gets a function that does.
 * SPDX-License-Identifier: BSD-3-Clause */
typedef void constructor_fn(int argc, char **argv, char **environment);
typedef int main_fn(int argc, char **argv, char **environment);
extern constructor_fn *__init_array_start[], *__init_array_end[];

__asm__(".symver old_start,__libc_start_main@" OLD_GLIBC);
extern int old_start(main_fn *main, int argc, char **argv, constructor_fn *before, void (*after)(void),
                     void (*unload)(void), void *stack);

static void construct(int argc, char **argv, char **environment) {
  for (constructor_fn **f = __init_array_start; f < __init_array_end; f++) (*f)(argc, argv, environment);
}

int __wrap___libc_start_main(main_fn *main, int argc, char **argv, constructor_fn *before, void (*after)(void),
                             void (*unload)(void), void *stack);
int __wrap___libc_start_main(main_fn *main, int argc, char **argv, constructor_fn *before, void (*after)(void),
                             void (*unload)(void), void *stack) {
  (void)before, (void)after;
  return old_start(main, argc, argv, construct, 0, unload, stack);
}

/* family.c - determines which MPI a program or launcher belongs to.
 *
 * Idea      A launcher prints it (--version). For a program, its loader lists all libraries that
 *           would be loaded (--list), without starting the program.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "family.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct family_entry {
  const char *tag, *title;
  /* patterns for the names of libraries that programs need (fnmatch; mpi/find.c) */
  const char *libraries[4];
  const char *says[6]; /* patterns for the version texts that its launchers print */
} family_entry;

/* The standard ABI comes first in this list, because libmpi_abi.so may depend on the other libraries of its MPI. */
static const family_entry families[] = {
    [FAMILY_ABI] = {"abi", "the standard ABI of MPI", {"libmpi_abi.so.*"}, {NULL}},
    [FAMILY_OMPI] = {"ompi",
                     "Open MPI",
                     {"libmpi.so.40*"},
                     {"*Open MPI*", "*OpenRTE*", "*Open RTE*", "*PRRTE*"}},
    /* Intel MPI, MVAPICH, HPE Cray MPICH and ParaStation MPI have the same binary interface as MPICH. The mpiexec of
     * ParaStation MPI prints its own version number. */
    [FAMILY_MPICH] = {"mpich",
                      "MPICH",
                      {"libmpi.so.12*", "libmpich.so.12*", "libmpi_*.so.12*"},
                      {"*HYDRA*", "*MPICH*", "*Intel(R) MPI*", "*MVAPICH*", "mpiexec [0-9]*"}},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const char *family_tag(mpi_family family) {
  return families[family].tag;
}

const char *family_title(mpi_family family) {
  return families[family].title;
}

mpi_family family_named(const char *tag) {
  for (int f = 1; f < FAMILIES; f++)
    if (strcmp(families[f].tag, tag) == 0) return (mpi_family)f;
  return FAMILY_UNKNOWN;
}

/* Reads until end of file, so that the writer never blocks. Bytes that do not fit into the buffer are dropped. */
static void read_all(int fd, char *text, size_t size) {
  char rest[4096];
  size_t n = 0;
  for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
    const bool full = n + 1 >= size;
    got = full ? read(fd, rest, sizeof rest) : read(fd, text + n, size - n - 1);
    if (got > 0 && !full) n += (size_t)got;
  }
  text[n] = 0;
}

void family_output(char *const *argv, char *text, size_t size) {
  int ends[2];
  pid_t pid;
  posix_spawn_file_actions_t files;
  text[0] = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_adddup2(&files, ends[1], 2);
  const int failed = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (!failed) {
    read_all(ends[0], text, size);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  close(ends[0]);
}

bool family_is_launcher(const char *command) {
  static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
  const char *slash = strrchr(command, '/'), *base = slash ? slash + 1 : command;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(base, names[i], strlen(names[i])) == 0) return true;
  return false;
}

void family_version(const char *command, char *text, size_t size) {
  char version[] = "--version";
  char *argv[] = {(char *)command, version, NULL};
  family_output(argv, text, size);
}

mpi_family family_of_launcher(const char *command) {
  char text[8192];
  family_version(command, text, sizeof text);
  for (int f = 1; f < FAMILIES; f++)
    for (int i = 0; families[f].says[i]; i++)
      if (fnmatch(families[f].says[i], text, 0) == 0) return (mpi_family)f;
  return FAMILY_UNKNOWN;
}

/* Finds the path of a program in the same way as execvp. Returns false if the program is not found. */
static bool find_program(const char *command, char path[PATH_MAX]) {
  if (strchr(command, '/'))
    return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX && access(path, X_OK) == 0;
  for (const char *at = getenv("PATH"); at && *at; at += strspn(at, ":")) {
    const int n = (int)strcspn(at, ":");
    if (snprintf(path, PATH_MAX, "%.*s/%s", n, at, command) < PATH_MAX && access(path, X_OK) == 0)
      return true;
    at += n;
  }
  return false;
}

/* Reads the name of the loader from a dynamically linked program for this architecture. Returns false for other files. */
static bool loader_of(const char *path, char loader[PATH_MAX]) {
  Elf64_Ehdr head;
  Elf64_Phdr part;
  bool found = false;
  FILE *f = fopen(path, "re");
  if (!f) return false;
  const bool elf = fread(&head, sizeof head, 1, f) == 1 &&
                   memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                   head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof part;
  for (int i = 0; elf && !found && i < head.e_phnum; i++) {
    if (fseek(f, (long)(head.e_phoff + (size_t)i * sizeof part), SEEK_SET) != 0 ||
        fread(&part, sizeof part, 1, f) != 1)
      break;
    found = part.p_type == PT_INTERP && part.p_filesz > 1 && part.p_filesz < PATH_MAX &&
            fseek(f, (long)part.p_offset, SEEK_SET) == 0 &&
            fread(loader, part.p_filesz, 1, f) == 1 && loader[part.p_filesz - 1] == 0;
  }
  fclose(f);
  return found;
}

/* Returns true if a word of the loader's list matches. */
static bool lists(const char *text, const family_entry *f) {
  char word[256];
  for (size_t n; *(text += strspn(text, " \t\n")); text += n) {
    n = strcspn(text, " \t\n");
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (int i = 0; f->libraries[i]; i++)
      if (fnmatch(f->libraries[i], word, 0) == 0) return true;
  }
  return false;
}

mpi_family family_of_program(const char *command) {
  char path[PATH_MAX], loader[PATH_MAX], text[65536], list[] = "--list";
  if (!find_program(command, path) || !loader_of(path, loader)) return FAMILY_UNKNOWN;
  char *argv[] = {loader, list, path, NULL};
  family_output(argv, text, sizeof text);
  for (int f = 1; f < FAMILIES; f++)
    if (lists(text, &families[f])) return (mpi_family)f;
  return FAMILY_UNKNOWN;
}

/* wisdom_files.h - the files of `tutti tune --wisdom`. SPDX-License-Identifier: BSD-3-Clause */
#ifndef WISDOM_FILES_H
#define WISDOM_FILES_H

#include "cli.h"

/* Imports the wisdom in the file into the library. If `may_lack` is true, the file may be missing. Returns 0, or an
 * exit status after an error message. */
int wisdom_file_read(const char *path, bool may_lack);
/* Replaces the contents of the file with all wisdom in the library. Returns 0, or an exit status after an error message. */
int wisdom_file_write(const char *path);
/* Prints all wisdom in the library, and which entries fit this machine. If `title` is not NULL, it is printed first. */
int wisdom_show(const char *title);

#endif

/* wisdom_files.h - the files of `tutti tune --wisdom`. SPDX-License-Identifier: BSD-3-Clause */
#ifndef WISDOM_FILES_H
#define WISDOM_FILES_H

#include "cli.h"

/* Imports the file into the library. The file may be missing if `may_lack` is true. Returns 0, or an exit status
 * after an error message. */
int wisdom_file_read(const char *path, bool may_lack);
/* Replaces the file by all wisdom of the library. Returns 0, or an exit status after an error message. */
int wisdom_file_write(const char *path);
/* Prints `title`, if it is not NULL, and all wisdom of the library, and shows which entries fit this machine. */
int wisdom_show(const char *title);

#endif

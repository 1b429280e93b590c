/* wisdom_files.h - the files of `tutti tune --wisdom`. SPDX-License-Identifier: BSD-3-Clause */
#ifndef WISDOM_FILES_H
#define WISDOM_FILES_H

#include "cli.h"

/* Import the file into the library. `may_lack`: the file may be missing. 0, or an exit status after
 * a complaint. */
int wisdom_file_read(const char *path, bool may_lack);
/* Replace the file by all wisdom of the library. */
int wisdom_file_write(const char *path);
/* Print all wisdom of the library, and which entries fit here; `title`, if not NULL, before it. */
int wisdom_show(const char *title);

#endif

/* wisdom_files.h - the files of `tutti wisdom`. SPDX-License-Identifier: BSD-3-Clause */
#ifndef WISDOM_FILES_H
#define WISDOM_FILES_H

#include "cli.h"

/* Into the library. `may_lack`: there need be no such file. 0, or an exit status after a
 * complaint. */
int wisdom_file_read(const char *path, bool may_lack);
/* All that the library has, in place of the file. */
int wisdom_file_write(const char *path);
/* All that the library has, on stdout, and what of it fits here; `title`, if any, before. */
int wisdom_show(const char *title);

#endif

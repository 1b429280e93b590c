/* main.c - `tutti`: the table of subcommands. A new subcommand needs a file cli/cmd_*.c, a
 * declaration in cli.h, and a line here. SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "ranked.h"

static const cli_command *const table[] = {
    &cmd_run, &cmd_info, &cmd_plan,  &cmd_explain, &cmd_bench,
    &cmd_mpi, &cmd_tune, &cmd_trace, &cmd_doctor,  &cmd_aggregator,
};
enum { COMMANDS = sizeof table / sizeof table[0] };

static const cli_command *find(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(table[i]->name, name) == 0) return table[i];
  return strcmp(cmd_bench_peer.name, name) == 0 ? &cmd_bench_peer
                                                : NULL; /* started by `tutti bench --compare` */
}

static int unknown(const char *name) {
  if (strcmp(name, "wisdom") == 0)
    return cli_fail(CLI_USAGE, NULL,
                    "`tutti wisdom` is `tutti tune --wisdom`; its -w is -o, and its -P is -n");
  const char *names[COMMANDS + 4];
  size_t n = 0;
  for (; n < COMMANDS; n++) names[n] = table[n]->name;
  names[n++] = "help";
  names[n++] = "variables";
  names[n++] = "--version";
  names[n] = NULL;
  const char *near = cli_nearest(name, names);
  if (near && strcmp(near, "variables") == 0)
    return cli_fail(CLI_USAGE, NULL, "no command '%s'; did you mean `tutti help variables`?", name);
  if (near) return cli_fail(CLI_USAGE, NULL, "no command '%s'; did you mean '%s'?", name, near);
  return cli_fail(CLI_USAGE, NULL, "no command '%s'; see `tutti help`", name);
}

static int overview(void) {
  printf("tutti %s - allreduce for the processes of a job\n\n", tutti_version(NULL, NULL, NULL));
  printf("usage: tutti COMMAND [options]\n\n");
  for (size_t i = 0; i < COMMANDS; i++) printf("  %-10s %s\n", table[i]->name, table[i]->summary);
  printf("  %-10s %s\n", "help",
         "list the commands, the options of one (tutti help run), all settings");
  printf("  %-10s %s\n", "", "(tutti help variables), or how to describe a machine");
  printf("  %-10s %s\n", "", "(tutti help model)");
  printf("  %-10s %s\n", "--version", "show the version");
  return fflush(stdout) ? CLI_FAILED : 0;
}

static int help(int argc, char **argv) {
  if (argc < 2) return overview();
  if (strcmp(argv[1], "variables") == 0) return cli_list_variables();
  if (strcmp(argv[1], "model") == 0) return cli_help_model();
  const cli_command *command = find(argv[1]);
  return command ? cli_help(command) : unknown(argv[1]);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    overview();
    return CLI_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    printf("tutti %s\n", tutti_version(NULL, NULL, NULL));
    return fflush(stdout) ? CLI_FAILED : 0;
  }
  if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    return help(argc - 1, argv + 1);
  const cli_command *command = find(name);
  if (!command) return unknown(name);
  if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
    return cli_help(command);
  /* Warns about unknown settings here, unless rank 0 will log the warnings. The ranks of `tutti mpi` have no log. */
  if (command != &cmd_run && command != &cmd_bench_peer &&
      (!command->ranked || command == &cmd_explain))
    cli_check_variables(name);
  const int status = command->ranked ? job_hand_over(name, argv) : 0;
  return status ? status : command->run(argc - 1, argv + 1);
}

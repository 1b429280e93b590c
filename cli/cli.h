/* cli.h - shared by the subcommands of `tutti`: the table's row, complaints,
 * numbers, near misses. All files in cli/ use public headers only.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_H
#define CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tutti.h"
#include "tutti_plan.h"

/* Exit statuses of tutti itself; a job's own statuses pass through. */
enum {
  CLI_USAGE = 2,     /* the command line is wrong */
  CLI_TIMEOUT = 124, /* --timeout passed */
  CLI_FAILED = 125,  /* tutti could not do it (as env, timeout) */
  CLI_NO_EXEC = 126, /* the program cannot be executed (as a shell) */
  CLI_NOT_FOUND = 127
};

/* A subcommand: one cli/cmd_*.c each, a line in main.c's table. `run` gets argv
 * with argv[0] the subcommand's name. */
typedef struct cli_command {
  const char *name;
  const char *summary; /* one line, for `tutti help` */
  const char *usage;   /* the page of `tutti help name` */
  int (*run)(int argc, char **argv);
  bool ranked; /* its processes may be ranks of a job (ranked.h) */
} cli_command;

extern const cli_command cmd_run, cmd_info, cmd_plan, cmd_explain, cmd_bench, cmd_mpi, cmd_trace,
    cmd_tune, cmd_doctor, cmd_aggregator;

/* "tutti <command>: <sentence>" on stderr, in one write; returns `status`.
 * `command` NULL: "tutti: <sentence>". */
int cli_fail(int status, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As execvp, which returns if it fails; but errno is EACCES only if the program is there: not if a folder of PATH is
 * closed. */
void cli_exec(char **argv);

/* Print a command's page on stdout. Returns 0, or CLI_FAILED if the write failed. */
int cli_help(const cli_command *command);

/* `tutti help variables`: prints all settings. Returns 0 or CLI_FAILED. */
int cli_list_variables(void);
/* `tutti help model`: how to describe a machine. Returns 0 or CLI_FAILED. */
int cli_help_model(void);
/* Warn about each variable TUTTI_... that tutti does not know, and about wrong lines of configuration files. */
void cli_check_variables(const char *command);

/* Complain about the option that getopt_long just refused (it returned '?' or
 * ':', with opterr 0), suggesting the nearest of `options`; returns CLI_USAGE. */
int cli_bad_option(const char *command, int got, char **argv, const struct option *options);

/* The entry of `names` (NULL-terminated) that is most similar to `word`; NULL if no entry is similar. */
const char *cli_nearest(const char *word, const char *const *names);

/* The type, op or collective of that name; -1 after a complaint. */
int cli_type(const char *command, const char *text);
int cli_op(const char *command, const char *text);
int cli_coll(const char *command, const char *text);

/* The value of --format: text, json or, if the command has it, csv. 0, or CLI_USAGE after a complaint. */
typedef enum cli_form { CLI_TEXT, CLI_JSON, CLI_CSV } cli_form;
int cli_format(const char *command, const char *text, bool csv, cli_form *form);

/* Print a string of at most `length` bytes to stdout as JSON. */
void cli_json_string(const char *text, int length);

/* A whole number in [lo, hi], all of `text`; false otherwise. */
bool cli_int(const char *text, long lo, long hi, long *value);
/* Bytes: 428, 9KB, 64k, 1.5MiB; k is 1024 with and without an i. From 1 to 2^50. */
bool cli_size(const char *text, uint64_t *bytes);
/* Seconds, a positive decimal number up to ten years; false otherwise. */
bool cli_seconds(const char *text, double *value);

/* The name of a plan for people: "two-shot in 2 slices". */
enum { CLI_PLAN = 4096 }; /* room for the name of a plan, for people */
/* A copy of a text, which is kept. */
const char *cli_kept(const char *text);
const char *cli_plan_name(const char *name, int slices, char text[CLI_PLAN]);

/* Seconds on a monotonic clock; and a comparison of numbers for qsort, ascending. */
double cli_now(void);
void cli_sort(double *numbers, size_t n);
/* Sort n numbers; the distance between their quartiles, relative to the median. */
double cli_spread(double *numbers, size_t n);
/* Seconds that a cache line takes from one core to another and back, now; 0: there is one core,
 * or the measurement failed. Takes about a millisecond. */
double cli_bounce(void);
/* The same between these two cores. */
double cli_bounce_between(int one, int other);
/* Are the cores equally far apart in these two? 0 (not known) equals nothing. */
bool cli_bounce_near(double one, double other);

extern const char style_gp[], style_css[]; /* style.gp and style.css, as strings */
/* A picture drawn by gnuplot, .svg or .png. plot_ready: can it be written? gnuplot: a stream with
 * terminal and output set, NULL after a complaint. gnuplot_close: draws it. 0 or an exit status. */
int cli_plot_ready(const char *command, const char *path);
FILE *cli_gnuplot(const char *command, const char *path);
int cli_gnuplot_close(const char *command, FILE *gnuplot, const char *path);

#endif

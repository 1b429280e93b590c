/* cli.h - shared by the subcommands of `tutti`: the description of a subcommand, error messages,
 * parsing of numbers, suggestions for misspelled words. All files in cli/ use public headers only.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_H
#define CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tutti.h"
#include "tutti_plan.h"

/* Exit statuses of tutti's own commands. The exit status of a job is passed through unchanged. */
enum {
  CLI_USAGE = 2,     /* the command line is wrong */
  CLI_TIMEOUT = 124, /* the time of --timeout has passed */
  CLI_FAILED = 125,  /* tutti itself failed (as in env and timeout) */
  CLI_NO_EXEC = 126, /* the program cannot be executed (as in a shell) */
  CLI_NOT_FOUND = 127
};

/* A subcommand of tutti. Each subcommand has a file cli/cmd_*.c and a line in the table of main.c. `run` gets the
 * arguments, with the subcommand's name as argv[0]. */
typedef struct cli_command {
  const char *name;
  const char *summary; /* one line, for `tutti help` */
  const char *usage;   /* the page of `tutti help name` */
  int (*run)(int argc, char **argv);
  bool ranked; /* its processes may be ranks of a job (ranked.h) */
} cli_command;

extern const cli_command cmd_run, cmd_info, cmd_plan, cmd_explain, cmd_bench, cmd_mpi, cmd_trace,
    cmd_tune, cmd_doctor, cmd_aggregator;

/* Writes "tutti <command>: <sentence>" to stderr in a single write, or "tutti: <sentence>" if `command` is NULL.
 * Returns `status`. */
int cli_fail(int status, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Executes a program as execvp does, and returns only on failure. Unlike with execvp, an inaccessible folder in PATH
 * does not set errno to EACCES. That error means that the program exists but cannot be executed. */
void cli_exec(char **argv);

/* Prints the help page of a command to stdout. Returns 0, or CLI_FAILED if the page could not be written. */
int cli_help(const cli_command *command);

/* `tutti help variables`: prints all settings. Returns 0 or CLI_FAILED. */
int cli_list_variables(void);
/* `tutti help model`: explains how to describe a machine. Returns 0 or CLI_FAILED. */
int cli_help_model(void);
/* Warns about environment variables TUTTI_... that tutti does not know, and about invalid lines in configuration files. */
void cli_check_variables(const char *command);

/* Prints an error message about the option that getopt_long has just rejected, and suggests the most similar name in
 * `options`. getopt_long must have been called with opterr 0 and have returned '?' or ':'. Returns CLI_USAGE. */
int cli_bad_option(const char *command, int got, char **argv, const struct option *options);

/* Returns the entry of the NULL-terminated list `names` that is most similar to `word`, or NULL if no entry is similar. */
const char *cli_nearest(const char *word, const char *const *names);

/* Returns the type, op or collective with the given name, or -1 after an error message. */
int cli_type(const char *command, const char *text);
int cli_op(const char *command, const char *text);
int cli_coll(const char *command, const char *text);

/* Parses the value of --format: text, json or, if the command supports it, csv. Returns 0, or CLI_USAGE after an
 * error message. */
typedef enum cli_form { CLI_TEXT, CLI_JSON, CLI_CSV } cli_form;
int cli_format(const char *command, const char *text, bool csv, cli_form *form);

/* Prints the first `length` bytes of a string, or all of a shorter string, to stdout as a JSON string. */
void cli_json_string(const char *text, int length);

/* Parses `text` as an integer in [lo, hi]. Returns false if any part of the text does not belong to such an integer. */
bool cli_int(const char *text, long lo, long hi, long *value);
/* Parses a size between 1 and 2^50 bytes, such as 428, 9KB, 64k or 1.5MiB. k means 1024, with or without an i. */
bool cli_size(const char *text, uint64_t *bytes);
/* Parses a number of seconds: a positive decimal number, at most ten years. Returns false if the text is not such a number. */
bool cli_seconds(const char *text, double *value);

/* cli_plan_name: the name of a plan as shown to people, such as "two-shot in 2 slices". */
enum { CLI_PLAN = 4096 }; /* size of a buffer for such a name */
/* Returns a copy of a text. The copy is never freed. */
const char *cli_kept(const char *text);
const char *cli_plan_name(const char *name, int slices, char text[CLI_PLAN]);

/* cli_now: seconds on a monotonic clock. cli_sort: sorts numbers in ascending order. */
double cli_now(void);
void cli_sort(double *numbers, size_t n);
/* Sorts n numbers in place. Returns their interquartile range divided by the median. */
double cli_spread(double *numbers, size_t n);
/* Measures how long a cache line takes to travel between two cores and back. The measurement takes about a
 * millisecond. Returns the time in seconds, or 0 if there is only one core or the measurement failed. */
double cli_bounce(void);
/* Measures the same round-trip time as cli_bounce, but between two given cores. */
double cli_bounce_between(int one, int other);
/* Returns true if two results of cli_bounce are about equal. A result of 0 means unknown, and is not equal to any other. */
bool cli_bounce_near(double one, double other);

extern const char style_gp[], style_css[]; /* style.gp and style.css, as strings */
/* A picture drawn by gnuplot, in an .svg or .png file. cli_plot_ready checks that the file can be written. cli_gnuplot starts
 * gnuplot with its terminal and output set, and returns a stream to its input, or NULL after an error message.
 * cli_gnuplot_close draws the picture. cli_plot_ready and cli_gnuplot_close return 0 or an exit status. */
int cli_plot_ready(const char *command, const char *path);
FILE *cli_gnuplot(const char *command, const char *path);
int cli_gnuplot_close(const char *command, FILE *gnuplot, const char *path);

#endif

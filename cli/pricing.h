/* pricing.h - shared by the files of `tutti plan price` and `tutti explain`.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PRICING_H
#define PRICING_H

#include "topology.h"
#include "tutti_plan.h"

typedef struct price_options {
  tutti_question q;
  uint64_t bytes;
  char *figures; /* of --profile and --network, concatenated; allocated */
  const char *plot;
  bool json, csv, profile; /* csv: print the table of all candidates; profile: a file was given */
  bool all;                /* for explain: also print the table of all candidates */
  bool here;               /* no machine was named, so this one is used */
  const char *topology;
  char levels[160]; /* levels of the topology */
  const char *what; /* the argument, or NULL */
} price_options;

/* The options that describe a machine and a call, as text for the usage pages of commands that accept them. */
#define PRICE_OPTIONS                                                                              \
  "  -n, --ranks N          number of ranks. Without --network, --levels, --shm and --profile,\n"  \
  "                         they share this machine's memory, as under `tutti run`\n"              \
  "  -s, --size SIZE        size of the vector in bytes: 9KB, 1MiB, 64k (k is 1024)\n"             \
  "      --network NET      parameters (alpha=30us,beta=1Gbit/s) or a name (torus:8x8x8,\n"        \
  "                         fat-tree:..., dragonfly:..., infiniband, slingshot, leaf-spine);\n"    \
  "                         see `tutti help model`. Given twice: parameters override the name's\n" \
  "      --levels LEVELS    placement of the ranks: \"rack:3 node:16 core:4\", \"node:(4,3,4)\"; " \
  "or\n"                                                                                           \
  "                         on one machine: \"package:2 numa:4 cache:8 core:8\"\n"                 \
  "      --shm[=RANKS]      all ranks share memory, or those of each node if --levels has a\n"     \
  "                         level node; RANKS per core (1). Uses this machine's profile, if any\n" \
  "      --profile FILE     read parameters from a file, one per line (tutti info --profile)\n"    \
  "  -c, --coll COLLECTIVE  allreduce (default), broadcast, ...\n"                                 \
  "      --root R           the root, if the collective has one (0)\n"                             \
  "  -d, --type TYPE        float (default), int32, ...\n"                                         \
  "      --op OP            sum (default), max, ...\n"                                             \
  "      --contract C       the reproducibility of sums: same (default), any, run, element or\n"   \
  "                         exact (docs/reproducible.md)\n"                                        \
  "      --code CODE        compression of messages between hosts, as in TUTTI_CODE: lossless\n"   \
  "                         or 'error=1e-2' (docs/lighter.md)\n"                                   \
  "      --algo PLANS       the plans that may run, as in TUTTI_ALGO: 'ring:64k-', '^tree'\n"      \
  "      --format F         text (default), json, or csv (the table of all candidates)\n"

/* Parses the options into *o. Returns 0, or an exit status after an error message. Free *o with price_options_free. */
int price_options_read(const char *command, int argc, char **argv, price_options *o);
void price_options_free(price_options *o);

/* price_time writes a time such as "605 us" into `text`, and price_size a size such as "9 KiB". Both return `text`. */
const char *price_time(double seconds, char text[24]);
const char *price_size(double bytes, char text[24]);

/* `tutti plan price`. Returns an exit status. */
int plan_price(int argc, char **argv);
extern const char plan_price_usage[];

/* A picture of time against message size, in an .svg or .png file. It shows the fastest plan of each family, and the
 * plans that would be chosen. */
typedef struct price_picture {
  const char *command, *path;
  char title[200];
  double first, last;                /* bytes */
  void (*data)(FILE *to, void *ctx); /* writes more blocks of data for gnuplot, or NULL */
  void *ctx;
  const char *lines; /* the plot lines for these blocks */
} price_picture;
int price_plot(tutti_prices *prices, const price_picture *picture);

/* `tutti explain --measured` (measured.c). argv[at] is that word. */
int explain_measured(int argc, char **argv, int at);
/* The part of the usage page that describes --measured. */
#define EXPLAIN_MEASURED                                                                         \
  "\n"                                                                                           \
  "With --measured, tutti times all plans that can run at each size, alternately in the same\n"  \
  "processes, and shows the predicted and the measured times. A second measurement compares\n"   \
  "the chosen plan with the best one. Run it under `tutti run` or an MPI's mpirun, or with\n"    \
  "-n N, which starts N ranks on this host.\n"                                                   \
  "\n"                                                                                           \
  "  -b, -e, -f, -c, -d, --op, --root, --side, --algo, -n: as for `tutti bench` (default: 4 B\n" \
  "                         to 4 MiB, in place)\n"                                               \
  "      --loop             time consecutive calls (default: the cycle of `tutti bench`)\n"      \
  "      --repeats N        number of rounds (5)\n"                                              \
  "      --budget S         seconds for each plan in a round (0.004)\n"                          \
  "      --format F         write json (all measurements) or csv (a line for each size) to\n"    \
  "                         stdout instead of the table\n"                                       \
  "  -o, --output FILE      write them to this file; the table remains on stdout\n"              \
  "      --plot FILE        plot the fastest plan of each family, the chosen plans and the\n"    \
  "                         measured times, as .svg or .png (needs gnuplot)\n"

#endif

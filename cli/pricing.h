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
#define PRICE_OPTIONS                                                                            \
  "  -n, --ranks N          how many ranks; without --network, --levels, --shm and --profile\n"  \
  "                         they share this machine's memory, as under `tutti run`\n"            \
  "  -s, --size SIZE        bytes of the vector: 9KB, 1MiB, 64k (k is 1024)\n"                   \
  "      --network NET      parameters or a name (tutti help model): alpha=30us,beta=1Gbit/s,\n" \
  "                         torus:8x8x8, fat-tree:..., dragonfly:..., infiniband, slingshot,\n"  \
  "                         leaf-spine. Twice: the parameters replace those of the name\n"       \
  "      --levels LEVELS    placement of the ranks: \"rack:3 node:16 core:4\",\n"                \
  "                         \"node:(4,3,4)\"; levels of one machine, whose ranks share\n"        \
  "                         memory: \"package:2 numa:4 cache:8 core:8\"\n"                       \
  "      --shm[=RANKS]      ranks that share memory, all or those below a level node,\n"         \
  "                         this number per core (1), with the\n"                                \
  "                         parameters of this machine's profile, if there is one\n"             \
  "      --profile FILE     parameters from a file, one per line (tutti info --profile)\n"       \
  "  -c, --coll COLLECTIVE  allreduce (default), broadcast ...; --root R\n"                      \
  "  -d, --type TYPE        float (default), int32 ...\n"                                        \
  "      --op OP            sum (default), max ...\n"                                            \
  "      --contract any     ranks may round a sum differently (default: same); exact: sums\n"    \
  "                         that do not depend on the order (docs/reproducible.md)\n"            \
  "      --code CODE        as TUTTI_CODE: 'error=1e-2', lossless: messages between\n"           \
  "                         hosts take fewer bytes (docs/lighter.md)\n"                          \
  "      --algo PLANS       as TUTTI_ALGO: 'ring:64k-', '^tree'\n"                               \
  "      --format F         text (default), json, or csv: the table of all candidates\n"

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
#define EXPLAIN_MEASURED                                                                          \
  "\n"                                                                                            \
  "With --measured tutti times all plans that may run at each size, alternately, in the\n"        \
  "same processes. It shows the predicted and the measured time of each size, and compares\n"     \
  "the chosen plan with the best one in a second measurement. Run it under `tutti run` or\n"      \
  "an MPI's mpirun, or with -n N, which starts N ranks on this host.\n"                           \
  "\n"                                                                                            \
  "  -b, -e, -f, -c, -d, --op, --root, --side, --algo, -n: as for `tutti bench`; sizes are\n"     \
  "                         from 4 B to 4 MiB, in place\n"                                        \
  "      --loop             time call after call; by default every rank writes its vector,\n"     \
  "                         calls, and reads the result, minus the same without the call\n"       \
  "      --repeats N        rounds (5); --budget S: seconds of a plan in a round (0.004)\n"       \
  "      --format F         json: all measurements, csv: a line per size; on stdout instead of\n" \
  "  -o, --output FILE      the table, or in this file\n"                                         \
  "      --plot FILE        plot time against size: each family's cheapest plan, the chosen\n"    \
  "                         plans, the measured times, .svg or .png (needs gnuplot)\n"

#endif

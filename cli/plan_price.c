/* plan_price.c - `tutti plan price` shows the predicted time of every plan, on any machine, as a
 * table or a picture. `tutti explain` shows which plan is chosen, and why.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pricing.h"
#include "tutti_plan.h"

const char plan_price_usage[] =
    "usage: tutti plan price ALGORITHM|all -n N --size SIZE [--network NET] [--levels LEVELS] ...\n"
    "\n"
    "Shows the predicted time of the critical path of one plan, or of all plans with the fastest\n"
    "first, on a network or on one machine (--shm). * marks the plan that would run, ! plans\n"
    "that the op, the contract or --algo exclude.\n"
    "\n" PRICE_OPTIONS
    "      --plot FILE        plot time against size for all plans, as .svg or .png (needs\n"
    "                         gnuplot). The SVG adapts to a dark page. NAME-dark.png is\n"
    "                         drawn for dark pages\n";

static int by_time(const void *a, const void *b) {
  const tutti_offer *x = a, *y = b;
  if (x->possible != y->possible) return x->possible ? -1 : 1;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* Returns the estimates for all plans, sorted by time, or NULL after an error message. */
static tutti_offer *list(tutti_prices *prices, const price_options *o, int *n) {
  tutti_offer *offers = NULL, offer = {.size = sizeof offer};
  tutti_status status;
  *n = 0;
  while (!(status = tutti_prices_offer(prices, o->bytes, *n, 1, &offer))) {
    tutti_offer *more = realloc(offers, (size_t)(*n + 1) * sizeof *offers);
    if (!more) break;
    offers = more;
    offers[(*n)++] = offer;
  }
  if (status != TUTTI_ERR_ARG) { /* an error other than the end of the list */
    cli_fail(0, "plan", "%s", status ? tutti_error() : "out of memory");
    free(offers);
    return NULL;
  }
  qsort(offers, (size_t)*n, sizeof *offers, by_time);
  return offers;
}

static const char *full_name(const tutti_offer *offer, char text[CLI_PLAN]) {
  return cli_plan_name(offer->name, offer->slices, text);
}

static bool same(const tutti_offer *a, const tutti_offer *b) {
  return strcmp(a->name, b->name) == 0 && a->slices == b->slices;
}

static void print_table(const price_options *o, const tutti_offer *offers, int n,
                        const tutti_offer *chosen) {
  char time[24], size[24], name[CLI_PLAN];
  int width = 4, refused = 0;
  for (int i = 0; i < n; i++)
    if (offers[i].possible && (int)strlen(full_name(&offers[i], name)) > width)
      width = (int)strlen(name);
  printf("%s", tutti_coll_name(o->q.coll));
  if (o->q.coll != TUTTI_BARRIER) printf(" of %s", price_size((double)o->bytes, size));
  printf(" on %d ranks, predicted\n\n", o->q.ranks);
  printf("  %-*s %9s %6s %6s %9s %10s  %s\n", width, "plan", "time", "steps", "rounds", "messages",
         "bytes", "most of it");
  for (int i = 0; i < n; i++) {
    const tutti_offer *x = &offers[i];
    if (!x->possible) continue;
    refused += !x->admissible;
    printf("%c %-*s %9s %6d %6d %9d %10s  %s\n",
           same(x, chosen) ? '*'
           : x->admissible ? ' '
                           : '!',
           width, full_name(x, name), price_time(x->seconds, time), x->steps, x->rounds,
           x->messages, price_size(x->vectors * (double)o->bytes, size), x->bound);
  }
  printf(
      "\nSteps: messages on the critical path. Rounds: if each rank sends one message, and "
      "receives\n"
      "one, in a round. Messages and bytes: what the busiest rank sends.\n");
  for (int i = 0, first = 1; i < n && refused; i++) {
    if (!offers[i].possible || offers[i].admissible || offers[i].slices > 1) continue;
    if (first) printf("\n");
    first = 0;
    printf("! %s: %s\n", offers[i].name, offers[i].why);
  }
}

static void print_json(const price_options *o, const tutti_offer *offers, int n,
                       const tutti_offer *chosen) {
  printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %llu, \"chosen\": ",
         tutti_coll_name(o->q.coll), o->q.ranks, (unsigned long long)o->bytes);
  cli_json_string(chosen->name, 200);
  printf(", \"slices\": %d, \"plans\": [", chosen->slices);
  for (int i = 0; i < n; i++) {
    const tutti_offer *x = &offers[i];
    printf(i ? ",\n  {\"plan\": " : "\n  {\"plan\": ");
    cli_json_string(x->name, 200);
    printf(", \"slices\": %d, \"possible\": %s, \"admissible\": %s", x->slices,
           x->possible ? "true" : "false", x->admissible ? "true" : "false");
    if (x->possible)
      printf(
          ", \"seconds\": %.9g, \"latency_s\": %.9g, \"transfer_s\": %.9g, \"arithmetic_s\": %.9g, "
          "\"processor_s\": %.9g, \"copying_s\": %.9g, \"steps\": %d, \"rounds\": %d, "
          "\"messages\": %d, \"vectors\": %.6g",
          x->seconds, x->latency, x->transfer, x->arithmetic, x->processor, x->copying, x->steps,
          x->rounds, x->messages, x->vectors);
    printf(", \"%s\": ", x->possible && x->admissible ? "bound" : "why");
    cli_json_string(x->possible && x->admissible ? x->bound : x->why, 400);
    printf("}");
  }
  printf("]}\n");
}

static void print_csv(const tutti_offer *offers, int n, const tutti_offer *chosen) {
  printf("plan,slices,chosen,possible,admissible,seconds,steps,rounds,messages,vectors,why\n");
  for (int i = 0; i < n; i++) {
    const tutti_offer *x = &offers[i];
    printf("\"%s\",%d,%d,%d,%d,", x->name, x->slices, same(x, chosen), x->possible, x->admissible);
    if (x->possible)
      printf("%.9g,%d,%d,%d,%.6g,", x->seconds, x->steps, x->rounds, x->messages, x->vectors);
    else
      printf(",,,,,");
    printf("\"%s\"\n", x->possible && x->admissible ? "" : x->why);
  }
}

/* Opens the cost estimates. Returns 0 or an exit status. */
static int open_prices(const char *command, const price_options *o, tutti_prices **prices) {
  if (!tutti_prices_make(&o->q, prices)) return 0;
  return cli_fail(CLI_USAGE, command, "%s", tutti_error());
}

static int plot(tutti_prices *prices, const price_options *o) {
  price_picture picture = {.command = "plan", .path = o->plot, .first = 4, .last = 1 << 28};
  snprintf(picture.title, sizeof picture.title,
           "%s on %d ranks, predicted: families of plans, and the plan that would run",
           tutti_coll_name(o->q.coll), o->q.ranks);
  return price_plot(prices, &picture);
}

/* Prints the table of all plans. Returns 0 or an exit status. */
static int show_all(tutti_prices *prices, const price_options *o) {
  tutti_offer chosen = {.size = sizeof chosen};
  int n, status = 0;
  tutti_offer *offers = list(prices, o, &n);
  if (!offers) return CLI_FAILED;
  if (tutti_prices_chosen(prices, o->bytes, &chosen)) chosen.name = "";
  if (!o->json && !o->csv && !offers[0].possible) /* the only requested plan */
    status = cli_fail(CLI_USAGE, "plan", "%s: %s", offers[0].name, offers[0].why);
  if (!status && o->csv)
    print_csv(offers, n, &chosen);
  else if (!status)
    (o->json ? print_json : print_table)(o, offers, n, &chosen);
  free(offers);
  return status;
}

/* Prints the price of the given plan. Without an argument, or with `all`, prints all plans and marks the chosen one. */
static int price(price_options *o) {
  tutti_prices *prices;
  if (o->what && strcmp(o->what, "all") != 0) o->q.only = o->what;
  int status = open_prices("plan", o, &prices);
  if (status) return status;
  if (o->plot) status = plot(prices, o);
  if (!status && o->bytes) status = show_all(prices, o);
  tutti_prices_free(prices);
  return status ? status : fflush(stdout) ? CLI_FAILED : 0;
}

int plan_price(int argc, char **argv) {
  price_options o;
  int status = price_options_read("plan", argc, argv, &o);
  if (!status && !o.bytes && !o.plot)
    status = cli_fail(CLI_USAGE, "plan", "of what size? --size 1MiB, or --plot x.svg for all");
  if (!status) status = price(&o);
  price_options_free(&o);
  return status;
}

/* ---- tutti explain ---- */

static const char explain_usage[] =
    "usage: tutti explain -n N --size SIZE [--network NET] [--levels LEVELS] ...\n"
    "       tutti explain --measured -n N [options]\n"
    "\n"
    "Shows which plan would run, the parts of its predicted time, the next best plans, the\n"
    "sizes at which other plans are chosen, and why others cannot run. With TUTTI_EXPLAIN=1 a\n"
    "program logs the same at the first call of each kind.\n"
    "\n" PRICE_OPTIONS
    "      --all              also show the table of all candidates, the fastest first. * marks\n"
    "                         the chosen plan, ! those that the op, the contract or --algo\n"
    "                         exclude\n" EXPLAIN_MEASURED;

/* Prints the model parameters that the estimates use: the lines of the profile without comments. */
static void print_figures(const price_options *o) {
  char *all = NULL;
  if (!o->here || o->json || tutti_profile_text(&all)) return;
  const char *from = strstr(all, "Profile: "), *end = from ? strchr(from, '\n') : NULL;
  printf("On this machine, with these parameters");
  if (from && end) printf(" (%.*s)", (int)(end - from - (end[-1] == '.')), from);
  printf(":\n");
  for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
    if (strncmp(line, "shm.", 4) == 0 || strncmp(line, "gamma", 5) == 0) printf("  %s\n", line);
  tutti_text_free(all);
}

/* Prints the explanation and, if --all is given, the table of all plans. In JSON, both are members of the same object. */
static int explain_all(tutti_prices *prices, const price_options *o, const char *text) {
  const bool both = o->all && o->json;
  if (o->csv) return show_all(prices, o);
  printf("%s%s", both ? "{\"explained\": " : "", text);
  print_figures(o);
  if (!o->all) return 0;
  printf(both ? ", \"all\": " : "\n");
  const int status = show_all(prices, o);
  if (both) printf("}\n");
  return status;
}

static int explain(int argc, char **argv) {
  for (int i = 1; i < argc; i++) /* --measured is a separate command */
    if (strcmp(argv[i], "--measured") == 0) return explain_measured(argc, argv, i);
  price_options o;
  char *text = NULL;
  tutti_prices *prices = NULL;
  int status = price_options_read("explain", argc, argv, &o);
  if (!status && o.what)
    status = cli_fail(CLI_USAGE, "explain",
                      "'%s' is not an option; to ask for a plan, use --algo '%s'", o.what, o.what);
  if (!status && !o.bytes) status = cli_fail(CLI_USAGE, "explain", "of what size? --size 1MiB");
  if (!status && o.plot)
    status = cli_fail(CLI_USAGE, "explain", "--plot belongs to `tutti plan price`");
  if (!status) status = open_prices("explain", &o, &prices);
  if (!status && tutti_prices_explain(prices, o.bytes, o.json, &text))
    status = cli_fail(CLI_FAILED, "explain", "%s", tutti_error());
  if (!status) status = explain_all(prices, &o, text);
  tutti_text_free(text);
  tutti_prices_free(prices);
  price_options_free(&o);
  return status ? status : fflush(stdout) ? CLI_FAILED : 0;
}

const cli_command cmd_explain = {"explain", "say which plan would run, and why", explain_usage,
                                 explain, true};

/* cmd_info.c - `tutti info`: shows what this build supports on this machine.
 *
 * Idea      The command itself reports the build and the memory. The library reports everything
 *           else (tutti_info), in lines "name: value".
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"
#include "topology.h"
#include "tutti_plan.h"

static const char usage[] =
    "usage: tutti info [--format json | --profile | --network NET [-n N]]\n"
    "\n"
    "Shows the version, the build, the cores that this process may use, instruction sets,\n"
    "memory, and which features work here. For each feature that does not, it shows why. The\n"
    "last lines show which cores are near each other, in the order in which `tutti run --bind`\n"
    "uses them.\n"
    "\n"
    "      --format F     text (default), or json (one object)\n"
    "  -p, --profile      show the parameters of the cost model. You can store them in a file,\n"
    "                     edit it, and use it with TUTTI_PROFILE=FILE or\n"
    "                     `tutti explain --profile FILE`\n"
    "      --network NET  show the parameters of a named network (tutti help model), and its\n"
    "                     levels for TUTTI_TOPO in a comment\n"
    "  -n, --ranks N      number of nodes of that network\n";

static const struct option long_options[] = {
    {"format", required_argument, NULL, 'F'},
    {"profile", no_argument, NULL, 'p'},
    {"network", required_argument, NULL, 'N'},
    {"ranks", required_argument, NULL, 'n'},
    {NULL, 0, NULL, 0},
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER ", thread sanitizer"
#else
#define SANITIZER ""
#endif
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

typedef struct info {
  struct utsname system;
  double total, available, limit; /* in bytes; 0 if unknown or unlimited */
  double bounce;                  /* in s; 0 if unknown */
  cpu_list cpus;
} info;

/* Reads a file with lines of the form "key number". Returns the number after `key`, or the first number in the file
 * if `key` is empty. Returns 0 if the number is missing. */
static double number_in(const char *path, const char *key) {
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  char line[256];
  double value = 0;
  size_t n = strlen(key);
  while (value == 0 && fgets(line, sizeof line, f))
    if (strncmp(line, key, n) == 0 && sscanf(line + n, "%lf", &value) != 1) value = 0;
  fclose(f);
  return value;
}

static void collect(info *i) {
  uname(&i->system);
  i->total = 1024 * number_in("/proc/meminfo", "MemTotal:");
  i->available = 1024 * number_in("/proc/meminfo", "MemAvailable:");
  i->limit = number_in("/sys/fs/cgroup/memory.max", "");
  if (i->limit == 0) i->limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", "");
  if (i->total > 0 && i->limit >= i->total) i->limit = 0;
  i->bounce = cli_bounce();
  i->cpus = cpus_allowed();
}

/* Returns the length of the name in a line of the form "name: value", as tutti_info returns them. */
static int name_length(const char *line) {
  const char *colon = strstr(line, ": ");
  return colon ? (int)(colon - line) : (int)strlen(line);
}

static const char *value_of(const char *line) {
  const char *colon = strstr(line, ": ");
  return colon ? colon + 2 : "";
}

static void print_people(const info *i) {
  const double gib = 1024.0 * 1024 * 1024;
  printf("version            %s\n", tutti_version(NULL, NULL, NULL));
  printf("build              %s%s\n", COMPILER, SANITIZER);
  printf("system             %s %s, %s\n", i->system.sysname, i->system.release, i->system.machine);
  printf("memory             %.1f GiB, %.1f GiB available", i->total / gib, i->available / gib);
  if (i->limit > 0) printf(", limited to %.1f GiB", i->limit / gib);
  printf("\n");
  const char *line, *files = tutti_setting("TUTTI_CONF");
  printf("%-18s %s\n", "configuration", files ? files : "no file (`tutti help variables`)");
  for (int k = 0; (line = tutti_info(k)); k++)
    printf("%-18.*s %s\n", name_length(line), line, value_of(line));
  if (i->bounce > 0)
    printf("%-18s %.0f ns there and back for a cache line, at this moment\n", "between cores",
           1e9 * i->bounce);
  near_draw(stdout, "near each other", &i->cpus);
}

/* Prints a name and its value as a member of a JSON object. A numeric value is printed as a JSON number. */
static void json_member(const char *name, int length, const char *value) {
  printf("  ");
  cli_json_string(name, length);
  printf(": ");
  if (*value && strspn(value, "0123456789") == strlen(value))
    printf("%s", value);
  else
    cli_json_string(value, 1000);
  printf(",\n");
}

static void print_json(const info *i) {
  printf("{\n");
  json_member("version", 20, tutti_version(NULL, NULL, NULL));
  json_member("build", 20, COMPILER SANITIZER);
  json_member("system", 20, i->system.sysname);
  json_member("release", 20, i->system.release);
  json_member("architecture", 20, i->system.machine);
  const char *line, *files = tutti_setting("TUTTI_CONF");
  json_member("configuration", 20, files ? files : "");
  for (int k = 0; (line = tutti_info(k)); k++) json_member(line, name_length(line), value_of(line));
  if (i->bounce > 0) printf("  \"between_cores_s\": %.9g,\n", i->bounce);
  printf("  \"near_each_other\": [");
  near_json(stdout, &i->cpus);
  printf("],\n");
  if (i->limit > 0) printf("  \"memory_limit_bytes\": %.0f,\n", i->limit);
  printf("  \"memory_available_bytes\": %.0f,\n", i->available);
  printf("  \"memory_bytes\": %.0f\n}\n", i->total);
}

static int show_topology(const char *text, long ranks) {
  topology t;
  const int status = topology_read("info", text, (int)ranks, &t);
  if (!status) printf("# TUTTI_TOPO='%s', %d ranks\n%s%s", t.levels, t.ranks, t.about, t.figures);
  return status;
}

static int run(int argc, char **argv) {
  bool profile = false;
  cli_form form = CLI_TEXT;
  const char *net = NULL;
  long ranks = 0;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:pn:", long_options, NULL)) != -1;) {
    if (c == 'F' && cli_format("info", optarg, false, &form)) return CLI_USAGE;
    if (c == 'N') net = optarg;
    if (c == 'n' && !cli_int(optarg, 1, 1 << 20, &ranks))
      return cli_fail(CLI_USAGE, "info", "-n '%s' is not a number from 1 to 1048576", optarg);
    if (c == 'p') profile = true;
    if (!strchr("FNnp", c)) return cli_bad_option("info", c, argv, long_options);
  }
  if (optind < argc)
    return cli_fail(CLI_USAGE, "info", "'%s' is one argument too many; see `tutti help info`",
                    argv[optind]);
  if (net) return show_topology(net, ranks);
  info i = {0};
  collect(&i);
  char *text = NULL;
  if (profile && tutti_profile_text(&text))
    return cli_fail(CLI_FAILED, "info", "%s", tutti_error());
  if (profile)
    fputs(text, stdout);
  else if (form == CLI_JSON)
    print_json(&i);
  else
    print_people(&i);
  tutti_text_free(text);
  cpus_free(&i.cpus);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "info", "cannot write: %s", strerror(errno));
  return 0;
}

const cli_command cmd_info = {"info", "show what this build and this machine can do", usage, run,
                              false};

#include "cli.h"
static int run(int argc, char **argv) {
  (void)argc;
  (void)argv;
  return 0;
}
const cli_command cmd_info = {"info", "what this machine and this build can do",
                              "usage: tutti info [--json]\n", run};

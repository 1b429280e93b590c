/* plan_draw.c - `tutti plan draw`: draws a schedule on the terminal, or into a file whose name
 * determines the kind of picture.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plan.h"
#include "tutti_plan.h"

static const struct {
  const char *ending;
  tutti_picture kind;
} kinds[] = {{".svg", TUTTI_PICTURE_SVG},
             {".html", TUTTI_PICTURE_HTML},
             {".json", TUTTI_PICTURE_JSON},
             {".txt", TUTTI_PICTURE_TERMINAL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const plan_options *o, tutti_picture *kind) {
  const char *slash = strrchr(o->out, '/'), *dot = strrchr(slash ? slash : o->out, '.');
  for (int i = 0; dot && i < KINDS; i++) {
    if (strcmp(dot, kinds[i].ending) != 0) continue;
    if (o->json && kinds[i].kind != TUTTI_PICTURE_JSON) break;
    *kind = kinds[i].kind;
    return 0;
  }
  if (o->json)
    return cli_fail(CLI_USAGE, "plan", "--format json goes into a .json file, which '%s' is not",
                    o->out);
  return cli_fail(
      CLI_USAGE, "plan",
      "'%s' is neither a .svg, a .html, a .json nor a .txt: the name says what is drawn", o->out);
}

static int columns(const plan_options *o) {
  struct winsize size;
  if (o->width) return (int)o->width;
  if (!o->out && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
  return 0;
}

/* Returns true if the user's locale says that the terminal can show UTF-8. */
static bool shows_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  }
  return false;
}

/* Returns the `color` argument for tutti_drawing, which selects colours and UTF-8 independently of each other. */
static int colored(const plan_options *o) {
  if (o->plain || o->color) return o->color;
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  const bool colors =
      !o->out && isatty(1) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
  const bool utf8 = !o->out && isatty(1) && shows_utf8();
  return colors ? (utf8 ? 1 : 3) : (utf8 ? 2 : 0);
}

static char *picture_of(const char *text, const plan_options *o, tutti_picture kind) {
  const tutti_drawing drawing = {.size = sizeof drawing,
                                 .picture = kind,
                                 .rank = (int)o->rank,
                                 .width = columns(o),
                                 .color = colored(o),
                                 .topo = o->topo};
  char *picture;
  if (!tutti_schedule_draw(text, &drawing, &picture)) return picture;
  cli_fail(0, "plan", "%s", tutti_error());
  return NULL;
}

int plan_print(const char *text, const plan_options *o, tutti_picture kind) {
  char *picture = picture_of(text, o, kind);
  if (!picture) return CLI_USAGE;
  fputs(picture, stdout);
  tutti_text_free(picture);
  return fflush(stdout) ? cli_fail(CLI_FAILED, "plan", "cannot write: %s", strerror(errno)) : 0;
}

int plan_draw(const char *text, const plan_options *o) {
  tutti_picture kind = o->json ? TUTTI_PICTURE_JSON : TUTTI_PICTURE_TERMINAL;
  if (!o->out) return plan_print(text, o, kind);
  int status = kind_of(o, &kind);
  if (status) return status;
  char *picture = picture_of(text, o, kind);
  if (!picture) return CLI_USAGE;
  FILE *f = fopen(o->out, "we");
  bool bad = !f || fputs(picture, f) < 0;
  if (f && fclose(f)) bad = true;
  tutti_text_free(picture);
  return bad ? cli_fail(CLI_FAILED, "plan", "cannot write '%s': %s", o->out, strerror(errno)) : 0;
}

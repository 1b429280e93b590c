"""api_page.py - the reference of the C API: what include/tutti.h says, and the examples of examples/api.c.

Idea       a comment of the header and the functions below it make one part of the page, under the names of the functions. The
           example of a part is the shortest function of examples/api.c that calls one of them; `make check` runs them all.
           pages.py writes the page. SPDX-License-Identifier: BSD-3-Clause"""
import os
import re
import textwrap

PART = re.compile(r"/\* -{5,} *([\w ]+?) *-+ \*/|(/\*\*?(?:[^*]|\*(?!/))*\*/)?\n((?:(?:TUTTI_API|typedef) [^;{]*(?:\{(?:[^{}]|\{[^{}]*\})*\}[^;]*)?;"
                  r"(?: */\*(?:[^*]|\*(?!/))*\*/)?\n)+)")
CALL = re.compile(r"\btutti_[a-z_]+(?=\()")
OTHERS = [("tutti_bucket.h", "gradients in buckets", "../buckets.md"), ("tutti_message.h", "messages between two ranks", ""),
          ("tutti_plan.h", "plans, prices, wisdom, traces, variables", "../prices.md"),
          ("tutti_fault.h", "shrink and grow", "../reliability.md#deaths-and-recovery"),
          ("tutti_create.h", "communicators without a launcher", "../hosts.md#how-the-ranks-find-each-other"),
          ("tutti_interrupt.h", "waits that end early", ""), ("tutti_mpi.h", "a communicator from an MPI's", "../mpi.md"),
          ("tutti_net.h", "a network of your own", "../networks.md")]


def prose(comment):
    """A comment as Markdown: paragraphs, and a list of what is said of each argument."""
    lines = [re.sub(r"^ ?\*? {0,2}", "", x, count=1) for x in re.sub(r"^/\*\*?|\*/$", "", comment).split("\n")]
    out = []
    for line in lines:
        line = re.sub(r"; {2,}(dst|src) {2,}", r"; `\1`: ", line.replace("*", "\\*"))
        named = re.match(r"((?:[a-z_]\w*|[A-Z][a-z]+)(?:, \w+)*(?: and \w+)?) {2,}(\S.*)", line)
        if named:
            name = named.group(1)
            if out and out[-1] and not out[-1].startswith("- "):
                out.append("")
            out.append("- %s: %s" % ("*%s*" % name if name[0].isupper() else "`%s`" % name, named.group(2)))
        elif not line.strip():
            out.append("")
        elif line.startswith("  \""):
            out += ["", "    " + line.strip(), ""]
        elif out and out[-1].startswith("- ") and line.startswith("   "):
            out[-1] += " " + line.strip()
        elif out and out[-1] and not out[-1].startswith(("- ", "    ")):
            out[-1] += " " + line.strip()
        else:
            out += ["", line.strip()]
    text = "\n".join(out).strip()
    text = re.sub(r"(?<![\w`])(tutti_\w+(?:\(\))?|TUTTI_\w+)", r"`\1`", text)
    text = re.sub(r"(?<= )(_[a-zA-Z]\w*)", r"`\1`", text)
    text = re.sub(r"(?<![`\w])(docs/[\w/-]+\.md)", lambda m: "[%s](%s)" % (os.path.basename(m.group(1))[:-3],
                                                                         os.path.relpath(m.group(1), "docs/reference")), text)
    return re.sub(r"\n\n\n+", "\n\n", text)


def examples(root):
    """The body of each example with the functions before it that it uses: {name: (text, functions that it calls)}."""
    with open(os.path.join(root, "examples/api.c")) as f:
        text = f.read()
    found, before = {}, ""
    text = text[text.index("static void example_"):]
    for m in re.finditer(r"^(static [^;{]*\{\n.*?^\}\n|(?:static|enum)[^\n]*;[^\n]*\n)", text, re.S | re.M):
        whole = m.group(1)
        name = re.match(r"static void (example_\w+)\(tutti_comm \*comm\) \{\n(.*)\n\}\n$", whole, re.S)
        if not name:
            before += whole if "main" not in whole else ""
            continue
        body = "\n".join(x for x in name.group(2).split("\n") if x.strip() != "(void)comm;")
        found[name.group(1)] = ((before + "\n" if before else "") + textwrap.dedent(body), set(CALL.findall(whole)))
        before = ""
    return found


def parts(root):
    """(section, None, None) or (None, comment, declarations) in the order of the header."""
    with open(os.path.join(root, "include/tutti.h")) as f:
        text = f.read()
    text = text[text.index("/* ---"):]
    for m in PART.finditer(text):
        yield m.groups()


def page(root):
    known, shown, lines = examples(root), set(), []
    for section, comment, declared in parts(root):
        if section:
            lines += ["## " + section.capitalize(), ""]
            continue
        names = CALL.findall(re.sub(r"^typedef [^;]*;", "", declared, flags=re.M))
        types = re.findall(r"\b(tutti_\w+)(?:;|\))|\} (tutti_\w+);", declared) if not names else []
        title = ", ".join(names) if len(names) < 4 else "%s, and every other collective" % names[0]
        if not names:
            name = next((a or b for a, b in types), "")
            title = name or re.search(r"tutti_\w+", declared).group()
        lines += ["### " + title, ""] + ([prose(comment), ""] if comment else [])
        lines += ["```c", declared.replace("TUTTI_API ", "").replace("\n" + " " * 10, "\n").rstrip(), "```", ""]
        named = "example_" + names[0][6:] if names else ""
        fitting = sorted((name != named, len(text), name) for name, (text, calls) in known.items() if calls & set(names))
        if fitting:
            name = fitting[0][2] if len(names) < 4 else max((len(known[n][1] & set(names)), n) for _, _, n in fitting)[1]
            if name in shown:
                lines += ["Example: see above.", ""]
            else:
                lines += ["Example:", "", "```c", known[name][0], "```", ""]
            shown.add(name)
        elif set(names) & {"tutti_comm_from_env", "tutti_finalize"}:
            lines += ["Example: [a whole program](../../README.md#a-program).", ""]
    lines += ["## Other headers", ""]
    lines += ["- `%s`: %s%s" % (h, what, " ([%s](%s))" % (link.split("#")[0][3:], link) if link else "") for h, what, link in OTHERS]
    return "\n".join(lines) + "\n"

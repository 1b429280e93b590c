"""api_page.py - makes the reference of the C API from the comments of include/tutti.h and the examples of examples/api.c.

Idea       A comment of the header and the functions below it become one section of the page, under the names of the functions.
           The example of a section is the shortest function of examples/api.c that calls one of its functions; `make check`
           runs all examples. pages.py writes the page. SPDX-License-Identifier: BSD-3-Clause"""
import os
import re
import textwrap

PART = re.compile(r"/\* -{5,} *([\w ]+?) *-+ \*/|(/\*\*?(?:[^*]|\*(?!/))*\*/)?\n((?:(?:TUTTI_API|typedef) [^;{]*(?:\{(?:[^{}]|\{[^{}]*\})*\}[^;]*)?;"
                  r"(?: */\*(?:[^*]|\*(?!/))*\*/)?\n)+)")
CALL = re.compile(r"\btutti_[a-z_]+(?=\()")
OTHERS = [("tutti_config.h", "the settings of one communicator", ""), ("tutti_start.h", "nonblocking collectives", ""), ("tutti_op.h", "user-defined ops, weighted sums, local reductions", ""),
          ("tutti_bucket.h", "gradients in buckets", "../buckets.md"), ("tutti_message.h", "messages between two ranks", ""),
          ("tutti_plan.h", "plans, estimates, wisdom, traces, variables", "../prices.md"),
          ("tutti_fault.h", "recovery after a failure: shrink and grow", "../reliability.md#deaths-and-recovery"),
          ("tutti_create.h", "communicators without a launcher", "../hosts.md#how-the-ranks-find-each-other"),
          ("tutti_interrupt.h", "ending a wait early, for example on Ctrl-C", ""), ("tutti_mpi.h", "a communicator from an MPI communicator", "../mpi.md"),
          ("tutti_net.h", "the interface to write a network", "../networks.md"),
          ("tutti_call.h", "calls with more arguments: persistent calls, lists of buffers, GPU streams, an algorithm or a tag for one call", "../gpu.md"),
          ("tutti_launch.h", "for launchers; aggregators; the state of a running job", "../hosts.md"),
          ("tutti_device.h", "the interface to write a device", "../gpu.md#write-a-device")]


def pieces(comment):
    """A comment in pieces: ("", paragraph), (NAME, description of an argument), or ("code", line)."""
    lines = [re.sub(r"^ ?\*? {0,2}", "", x, count=1) for x in re.sub(r"^/\*\*?|\*/$", "", comment or "").split("\n")]
    out, open_ = [], False
    for line in lines:
        two = re.match(r"(\w+ {2,}.*?); {2,}(\w+ {2,}\S.*)", line)
        for line in two.groups() if two else (line,):
            named = re.match(r"((?:[a-z_]\w*|[A-Z][a-z]+)(?:, \w+)*(?: and \w+)?) {2,}(\S.*)", line)
            if named:
                out.append([named.group(1), named.group(2).strip()])
            elif line.startswith('  "'):
                out.append(["code", line.strip()])
            elif line.strip() and open_ and (out[-1][0] == "" or (out[-1][0] != "code" and line.startswith("   "))):
                out[-1][1] += " " + line.strip()
            elif line.strip():
                out.append(["", line.strip()])
            open_ = bool(line.strip())
    return out


def marked(text):
    """A sentence with names as code and pages as links."""
    text = text.replace("*", "\\*")
    text = re.sub(r"(?<![\w`])(tutti_\w+(?:\(\))?|TUTTI_\w+)", r"`\1`", text)
    text = re.sub(r"(?<= )(_[a-zA-Z]\w*)", r"`\1`", text)
    return re.sub(r"(?<![`\w])(docs/[\w/-]+\.md)", lambda m: "[%s](%s)" % (
        os.path.basename(m.group(1))[:-3], os.path.relpath(m.group(1), "docs/reference")), text)


def prose(comment):
    """A comment as Markdown."""
    out = []
    for kind, text in pieces(comment):
        if kind == "code":
            out.append("    " + text)
        elif kind:
            item = "- %s: %s" % ("*%s*" % kind if kind[0].isupper() else "`%s`" % kind, marked(text))
            if out and out[-1].startswith("- "):
                out[-1] += "\n" + item
            else:
                out.append(item)
        else:
            out.append(marked(text))
    return "\n\n".join(out)


def examples(root, source="examples/api.c"):
    """The body of each example with the functions before it that it uses: {name: (text, functions that it calls)}."""
    with open(os.path.join(root, source)) as f:
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


def parts(root, header="tutti.h"):
    """(section, None, None) or (None, comment, declarations) in the order of the header."""
    with open(os.path.join(root, "include", header)) as f:
        text = f.read()
    text = text[text.index("/* ---" if header == "tutti.h" else 'extern "C" {'):]
    for m in PART.finditer(text):
        yield m.groups()


def functions(declared):
    """The names of the functions in some declarations."""
    return CALL.findall(re.sub(r"^typedef [^;]*;", "", declared, flags=re.M))


def prototypes(declared):
    return declared.replace("TUTTI_API ", "").replace("\n" + " " * 10, "\n").rstrip()


def example_of(names, known):
    """The name of the example that shows these functions, or None."""
    fits = [n for n in known if known[n][1] & set(names)]
    if len(names) > 3:
        return max(fits, key=lambda n: len(known[n][1] & set(names)), default=None)
    return min(fits, key=lambda n: (n != "example_" + names[0][6:], len(known[n][0]), n), default=None)


def slug(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def page(root):
    known, shown, lines = examples(root), {}, []
    for section, comment, declared in parts(root):
        if section:
            lines += ["## " + section.capitalize(), ""]
            continue
        names = functions(declared)
        types = re.findall(r"\b(tutti_\w+)(?:;|\))|\} (tutti_\w+);", declared) if not names else []
        title = ", ".join(names)
        if not names:
            name = next((a or b for a, b in types), "")
            title = name or re.search(r"tutti_\w+", declared).group()
        lines += ["### " + title, ""] + ([prose(comment), ""] if comment else [])
        lines += ["```c", prototypes(declared), "```", ""]
        name = example_of(names, known) if names else None
        if name:
            if name in shown:
                lines += ["Example: see [%s](#%s)." % (shown[name].split(",")[0], slug(shown[name])), ""]
            else:
                lines += ["Example:", "", "```c", known[name][0], "```", ""]
                shown[name] = title
        elif set(names) & {"tutti_comm_from_env", "tutti_finalize"}:
            lines += ["Example: [a whole program](../../README.md#a-program).", ""]
    lines += ["## Other headers", "", "`make site` makes a page for each of these headers, with an example for every function.", ""]
    lines += ["- `%s`: %s%s" % (h, what, " ([%s](%s))" % (link.split("#")[0][3:], link) if link else "") for h, what, link in OTHERS]
    return "\n".join(lines) + "\n"


def manuals(root, roff, version):
    """Yields the name and the text of a manual page of section 3 for each function."""
    known, made = examples(root), set()
    for header, section, comment, declared in ((h, *part) for h in ("tutti.h", *(h for h, _, _ in OTHERS)) for part in parts(root, h)):
        names = [name for name in ([] if section else functions(declared)) if name not in made]
        if not names:
            continue
        made |= set(names)
        said = pieces(comment) or [["", "see " + names[0]]]
        first = re.split(r"(?<=[.;:]) ", said[0][1])[0].rstrip(".;:") if not said[0][0] else names[0]
        out = ['.\\" %s.3 - made of include/%s by make pages. SPDX-License-Identifier: BSD-3-Clause' % (names[0], header),
               '.TH %s 3 "" "tutti %s" "Library functions"' % (roff(names[0].upper()), version),
               ".SH NAME", "%s \\- %s" % (", ".join(names), roff(first)), ".SH SYNOPSIS", ".EX", "#include <%s>" % header, "",
               roff(prototypes(declared)), ".EE", ".SH DESCRIPTION"]
        for kind, text in said:
            out += [".PP", ".EX", roff(text), ".EE"] if kind == "code" else [".TP", "\\fI%s\\fR" % kind, roff(text)] if kind else [".PP", roff(text)]
        name = example_of(names, known)
        if name:
            out += [".SH EXAMPLE", ".EX", roff(known[name][0]), ".EE", ".PP",
                    "CHECK ends the program if the call fails, and check if the condition does not hold."]
        yield names[0], "\n".join(out + [".SH SEE ALSO", ".BR tutti (3)"]) + "\n"
        for other in names[1:]:
            yield other, ".so man3/%s.3\n" % names[0]

#!/usr/bin/python3
"""api_filter.py - converts a public header for Doxygen: comments in Doxygen's syntax, and an example for every function.

Usage      tools/api_filter.py HEADER      (FILTER_PATTERNS of tools/Doxyfile)
Idea       The comments of the headers are written for direct reading: an argument, two spaces, its description. Such a line
           becomes \\param, "Returns" becomes \\return, and a comment above several functions is copied to each. An argument
           that occurs in a sentence of the comment gets "see above". Arguments that mean the same in all functions get the
           texts of EVERYWHERE. X_start, X_init and "As X, ..." take over the descriptions of X. Doxygen warns of arguments that
           still have no description.
SPDX-License-Identifier: BSD-3-Clause"""
import html
import os
import re
import sys

import api_page

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVERYWHERE = {
    "comm": "the communicator", "count": "elements, the same on all ranks", "type": "the type of the elements",
    "op": "a built-in op, or one of tutti_op_create", "root": "a rank of the communicator", "src": "what this rank contributes",
    "dst": "receives the result", "request": "receives the handle", "ctx": "passed on to the function, and not looked at",
    "out": "receives the new communicator", "coll": "the collective", "text": "receives the text; free it with tutti_text_free",
    "job": "the job", "buckets": "the object of tutti_buckets_create"}
SOURCES = ("examples/api.c", "examples/api_more.c", "examples/api_create.c", "examples/api_device.c")
PROGRAMS = ("examples/hello.c", "examples/hello_mpi.c")
RECEIVED = {"comm": "the communicator; free it with tutti_comm_free", "job": "the job; free it with tutti_job_free",
            "buckets": "the object; free it with tutti_buckets_free"}
COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
ITEM = re.compile(r"((?:TUTTI_API|typedef) [^;{]*(?:\{(?:[^{}]|\{[^{}]*\})*\}[^;]*)?;)(?: *(" + COMMENT + "))?\n")


def functions_of(text):
    return re.findall(r"^TUTTI_API [^;]*?\b(tutti_\w+)\(", text, re.M)


def everything():
    """The functions of all headers: {name: (comment, declaration)}."""
    found = {}
    for name in sorted(os.listdir(os.path.join(ROOT, "include"))):
        with open(os.path.join(ROOT, "include", name)) as f:
            for comment, declared in parts(f.read()):
                for item, own in ITEM.findall(declared):
                    for function in functions_of(item):
                        found[function] = (own or comment, item)
    return found


def parts(text):
    """Comments, each with the declarations below it."""
    for m in api_page.PART.finditer(text):
        if m.group(3):
            yield m.group(2) or "", m.group(3)


def words(text, known):
    """A sentence as HTML for Doxygen, with links to functions and pages."""
    text = re.sub(r"[\\@#%]", lambda m: "\\" + m.group(), html.escape(text, quote=False))
    text = re.sub(r"(?<![\w*])\*([A-Za-z]+)\*(?![\w*])", r"<em>\1</em>", text)
    text = re.sub(r"\bdocs/([\w/-]+)\.md", lambda m: '<a href="../%s.html">%s</a>' % (m.group(1), os.path.basename(m.group(1))), text)
    text = re.sub(r"\b(tutti_[a-z_]+)\b(?!\(|\.h)", lambda m: m.group(1) + "()" if m.group(1) in known else m.group(1), text)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text)


def said(comment):
    """A comment in pieces, like api_page.pieces, and also ("Returns", text)."""
    comment = re.sub(r"\n( \*) +(Returns )", r"\n\1\n\1  \2", comment)
    comment = re.sub(r"\n( \*  )\*(\w+ {2,})", r"\n\1\2", comment)
    out = []
    for kind, text in api_page.pieces(comment):
        if not kind and text.startswith("Returns "):
            kind, text = "Returns", text[8:].strip()
        out.append((kind, text))
    return out


def arguments(declared):
    """The names of a function's arguments."""
    inner = re.sub(r"\s+", " ", declared[declared.index("(") + 1:declared.rindex(")")])
    inner = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", inner)
    return [] if inner == "void" else [re.search(r"(\w+)(?:\[\])?$", x).group(1) for x in inner.split(",")]


def of_arguments(comment, names):
    """The descriptions of these arguments in a comment: {name: text}."""
    found, pieces = {}, said(comment)
    for kind, text in pieces:
        for name in re.split(r", | and ", kind):
            if name in names:
                found[name] = text
    for name in names:
        mention = re.compile(r"(?:`%s`|\*%s\b|\b%s-th\b|\b%s\b)" % ((re.escape(name),) * 4))
        if name not in found and name not in EVERYWHERE and any(mention.search(text) for kind, text in pieces if kind != name):
            found[name] = "see above"
    return found


def base_of(name, comment, known):
    """The function whose descriptions of arguments this function takes over, or None."""
    bases = [re.sub(r"_(start|init)$", "", name)] + re.findall(r"\b[Aa]s (tutti_\w+)", comment.replace("\n *", ""))
    return next((base for base in bases if base in known and base != name), None)


def example_of(name, examples):
    """The example of a function: from the program of examples, or a whole program that calls it; None if no program calls
    it."""
    for known in examples:
        example = api_page.example_of([name], known)
        if example:
            return known[example][0]
    for path in PROGRAMS:
        with open(os.path.join(ROOT, path)) as f:
            text = f.read()
        if re.search(r"\b%s\(" % name, text):
            return re.sub(COMMENT + "\n", "", text, count=1)
    return None


def lines_of(comment, declared, known, examples):
    """The lines of the Doxygen comment of a declaration."""
    name = (functions_of(declared) or [""])[0]
    names = arguments(declared) if name else []
    texts = of_arguments(comment, names)
    base = base_of(name, comment, known)
    for argument, text in of_arguments(known[base][0], names).items() if base else []:
        texts.setdefault(argument, text.replace("see above", "see %s" % base))
    paragraphs = [text for kind, text in said(comment) if not kind]
    result = next((text for kind, text in said(comment) if kind == "Returns"), "")
    value = name and not re.match(r"TUTTI_API (?:tutti_status|void) (?!\*)", declared)
    if value and not result and paragraphs:
        result = paragraphs.pop(0)
        yield r"\brief " + words(re.split(r"(?<=[.;:]) ", result)[0].rstrip(".;:") + ".", known)
    elif paragraphs:
        first, *rest = re.split(r"(?<=\.) (?=[A-Z*`])", paragraphs.pop(0), maxsplit=1)
        yield r"\brief " + words(first, known)
        paragraphs = rest + paragraphs
    for text in paragraphs:
        yield from ("", words(text, known))
    code = [text for kind, text in said(comment) if kind == "code"]
    if code:
        yield from ["", r"\verbatim"] + code + [r"\endverbatim"]
    for kind, text in said(comment):
        if kind not in ("", "code", "Returns") and not set(re.split(r", | and ", kind)) & set(names):
            misnamed = name and kind.islower() and ", " not in kind
            yield from ([r"\param %s %s" % (kind, words(text, known))] if misnamed else ["", r"\par " + kind, words(text, known)])
    yield ""
    for argument in names:
        text = texts.get(argument) or EVERYWHERE.get(argument)
        if argument not in texts and argument in RECEIVED and "**" + argument in declared:
            text = "receives " + RECEIVED[argument]
        if text:
            yield r"\param %s %s" % (argument, words(text, known))
    if result:
        yield r"\return " + words(result, known)
    elif name and "tutti_status " in declared.split("(")[0] and comment:
        yield r"\return TUTTI_OK, or what failed (#tutti_status)"
    if base and name.endswith(("_start", "_init")):
        yield from ["", r"\see " + base + "()"]
    example = example_of(name, examples) if name else None
    if example:
        yield from ["", r"\par Example", r"\code{.c}"] + example.rstrip().split("\n") + [r"\endcode"]


def documented(comment, declared, known, examples):
    """Declarations, each with its comment."""
    for item, own in ITEM.findall(declared):
        mine = own or comment
        if mine:
            yield from ("/// " + line for line in lines_of(mine, item, known, examples))
        yield inside(item) if "{" in item else item
        yield ""


def inside(declared):
    """The comments inside a struct or an enum. A comment describes the code before it in its line, or else the code after
    it."""
    def mark(m):
        before = declared[declared.rfind("\n", 0, m.start()) + 1:m.start()].strip()
        return ("/**< " if before else "/** ") + words(re.sub(r"\n *\*? *", " ", m.group()[2:-2]).strip(), {}) + " */"
    return re.sub(COMMENT, mark, declared)


def heading(name, text):
    """The comment of the file."""
    comment = re.sub(r" ?SPDX-License-Identifier: \S+", "", re.match(COMMENT, text).group()[2:-2])
    paragraphs = [[]]
    for line in (re.sub(r"^ \*", "", x) for x in comment.strip("\n").split("\n")):
        if re.match(r" [A-Z][\w ]*? {2,}\S", line):
            paragraphs.append([line.strip()])
        elif line.startswith("   ") and (not paragraphs[-1] or paragraphs[-1][0].startswith("   ")):
            paragraphs[-1].append(line)
        elif line.strip():
            paragraphs[-1].append(line.strip())
        else:
            paragraphs.append([])
    yield from ["/** \\file", " *  \\brief " + words(" ".join(paragraphs[0]).split(" - ", 1)[1], {})]
    for lines in (x for x in paragraphs[1:] if x):
        if lines[0].startswith("   "):
            yield from ["", r"\verbatim"] + lines + [r"\endverbatim"]
            continue
        named = re.match(r"([A-Z][\w ]*?) {2,}(\S.*)", " ".join(lines))
        yield from ["", "\\par " + named.group(1), words(named.group(2), {})] if named else ["", words(" ".join(lines), {})]
    yield "*/"


def main():
    with open(sys.argv[1]) as f:
        text = f.read()
    known, examples = everything(), [api_page.examples(ROOT, name) for name in SOURCES]
    print("\n".join(heading(os.path.basename(sys.argv[1]), text)))
    at = re.match(COMMENT, text).end()
    text = re.sub(r"#ifdef __cplusplus\n(?:.*\n)*?#endif\n", "", text[at:])
    text = re.sub(r"#if defined\(__GNUC__\)\n(?:.*\n)*?#endif\n", "", text)
    text = re.sub(r"#ifndef (\w+)\n#define \1\n|#endif\n*$", "", text)
    text = re.sub(r"^static inline ([^{;]*) \{\n(?:.*\n)*?\}\n", r"TUTTI_API \1;\n", text, flags=re.M)
    text = re.sub(r"^(?:#define \w+ |enum \{(?=[^}]*/\*))(?:.*/\*.*\*/.*|[^}]*\};)$", lambda m: inside(m.group()), text, flags=re.M)
    at = 0
    for m in api_page.PART.finditer(text):
        print(text[at:m.start()])
        at = m.end()
        if m.group(3):
            print("\n".join(documented(m.group(2) or "", m.group(3), known, examples)))
    print(text[at:])


if __name__ == "__main__":
    main()

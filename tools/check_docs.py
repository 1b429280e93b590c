#!/usr/bin/python3
"""check_docs.py - checks the links, anchors and pictures of the Markdown pages, the questions, and the quoted messages.

Usage      tools/check_docs.py [links | questions | messages] ...; prints a line for each fault, exit status 1 if there is one
links      Each link of a page leads to a file of the tree, each anchor to a heading of that file, and each picture exists. Each
           page has one title, at its head, and can be reached from docs/README.md. Pages that are named in prose are links.
questions  Each question of docs/questions.txt is a heading of docs/faq.md, and the answer has a link to the section with the
           details. The page of that section is linked from the first page (one click), and the section is in its contents
           (the second click).
messages   Each message that is a heading of docs/troubleshooting.md has words that some source prints.
Anchors    have GitHub's form: lower case, without punctuation, spaces as hyphens; the site makes the same (`slug`).
SPDX-License-Identifier: BSD-3-Clause"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIRST, FAQ = "docs/README.md", "docs/faq.md"
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def slug(text):
    """The anchor of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>|[`*]", "", text)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def slug_for_site(text, _separator="-"):
    return slug(text)


def lines_of(path):
    """For each line of a page: its number, the line, and whether it is prose."""
    fence = False
    with open(os.path.join(ROOT, path)) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            mark = line.lstrip().startswith("```")
            yield number, line, not fence and not mark
            fence ^= mark


def headings(path):
    """(level, text) of each heading."""
    for _, line, prose in lines_of(path):
        m = re.match(r"(#+) +(.*)", line) if prose else None
        if m:
            yield len(m.group(1)), m.group(2)


def anchors(path):
    found = {}
    for _, text in headings(path):
        name = slug(text)
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found["%s-%d" % (name, found[name])] = 0
    return set(found)


def links(path):
    """(line number, is a picture, target) of each link."""
    for number, line, prose in lines_of(path):
        for m in LINK.finditer(re.sub(r"`[^`]*`", lambda code: "`" * len(code.group()), line)) if prose else ():
            yield number, bool(m.group(1)), m.group(3)


def pages():
    os.chdir(ROOT)
    return sorted(["README.md", "CONTRIBUTING.md"] + glob.glob("docs/*.md") + glob.glob("docs/*/*.md") + glob.glob("research/*.md"))


def target_of(page, link):
    path, _, anchor = link.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page), anchor


def check_links():
    reached, todo = set(), [FIRST]
    for page in pages():
        titles = [text for level, text in headings(page) if level == 1]
        first = next((line for _, line, prose in lines_of(page) if prose and line), "")
        if not titles or not first.startswith("# "):
            yield "%s: does not begin with a title" % page
        for number, picture, link in links(page):
            if re.match(r"[a-z]+:", link):
                continue
            path, anchor = target_of(page, link)
            if not os.path.exists(path):
                yield "%s:%d: there is no %s" % (page, number, path)
            elif anchor and anchor not in anchors(path):
                yield "%s:%d: %s has no heading #%s" % (page, number, path, anchor)
            elif picture and not path.endswith(".svg"):
                yield "%s:%d: %s is no SVG" % (page, number, path)
        table = False
        for number, line, prose in lines_of(page):
            table = (table or line.startswith("<!-- table")) and not line.startswith("<!-- end of table")
            bare = re.search(r"(?<![\w/(\[-])(docs/[\w/-]+\.md)\b", re.sub(r"`[^`]*`", "", LINK.sub("", line)))
            if prose and not table and bare and not line.startswith(("    ", "<!--")):
                yield "%s:%d: %s is named, but not linked" % (page, number, bare.group(1))
    while todo:
        page = todo.pop()
        if page in reached or not page.endswith(".md") or not os.path.exists(page):
            continue
        reached.add(page)
        todo += [target_of(page, link)[0] for _, _, link in links(page) if not re.match(r"[a-z]+:", link)]
    for page in pages():
        if page not in reached and not page.startswith("research/"):
            yield "%s: no way leads there from %s" % (page, FIRST)


def questions():
    """(line number, question, page, anchor) of docs/questions.txt."""
    with open(os.path.join(ROOT, "docs/questions.txt")) as f:
        for number, line in enumerate(f, 1):
            if line.strip() and not line.startswith("#"):
                question, answer, *_ = line.strip().split(" | ") + [""]
                page, _, anchor = answer.partition("#")
                yield number, question, page, anchor


def answers():
    """The links in the section of each heading of docs/faq.md."""
    found, text = {}, ""
    for _, line, prose in lines_of(FAQ):
        heading = re.match(r"#+ +(.*)", line) if prose else None
        text = heading.group(1) if heading else text
        found.setdefault(text, set()).update(m.group(3) for m in LINK.finditer(line) if prose)
    return found


def check_questions():
    os.chdir(ROOT)
    answered = answers()
    near = {target_of(FIRST, link)[0] for _, _, link in links(FIRST) if not re.match(r"[a-z]+:", link)}
    count = 0
    for number, question, page, anchor in questions():
        count += 1
        path, where = os.path.normpath("docs/" + page), "docs/questions.txt:%d: " % number
        if not re.match(r"How .*\?$", question):
            yield where + "is not a question that begins with How"
        if not os.path.exists(path):
            yield where + "there is no " + path
        elif anchor not in anchors(path):
            yield where + "%s has no heading #%s" % (path, anchor)
        elif path not in near:
            yield where + "%s is not linked from %s" % (path, FIRST)
        if question not in answered:
            yield where + "%s does not answer it" % FAQ
        elif "%s#%s" % (page, anchor) not in answered[question]:
            yield where + "the answer in %s has no link to %s#%s" % (FAQ, page, anchor)
    if count < 20:
        yield "docs/questions.txt: %d questions, 20 wanted" % count


def check_messages():
    """Check that the longer constant parts of each quoted message occur in a source. PyTorch's messages are exempt."""
    os.chdir(ROOT)
    files = [f for room in ("src", "cli", "mpi", "net", "ucx", "tcp", "gpu", "shim", "python/tutti", "c10d")
             for f in glob.glob(room + "/**/*.*", recursive=True) if f.endswith((".c", ".h", ".cpp", ".py"))]
    text = "\n".join(open(f, errors="replace").read() for f in files)
    text = re.sub(r'"\s*\n\s*(f?")', "", text).replace('\\"', '"')
    text = re.sub(r"\s+", " ", text)
    for level, heading in headings("docs/troubleshooting.md"):
        if level != 3:
            continue
        pieces = re.split(r"\.\.\.|\b(?:[NMPAB]|PID|HOST|PORT|NAME|FILE|PROGRAM|TUTTI|Open MPI|allreduce|SIG[A-Z]+|libtutti\S+|\d+ ?s?)\b|[`'(),:;]", heading)
        pieces = sorted((p.strip() for p in pieces), key=len, reverse=True)
        missing = [p for i, p in enumerate(pieces) if p not in text and (i == 0 or len(p) >= 12)]
        if missing and not heading.endswith("(PyTorch)"):
            yield "docs/troubleshooting.md: no source says '%s' (of '%s')" % (missing[0], heading)


def main():
    checks = {"links": check_links, "questions": check_questions, "messages": check_messages}
    faults = [fault for name in sys.argv[1:] or checks for fault in checks[name]()]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

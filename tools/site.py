#!/usr/bin/python3
"""site.py - builds the manual as a site with mkdocs: build/site/index.html.

Usage      tools/site.py [--build build]      (make site)
Idea       The pages of docs/, README.md, CONTRIBUTING.md and a few others are copied to build/site-pages. They are changed only
           where mkdocs and GitHub interpret Markdown differently: nested lists, a blank line before a list, links between
           pages. The search works without a server: its index is a script, and its worker runs in a frame
           (tools/site_search.js). Doxygen writes the C API into api/ (tools/Doxyfile); these pages have a separate search.
Needs      Debian's mkdocs, mkdocs-material and doxygen (tools/deps.sh site); no network.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import check_docs
import gallery

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The first page, and pages from outside docs/: source, page of the site.
PLACED = {"docs/README.md": "index.md", "README.md": "start.md", "CONTRIBUTING.md": "contributing.md",
          "CHANGELOG.md": "changes.md", "SECURITY.md": "reporting.md", "src/prove/SEMANTICS.md": "semantics.md",
          "src/cost/README.md": "cost-model.md", "src/choose/README.md": "choosing.md"}
NAVIGATION = [
    ("Start", [("The manual", "index.md"), ("Five minutes", "start.md"), ("Install", "install.md"), ("Concepts", "concepts.md"),
               ("FAQ", "faq.md")]),
    ("Tutorials", [("An MPI program, faster", "tutorials/faster.md"), ("Your own algorithm", "tutorials/algorithm.md"),
                   ("Find a late rank", "tutorials/late.md"), ("Survive the death of a rank", "tutorials/survive.md"),
                   ("PyTorch on two hosts", "tutorials/ddp.md")]),
    ("Use it", [("Python", "python.md"), ("PyTorch", "torch.md"), ("Moving to tutti", "moving.md"), ("MPI: the drop-in", "dropin.md"), ("MPI: from C", "mpi.md"),
                ("Hosts and Slurm", "hosts.md"), ("Sums in the network", "aggregator.md"), ("Compressed messages", "lighter.md"),
                ("Vectors on a GPU", "gpu.md"),
                ("Buckets of gradients", "buckets.md"), ("Your own network", "networks.md")]),
    ("Choose and tune", [("Choose and explain", "prices.md"), ("Tune", "tune.md"), ("Checklist", "performance.md"), ("Wisdom", "wisdom.md"), ("Traces", "trace.md"),
                         ("Reproducibility", "reproducible.md")]),
    ("When it fails", [("Troubleshooting", "troubleshooting.md"), ("Reliability", "reliability.md"), ("Security", "security.md"),
                       ("Testing", "testing.md")]),
    ("Reference", [("Commands", "reference/commands.md"), ("Variables", "reference/variables.md"),
                   ("Parameters of a profile", "reference/profile.md"), ("PyTorch operations", "reference/torch-support.md"), ("C API", "reference/c-api.md"), ("C API by Doxygen", "api/index.html"),
                   ("Schedules as text", "schedules.md"), ("Versions", "versions.md"), ("What is supported", "support.md"), ("Limitations", "limits.md"), ("Glossary", "glossary.md")]),
    ("Background", [("Benchmarks", "bench/README.md"), ("Shared memory", "shared-memory.md"), ("Papers", "papers.md"),
                    ("Simulation", "simulation.md"), ("Its tables", "sim/tables.md"), ("Scale", "scale.md"), ("Result tables", "bench/tables.md"),
                    ("Papers, statement by statement", "bench/papers.md"),
                    ("Compositions, drawn", "compositions.md"),
                    ("What a schedule means", "semantics.md"), ("The cost model", "cost-model.md"), ("How a plan is chosen", "choosing.md")]),
    ("Take part", [("Contributing", "contributing.md"), ("Changes", "changes.md"), ("Report a security fault", "reporting.md")]),
]
API_PAGE = "docs/reference/c-api.md"
ITEM = re.compile(r"( *)(?:[-*]|\d+\.) ")


def place_of(source):
    """The page of the site for a file of the tree, or None."""
    return PLACED.get(source, source[5:] if source.startswith("docs/") and source.endswith((".md", ".svg")) else None)


def title_of(source):
    return next((text for level, text in check_docs.headings(source) if level == 1), os.path.basename(source))


def relinked(line, source):
    """Turn links to files of the tree into links to pages of the site. Links to files without a page become code."""
    here = os.path.dirname(place_of(source))

    def link(m):
        picture, text, target = m.groups()
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return m.group()
        path, anchor = check_docs.target_of(source, target)
        page = place_of(path)
        if page is None:
            return "`%s`" % path
        if re.fullmatch(r"[\w/-]+\.md", text):
            text = title_of(path)
        return "%s[%s](%s%s)" % (picture, text, os.path.relpath(page, here or "."), "#" + anchor if anchor else "")
    return check_docs.LINK.sub(link, line)


def converted(source):
    """The text of a page for mkdocs."""
    out, in_list, mermaid = [], False, False
    for _, line, prose in check_docs.lines_of(source):
        if line.lstrip().startswith("```"):
            mermaid = line.strip() == "```mermaid" or (mermaid and line.strip() != "```")
            line = line.replace("```mermaid", "```text").replace("```schedule", "```text")
        if line.startswith("<!--"):
            line = ""
        item = ITEM.match(line) if prose else None
        before = out[-1] if out else ""
        if prose and line and not line.startswith(" ") and not item and not before.strip():
            in_list = False
        if item and not in_list and before.strip():
            out.append("")
        if prose and line.startswith("|") and before.strip() and not before.startswith("|"):
            out.append("")
        in_list = in_list or bool(item)
        if in_list and line.startswith(" "):
            line = " " * (len(line) - len(line.lstrip())) + line
        out.append(relinked(line, source) if prose else line)
        if source == API_PAGE and prose and line.startswith("# "):
            out += ["", "[Doxygen's pages](../api/index.html) show every header, with an example at every function."]
    return "\n".join(out) + "\n"


def write_pages(folder):
    sources = glob.glob("docs/**/*.md", recursive=True) + list(PLACED)
    for source in set(sources):
        path = os.path.join(folder, place_of(source))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(converted(source))
    for picture in glob.glob("docs/**/*.svg", recursive=True):
        path = os.path.join(folder, picture[5:])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(picture, path)
    for name in ("site_search.js", "site.css"):
        shutil.copy("tools/" + name, os.path.join(folder, name))


def write_api(pages, build):
    """Write the C API with Doxygen. Warnings count as errors, and go to build/doxygen.log. Returns the exit status."""
    log = os.path.join(build, "doxygen.log")
    with open("tools/Doxyfile") as f:
        config = f.read() + "OUTPUT_DIRECTORY = %s\nHTML_OUTPUT = api\nWARN_LOGFILE = %s\n" % (pages, log)
    status = subprocess.run(["doxygen", "-"], input=config, text=True).returncode
    with open(log) as f:
        sys.stderr.write(f.read())
    return status


def configuration(pages, site):
    """The text of mkdocs.yml: JSON, except for the function that makes anchors."""
    config = {
        "site_name": "tutti", "docs_dir": os.path.abspath(pages), "site_dir": os.path.abspath(site), "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": ["navigation.sections", "navigation.top"],
                  "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                              {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"}]},
        "plugins": ["search"], "extra_css": ["site.css"], "extra": {"generator": False},
        "copyright": "BSD 3-Clause", "nav": [{title: [{t: p} for t, p in pages_of]} for title, pages_of in NAVIGATION],
        "markdown_extensions": ["tables", "attr_list", "pymdownx.superfences", {"pymdownx.highlight": {"use_pygments": True}},
                                {"toc": {"permalink": True, "toc_depth": 3, "slugify": "SLUG"}}],
    }
    return json.dumps(config, indent=1).replace('"SLUG"', "!!python/name:check_docs.slug_for_site")


def make_search_local(site):
    """Make the search index a script that each page loads, because a page that is opened from a file cannot fetch it."""
    with open(os.path.join(site, "search/search_index.json")) as f:
        index = f.read()
    with open(os.path.join(site, "search/search_index.js"), "w") as f:
        f.write("var __search = {index: Promise.resolve(%s)}\n" % index.replace("</", "<\\/"))
    for page in glob.glob(os.path.join(site, "**/*.html"), recursive=True):
        with open(page) as f:
            text = f.read()
        up = os.path.relpath(site, os.path.dirname(page))
        scripts = "".join('<script src="%s/%s"></script>' % (up, s) for s in ("site_search.js", "search/search_index.js"))
        text = re.sub(r'(<script src="[^"]*assets/javascripts/bundle)', lambda m: scripts + m.group(1), text, count=1)
        with open(page, "w") as f:
            f.write(text)


def main():
    parser = argparse.ArgumentParser(description="the manual as a site")
    parser.add_argument("--build", default="build")
    args = parser.parse_args()
    os.chdir(ROOT)
    if not importlib.util.find_spec("mkdocs") or not os.path.isdir("/usr/share/mkdocs/themes/material"):
        print("tutti: the site needs Debian's mkdocs and mkdocs-material; `tools/deps.sh site` installs them", file=sys.stderr)
        return 1
    if not shutil.which("doxygen"):
        print("tutti: the site needs doxygen; `tools/deps.sh site` installs it", file=sys.stderr)
        return 1
    pages, site = os.path.join(args.build, "site-pages"), os.path.join(args.build, "site")
    shutil.rmtree(pages, ignore_errors=True)
    os.makedirs(pages)
    write_pages(pages)
    status = write_api(pages, args.build)
    if status:
        return status
    gallery.write(pages, args.build)
    config = os.path.join(args.build, "mkdocs.yml")
    with open(config, "w") as f:
        f.write(configuration(pages, site))
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean", "--strict", "--config-file", config],
                         env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools"), PYTHONDONTWRITEBYTECODE="1"))
    if run.returncode:
        return run.returncode
    make_search_local(site)
    print("the manual is %s" % os.path.join(args.build, "site/index.html"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

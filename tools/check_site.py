#!/usr/bin/python3
"""check_site.py - checks the finished site: links, anchors, titles, pictures, questions; and in a browser its width, search
and colors.

Usage      tools/check_site.py [build/site]      (make check-site); TAP lines, exit status 1 if one is "not ok"
Browser    chromium with chromedriver, without a window and without a network. Every page is opened from its file on the screen
           of a phone (390 x 844 points), in light and in dark mode. A page must not be wider than the screen; wide tables and
           listings scroll separately. All pictures must load, no script may fail, and everything must come from the site.
           Each page, and each picture that tutti drew, is light in light mode and dark in dark mode. Without these programs
           the tests are skipped.
Questions  For each question of docs/questions.txt, one click on the first page leads to the page with the answer, and a second
           click, in the contents of that page, to the answer.
SPDX-License-Identifier: BSD-3-Clause"""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import check_docs

OF_PYTHON = {"tutti_python_guard"}  # takes Python objects; only python/tutti calls it
WIDTH, HEIGHT = 390, 844
bad = 0


def tell(name, faults):
    global bad
    print("%sok - %s" % ("not " if faults else "", name))
    for fault in faults[:20]:
        print("#   " + fault)
    bad |= bool(faults)


# ---- the files ----


class Page(html.parser.HTMLParser):
    """The references of a page, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.needs, self.title, self.heads, self.inside = set(), [], [], "", 0, ""
        with open(path) as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.inside = tag
        self.heads += tag == "h1"
        if attrs.get("id"):
            self.ids.add(attrs["id"])
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script") and attrs.get("src"):
            self.needs.append(attrs["src"])
        if tag == "link" and attrs.get("rel") in ("stylesheet", "icon") and attrs.get("href"):
            self.needs.append(attrs["href"])

    def handle_data(self, data):
        if self.inside == "title" and not self.title:
            self.title = data.strip()


def check_files(site):
    paths = sorted(p for p in glob.glob(os.path.join(site, "**/*.html"), recursive=True) if not p.endswith("404.html") and "/api/search/" not in p)
    pages = {os.path.realpath(p): Page(p) for p in paths}
    links, titles, needs = [], [], []
    for path, page in pages.items():
        name = os.path.relpath(path, os.path.realpath(site))
        if not page.title or not (page.heads or of_doxygen(path)):  # Doxygen has no h1
            titles.append("%s has no %s" % (name, "heading" if page.title else "title"))
        for link in page.links + page.needs:
            url = urllib.parse.urlparse(link)
            if url.scheme or url.netloc:
                if link in page.needs:
                    needs.append("%s needs %s" % (name, link))
                continue
            target = os.path.realpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            where = links if link in page.links else needs
            if not os.path.exists(target):
                where.append("%s: there is no %s" % (name, link))
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].ids:
                where.append("%s: the anchor of %s does not exist" % (name, link))
    tell("%d pages: every link leads to a page, every anchor to a place in it" % len(pages), links if len(pages) > 30 else ["too few pages"])
    tell("every page has a title and a heading", titles)
    far, count = [], 0
    for _, question, answer, anchor in check_docs.questions():
        count += 1
        goal = os.path.realpath(os.path.join(site, re.sub(r"\.md$", ".html", answer).replace("README", "index")))
        first = os.path.realpath(os.path.join(site, "index.html"))
        clicks = {os.path.realpath(os.path.join(site, urllib.parse.urlparse(link).path)) for link in pages[first].links}
        if goal not in pages or goal not in clicks:
            far.append("%s: no click on the first page leads to %s" % (question, answer))
        elif anchor not in pages[goal].ids or "#" + anchor not in pages[goal].links:
            far.append("%s: no click in %s leads to #%s" % (question, answer, anchor))
    tell("%d questions are answered two clicks from the first page" % count, far if count >= 20 else ["too few questions"])
    tell("every picture, style and script exists, and none comes from another site", needs)
    return sorted(p for p in pages if not of_doxygen(p))


def of_doxygen(path):
    return re.search(r"/api/(search/)?[^/]*$", path) is not None


def check_api(site):
    """Check Doxygen's pages: no warnings, and every exported function has an entry with an example."""
    log = os.path.join(os.path.dirname(os.path.abspath(site)), "doxygen.log")
    with open(log) as f:
        tell("Doxygen has no warning", f.read().splitlines())
    entries = {}
    for path in glob.glob(os.path.join(site, "api/*_8h.html")):
        with open(path) as f:
            for entry in f.read().split('<h2 class="memtitle">')[1:]:
                name = re.search(r"(tutti_\w+)\(\)</h2>", entry)
                if name:
                    entries[name.group(1)] = entry
    with open("src/exported.txt") as f:
        names = f.read().split()
    faults = ["%s: %s" % (name, "no example" if name in entries else "no entry") for name in names if name not in OF_PYTHON and
              not re.search(r'Example</dt>.*<div class="fragment">.*\b%s\b' % name, entries.get(name, ""), re.S)]
    tell("every exported function has an entry of Doxygen's, with its example", faults if len(names) > 100 else ["too few functions"])


# ---- the browser ----


class Browser:
    """chromium, controlled with the WebDriver protocol."""

    def __init__(self, scheme):
        self.folder = tempfile.mkdtemp()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.at = "http://127.0.0.1:%d" % int(line.rstrip().rstrip(".").split()[-1])
                break
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                            "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                            "--user-data-dir=" + self.folder, "--blink-settings=preferredColorScheme=%d" % scheme],
                   "mobileEmulation": {"deviceMetrics": {"width": WIDTH, "height": HEIGHT, "pixelRatio": 1, "mobile": False}}}
        answer = self.post("/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options,
                                                                        "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.at += "/session/" + answer["sessionId"]

    def post(self, path, body):
        request = urllib.request.Request(self.at + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path, anchor=""):
        self.post("/url", {"url": "file://" + path + anchor})

    def run(self, script):
        return self.post("/execute/sync", {"script": script, "args": []})

    def wait(self, script, seconds=10):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.1)
        return None

    def complaints(self):
        return [x["message"] for x in self.post("/se/log", {"type": "browser"}) if x["level"] == "SEVERE"]

    def close(self):
        try:  # chromedriver ends the browser only when the session ends
            urllib.request.urlopen(urllib.request.Request(self.at, method="DELETE"), timeout=60).close()
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


LOOK = """
document.querySelectorAll("img").forEach(i => { i.loading = "eager" });
const wide = [...document.querySelectorAll("article *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 &&
  !e.closest(".md-typeset__scrollwrap, pre, .highlight"));
return {width: document.documentElement.scrollWidth, screen: innerWidth,
  wide: wide.slice(0, 3).map(e => e.tagName + " " + e.textContent.trim().slice(0, 60)),
  pictures: [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)};
"""
# The lightness (0 to 255) of background and text, of a page and of a picture that is opened separately.
LIGHTNESS = "const lightness = c => { const n = c.match(/[\\d.]+/g).map(Number); return (n[0] + n[1] + n[2]) / 3 };"
OF_PAGE = LIGHTNESS + """
return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("article p")).color].map(lightness);
"""
OF_PICTURE = LIGHTNESS + """
const whole = document.documentElement.viewBox.baseVal;
const paper = [...document.querySelectorAll("rect, path, polygon")].find(e => { const b = e.getBBox();
  return b.width > .9 * whole.width && b.height > .9 * whole.height && getComputedStyle(e).fill != "none"; });
const ink = document.querySelector("text");
return [paper ? lightness(getComputedStyle(paper).fill) : -1, ink ? lightness(getComputedStyle(ink).fill) : -1];
"""


def colour_faults(browser, site, pages, dark):
    """A line for each page and each picture that is light in dark mode, or dark in light mode."""
    pictures = sorted(os.path.realpath(p) for p in glob.glob(os.path.join(site, "**/*.svg"), recursive=True) if "/assets/" not in p and not of_doxygen(p))
    compositions = [p for p in pictures if "/compositions/" in p]  # a hundred pictures of the same kind; every tenth is checked
    for path in pages + [p for p in pictures if p not in compositions] + compositions[::10]:
        browser.open(path)
        paper, ink = browser.run(OF_PICTURE if path.endswith(".svg") else OF_PAGE)
        if not (0 <= paper < 80 and ink > 130 if dark else paper > 200 and 0 <= ink < 130):
            yield "%s on a %s screen: paper %d, ink %d of 255" % (os.path.relpath(path, os.path.realpath(site)),
                                                                  "dark" if dark else "light", paper, ink)


def check_in_browser(site, pages):
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        for name in ("no page is wider than a phone", "all pictures load, and no script fails", "the search works from a file",
                     "pages and pictures are dark where the reader's screen is"):
            print("ok - %s # SKIP chromium or chromedriver is not installed" % name)
        return
    browser = Browser(1)
    try:
        wide, broken = [], []
        for path in pages + sorted(os.path.realpath(p) for p in glob.glob(os.path.join(site, "api/*_8h.html"))):
            name = os.path.relpath(path, os.path.realpath(site))
            browser.open(path)
            seen = browser.run(LOOK)
            if seen["screen"] != WIDTH:
                wide.append("the screen is %d wide, not %d" % (seen["screen"], WIDTH))
            if seen["width"] > WIDTH:
                wide.append("%s is %d wide: %s" % (name, seen["width"], "; ".join(seen["wide"])))
            broken += ["%s: %s" % (name, x) for x in seen["pictures"] + browser.complaints()]
        tell("no page is wider than a phone (%d)" % WIDTH, wide)
        tell("all pictures load, and no script fails", broken)
        browser.open(pages[0])
        browser.run("const q = document.querySelector('.md-search__input'); q.focus(); q.value = 'membarrier'; "
                    "q.dispatchEvent(new KeyboardEvent('keyup', {key: 'r', bubbles: true}))")
        found = browser.wait("return [...document.querySelectorAll('.md-search-result__item a')].map(a => a.getAttribute('href'))"
                             ".filter(h => h.includes('.html')).join(' ')")
        tell("the search works from a file: it finds 'membarrier'", [] if found and "shared-memory.html" in found else
             ["found: %s" % found] + browser.complaints())
        shades = list(colour_faults(browser, site, pages, False))
    finally:
        browser.close()
    browser = Browser(0)
    try:
        shades += colour_faults(browser, site, pages, True)
    finally:
        browser.close()
    tell("pages and pictures are dark where the reader's screen is, and light where it is not", shades)


def main():
    site = sys.argv[1] if len(sys.argv) > 1 else "build/site"
    pages = check_files(site)
    check_api(site)
    check_in_browser(site, pages)
    return bad


if __name__ == "__main__":
    sys.exit(main())

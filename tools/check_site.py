#!/usr/bin/python3
"""check_site.py - looks at the finished site: links, anchors, titles, pictures; and in a browser its width and its search.

Usage      tools/check_site.py [build/site]      (make check-site); TAP lines, exit status 1 if one is "not ok"
Browser    chromium by chromedriver, without a window and without a network. Every page is opened from its file on a phone's
           screen of 390 x 844 points, light and dark. A page may not be wider than the screen; a wide table or listing scrolls by
           itself. All pictures must load, no script may fail, and nothing may come from another place than the site. Without
           these programs the tests are skipped.
SPDX-License-Identifier: BSD-3-Clause"""
import glob
import html.parser
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

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
    """What a page refers to, and the places in it that can be referred to."""

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
    paths = sorted(p for p in glob.glob(os.path.join(site, "**/*.html"), recursive=True) if not p.endswith("404.html"))
    pages = {os.path.realpath(p): Page(p) for p in paths}
    links, titles, needs = [], [], []
    for path, page in pages.items():
        name = os.path.relpath(path, os.path.realpath(site))
        if not page.title or not page.heads:
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
                where.append("%s: there is no anchor %s" % (name, link))
    tell("%d pages: every link leads to a page, every anchor to a place in it" % len(pages), links if len(pages) > 30 else ["too few pages"])
    tell("every page has a title and a heading", titles)
    tell("every picture, style and script is there, and none comes from elsewhere", needs)
    return sorted(pages)


# ---- the browser ----


class Browser:
    """chromium, spoken to as the WebDriver standard says."""

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
DARK = """
const lightness = c => { const n = c.match(/[\\d.]+/g).map(Number); return (n[0] + n[1] + n[2]) / 3 };
const s = getComputedStyle(document.body);
return [lightness(s.backgroundColor), lightness(getComputedStyle(document.querySelector("article p")).color)];
"""


def check_in_browser(site, pages):
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        for name in ("no page is wider than a phone", "all pictures load, and no script fails", "the search works from a file",
                     "pages are dark where the reader's screen is"):
            print("ok - %s # SKIP there is no chromium and chromedriver" % name)
        return
    browser = Browser(1)
    try:
        wide, broken = [], []
        for path in pages:
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
        light = browser.run(DARK)
    finally:
        browser.close()
    browser = Browser(0)
    try:
        browser.open(os.path.join(os.path.realpath(site), "concepts.html"))
        dark = browser.run(DARK)
        tell("pages are dark where the reader's screen is, and light where it is not",
             [] if light[0] > 200 and light[1] < 100 and dark[0] < 80 and dark[1] > 150 else ["light %s, dark %s" % (light, dark)])
    finally:
        browser.close()


def main():
    site = sys.argv[1] if len(sys.argv) > 1 else "build/site"
    check_in_browser(site, check_files(site))
    return bad


if __name__ == "__main__":
    sys.exit(main())

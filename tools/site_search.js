/* site_search.js - lets the search of the site work when a page is opened from a file.
 *
 * Idea       Browsers refuse a worker whose script is a file. There this class takes the worker's place: it runs the same script
 *            in a hidden frame, and passes messages both ways.
 * SPDX-License-Identifier: BSD-3-Clause */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><html><body></body></html>");
      inner.document.close();
      inner.postMessage = data => {
        const event = new MessageEvent("message", {data});
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts = (...urls) => Promise.all(urls.map(src => this.load(src)));
      this.load(url).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach(data => this.postMessage(data));
      });
    }
    load(src) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = src;
        script.onload = done;
        script.onerror = failed;
        this.frame.contentDocument.body.appendChild(script);
      });
    }
    postMessage(data) {
      if (!this.ready) return void this.waiting.push(data);
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data}));
    }
    terminate() { this.frame.remove(); }
  };

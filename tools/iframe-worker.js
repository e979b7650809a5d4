// The search of the site runs in a worker, and a page that is opened as a file may start none. There its
// script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const own = this.frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== own) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        this.onmessage?.(told);
      });
      const within = own.document;
      within.open();
      within.write("<!doctype html><body></body>");
      within.close();
      own.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => this.load(new URL(script, url))), Promise.resolve());
      own.postMessage = (data) => {
        const told = new MessageEvent("message", { data, source: own });
        window.dispatchEvent(told);
      };
      this.ready = this.load(url);
    }
    load(script) {
      return new Promise((done, failed) => {
        const element = this.frame.contentDocument.createElement("script");
        element.src = script;
        element.onload = done;
        element.onerror = failed;
        this.frame.contentDocument.body.append(element);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}

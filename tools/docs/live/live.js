// The live part of a page: its cells can be edited and run, its exercises are checked. Only serve.py sends it: the site has no part
// of it, so a page that is opened as a file shows none of this.
//
// A page has one kernel, which starts with the first run. To run a cell, those above it that have not run as they stand now run
// first, except solutions. What a reader types, and which exercises are right, stays in this browser (localStorage).
//
// The messages of Jupyter are written out below, in `Kernel`. A ready-made client, thebe-core, is 1.9 MB of script from npm, and
// brings its own cells and outputs, which a page has already.
(() => {
  const about = JSON.parse(document.getElementById("mg-live").textContent);
  const make = (tag, cls, text) => Object.assign(document.createElement(tag), { className: cls || "", textContent: text || "" });
  const plain = text => text.replace(/\x1b\[[0-9;]*m/g, "").replace(/[^\n]*\r(?!\n)/g, "");     // no colours; \r goes back in a line
  const GONE = "Python does not answer. If you have ended the server, start it again (make docs-serve) and reload this page.";

  // The token has become a cookie: it need not stay in the address.
  const address = new URL(location);
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }

  // ---- what is kept in the browser: {texts: {cell: [as built, as typed]}, right: [numbers of exercises]} --------------------
  const key = page => `minigrad:${page}`;
  function kept(page) {
    try { return { texts: {}, right: [], ...JSON.parse(localStorage.getItem(key(page))) }; } catch { return { texts: {}, right: [] }; }
  }
  const saved = kept(about.page);
  function save() {
    try { localStorage.setItem(key(about.page), JSON.stringify(saved)); } catch { /* the browser keeps nothing: so be it */ }
  }
  for (const link of document.querySelectorAll("article li > p:first-child > a:first-child[href$='.html']")) {
    const right = kept(new URL(link.href).pathname.slice("/minigrad/".length, -".html".length)).right.length;
    if (right) link.after(make("span", "live-right", ` ✓ ${right} right`));
  }

  // ---- Python ---------------------------------------------------------------------------------------------------------------
  const ask = async (path, method, body) => {
    const answer = await fetch(path, { method, body: body && JSON.stringify(body), keepalive: method === "DELETE",
                                       headers: { "X-XSRFToken": about.xsrf } }).catch(() => { throw Error(GONE); });
    if (!answer.ok) throw Error(GONE);
    return answer;
  };

  class Kernel {
    constructor(id) {
      this.id = id;
      this.session = crypto.randomUUID();
      this.jobs = new Map();      // id of a request -> {show, ok, replied, idle, end, fail}
      this.socket = new WebSocket(`ws://${location.host}/api/kernels/${id}/channels?session_id=${this.session}`);
      this.socket.onmessage = event => this.receive(JSON.parse(event.data));
      this.socket.onclose = () => this.lost(GONE);
    }
    static async start() {
      const kernel = new Kernel((await (await ask("/api/kernels", "POST", { name: "python3" })).json()).id);
      await new Promise((end, fail) => {
        kernel.socket.onopen = end;
        kernel.socket.onerror = () => fail(Error(GONE));
      });
      return kernel;
    }
    // Run `code`; `show(type, content)` gets each output. The answer: whether it ended without an error.
    run(code, show) {
      const id = crypto.randomUUID();
      const header = { msg_id: id, msg_type: "execute_request", username: "", session: this.session, date: new Date().toISOString(),
                       version: "5.3" };
      const content = { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false, stop_on_error: true };
      return new Promise((end, fail) => {
        this.jobs.set(id, { show, end, fail });
        this.socket.send(JSON.stringify({ header, parent_header: {}, metadata: {}, content, channel: "shell", buffers: [] }));
      });
    }
    receive({ header, parent_header, content }) {
      const type = header.msg_type, job = this.jobs.get(parent_header.msg_id);
      if (type === "status" && /restarting|dead/.test(content.execution_state))
        this.lost("Python has ended. The next run starts it again.");
      else if (job && type === "execute_reply") Object.assign(job, { replied: true, ok: content.status === "ok" });
      else if (job && type === "status") job.idle = content.execution_state === "idle";
      else if (job) job.show(type, content);
      if (job && job.replied && job.idle) {
        this.jobs.delete(parent_header.msg_id);
        job.end(job.ok);
      }
    }
    lost(why) {
      if (python === this) forget();
      for (const job of this.jobs.values()) job.fail(Error(why));
      this.jobs.clear();
    }
    interrupt() { ask(`/api/kernels/${this.id}/interrupt`, "POST").catch(() => {}); }
    end() {
      this.socket.onclose = null;
      this.lost("Python has been started again.");
      this.socket.close();
      ask(`/api/kernels/${this.id}`, "DELETE").catch(() => {});
    }
  }
  let python = null, queue = Promise.resolve();
  const ran = new Set(), touched = new Set();      // cells that have run as they stand; cells whose output is not the built one
  function forget() {
    python = null;
    ran.clear();
  }

  // ---- outputs, in the elements that the site has for them ------------------------------------------------------------------
  function lines(cls, text) {
    const block = make("div", `output ${cls} highlight-myst-ansi notranslate`), inner = make("div", "highlight");
    inner.append(make("pre", "", text));
    block.append(inner);
    return block;
  }
  const html = text => document.createRange().createContextualFragment(text);       // its scripts run when it is on the page
  async function put(box, type, content) {
    const last = box.lastElementChild, data = content.data || {}, block = make("div", "output text_html");
    if (type === "stream" && last && last.dataset.stream === content.name) {
      const pre = last.querySelector("pre");
      pre.textContent = plain(pre.textContent + content.text);
    } else if (type === "stream") {
      box.append(lines("stream", plain(content.text)));
      box.lastElementChild.dataset.stream = content.name;
    } else if (type === "error") {
      box.append(lines("stream raised", plain(content.traceback.join("\n"))));
    } else if (type === "clear_output") {
      box.replaceChildren();
    } else if (data["text/html"] || data["image/svg+xml"]) {
      box.append(block);
      block.append(html(data["text/html"] || data["image/svg+xml"]));
    } else if (data["image/png"]) {
      box.append(Object.assign(new Image(), { src: `data:image/png;base64,${data["image/png"]}`, alt: data["text/plain"] || "" }));
    } else if (data["text/markdown"]) {
      box.append(block);
      block.innerHTML = await (await ask("/live/show", "POST", { kind: "markdown", text: data["text/markdown"] })).text();
    } else if (data["text/plain"]) {
      box.append(lines("text_plain", plain(data["text/plain"])));
    }
  }

  // ---- cells ----------------------------------------------------------------------------------------------------------------
  class Cell {
    constructor(root, number) {
      Object.assign(this, { root, number, solution: root.classList.contains("tag_solution") });
      this.pre = root.querySelector(".cell_input pre");
      this.built = this.pre.textContent.replace(/\n$/, "");
      const [was, typed] = saved.texts[number] || [];
      this.area = Object.assign(make("textarea", "live-area"), { wrap: "off", spellcheck: false, value: this.built });
      this.area.autocapitalize = "off";
      this.area.setAttribute("aria-label", `Program of cell ${number + 1}. Shift+Enter runs it, Escape leaves it.`);
      this.pre.setAttribute("aria-hidden", "true");
      const style = getComputedStyle(this.pre);
      for (const name of ["fontFamily", "fontSize", "lineHeight", "padding", "tabSize"]) this.area.style[name] = style[name];
      this.pre.parentElement.append(this.area);
      this.bar = make("div", "live-bar");
      this.said = make("span", "live-said");
      this.said.setAttribute("role", "status");
      this.runs = this.button("Run", () => this.busy ? python && python.interrupt() : line(() => upTo(this)));
      this.reset = this.button("Reset", () => this.type(this.built));
      this.bar.append(this.said);
      root.querySelector(".cell_input").after(this.bar);
      this.area.addEventListener("input", () => this.type(this.area.value));
      this.area.addEventListener("scroll", () => { this.pre.scrollLeft = this.area.scrollLeft; });
      this.area.addEventListener("keydown", event => this.press(event));
      this.reset.hidden = true;
      if (was === this.built) this.type(typed);
    }
    button(text, action) {
      const button = Object.assign(make("button", "live-button", text), { type: "button" });
      button.addEventListener("click", action);
      this.bar.append(button);
      return button;
    }
    get text() { return this.area.value; }
    get changed() { return this.text !== this.built; }
    type(text) {
      if (this.area.value !== text) this.area.value = text;
      this.pre.textContent = `${text}\n`;
      this.reset.hidden = !this.changed;
      ran.delete(this);
      delete saved.texts[this.number];
      if (this.changed) saved.texts[this.number] = [this.built, text];
      save();
      clearTimeout(this.timer);
      this.timer = setTimeout(async () => {
        const answer = await ask("/live/show", "POST", { kind: "python", text }).catch(() => null);
        const coloured = answer && await answer.text();
        if (coloured && this.text === text) this.pre.innerHTML = `${coloured}\n`;
        this.pre.scrollLeft = this.area.scrollLeft;
      }, 300);
    }
    press(event) {
      const insert = text => {
        event.preventDefault();
        document.execCommand("insertText", false, text);        // so that it can be undone
      };
      const above = this.text.slice(0, this.area.selectionStart).split("\n").pop();
      if (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.runs.click();
      } else if (event.key === "Enter") {
        insert("\n" + above.match(/^ */)[0] + (/:\s*(#.*)?$/.test(above) ? "    " : ""));
      } else if (event.key === "Tab" && !event.shiftKey) {
        insert(" ".repeat(4 - above.length % 4));
      } else if (event.key === "Escape") {
        this.runs.focus();
      }
    }
    working(on) {
      this.busy = on;
      this.runs.textContent = on ? "Stop" : "Run";
    }
    say(text, cls = "") {
      this.said.className = `live-said ${cls}`;
      this.said.textContent = text;
    }
    // Run this cell. The output of a cell as it was built stays, unless `fresh`: a step-through keeps its place.
    async execute(fresh) {
      const found = [], show = fresh || this.changed || touched.has(this);
      let box = this.root.querySelector(".cell_output");
      if (!box) this.bar.after(box = make("div", "cell_output docutils container"));
      let writing = Promise.resolve();
      const add = (...one) => { writing = writing.then(() => put(box, ...one)).catch(() => {}); };
      if (show) {
        touched.add(this);
        box.replaceChildren();
      }
      this.working(true);
      try {
        const ok = await python.run(this.text, (...one) => show ? add(...one) : found.push(one));
        if (!ok && !show) {
          box.replaceChildren();
          found.forEach(one => add(...one));
        }
        await writing;
        if (ok) ran.add(this);
        return ok;
      } finally {
        this.working(false);
      }
    }
  }

  const roots = [...document.querySelectorAll("div.cell")];
  if (!roots.length || roots.some(root => !root.querySelector(".cell_input"))) return;     // a page that hides programs is not run
  const cells = roots.map((root, number) => new Cell(root, number));

  // Run what has to be run before `cell`, and the cell. Return whether all went well.
  async function upTo(cell) {
    cell.say(python ? "" : "Python starts ...");
    try {
      python = python || await Kernel.start();
      cell.say("");
      for (const one of cells.slice(0, cell.number)) {
        if (one.solution || ran.has(one)) continue;
        cell.say(`First, cell ${one.number + 1} of ${cell.number + 1} runs ...`);
        if (!await one.execute(false)) {
          cell.say(`This has not run: cell ${one.number + 1}, above, has raised an error.`, "live-wrong");
          return false;
        }
      }
      cell.say("");
      return await cell.execute(true);
    } catch (error) {
      cell.say(error.message, "live-wrong");
      return false;
    }
  }
  // One thing after the other, in the order of the clicks.
  const line = action => { queue = queue.then(action); };

  // ---- exercises --------------------------------------------------------------------------------------------------------------
  for (const one of about.exercises) {
    const stub = cells[one.stub], right = () => stub.say("✓ right", "live-right");
    stub.runs.after(stub.button("Check", () => line(async () => {
      stub.say("");
      if (!await upTo(stub)) return;
      const check = cells[one.check], printed = [];
      try {
        if (!ran.has(check) && !await check.execute(false)) return;
        stub.working(true);
        await python.run(`${one.help}\n${one.verdict}`, (type, content) => printed.push(content.text || content.evalue || ""));
        const verdict = printed.join("").trim();
        stub.say(verdict, "live-wrong");
        if (verdict !== "right") return;
        right();
        saved.right = [...new Set([...saved.right, one.number])].sort();
        save();
      } catch (error) {
        stub.say(error.message, "live-wrong");
      } finally {
        stub.working(false);
      }
    })));
    if (saved.right.includes(one.number)) right();
  }

  // ---- the page -----------------------------------------------------------------------------------------------------------------
  const note = make("p", "live-note", "This page is live: change a program, and run it with its button or with Shift+Enter. The cells "
    + "above it run first. ");
  const again = Object.assign(make("button", "live-button", "Start Python again"), { type: "button" });
  again.addEventListener("click", () => {
    if (python) python.end();
    forget();
  });
  note.append(again);
  (document.querySelector(".downloads") || document.querySelector("article h1")).after(note);
  window.addEventListener("pagehide", () => { if (python) python.end(); });
})();

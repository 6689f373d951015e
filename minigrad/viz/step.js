// The script of a step-through. It is in every page's fragment, and starts those that have not been started.
(() => {
  const all = (e, s) => [...e.querySelectorAll(s)];
  const make = (tag, text, cls) => Object.assign(document.createElement(tag), { textContent: text, className: cls || "" });

  function start(root) {
    root.dataset.on = "";
    const one = s => root.querySelector(s);
    const shots = JSON.parse(one("script[type='application/json']").textContent);
    const lines = all(root, ".mg-list li"), card = one(".mg-card"), slider = one("input"), play = one("[data-do=play]");
    const code = all(root, ".mg-panel-source li"), predict = one("[data-do=predict]"), score = one(".mg-score"), last = shots.length - 1;
    const first = parseInt(lines[0].textContent);       // the number of the first step on the page
    const texts = new Map(), states = new Map();
    for (const [map, name] of [[texts, "t"], [states, "c"]])
      for (const e of all(root, `[data-${name}]`)) map.set(e.dataset[name], [...(map.get(e.dataset[name]) || []), e]);
    let now = -1, timer = 0, asked = null, right = 0, total = 0, hits = [];

    function set(key, value, hit) {
      for (const e of texts.get(key) || []) {
        if (e.dataset.q !== undefined) e.replaceChildren(...value.split(" ").filter(x => x).map(x => make("span", x)));
        else e.textContent = value;
        if (hit) hits.push(e);
      }
      for (const e of states.get(key) || []) e.dataset.v = value;
      if (key === "kept.n") for (const e of all(root, "meter")) e.value = value || 0;
    }
    function clear() {
      for (const key of [...texts.keys(), ...states.keys(), "kept.n"]) set(key, "");
      now = -1;
    }
    function show(k) {
      for (const e of hits) e.classList.remove("mg-hit");
      hits = [];
      if (k < now) clear();
      for (let i = now + 1; i <= k; i++) for (const key in shots[i][0]) set(key, shots[i][0][key], i === k);
      for (const e of hits) e.classList.add("mg-hit");
      for (const e of code) e.removeAttribute("aria-current");
      for (const e of code) if (e.dataset.v.startsWith("run")) { e.setAttribute("aria-current", "true"); near(e); }
      if (lines[now]) lines[now].removeAttribute("aria-current");
      now = k;
      lines[k].setAttribute("aria-current", "step");
      near(lines[k]);
      slider.value = k + 1;
      slider.setAttribute("aria-valuetext", `step ${k + first}: ${lines[k].textContent}`);
      // Not `disabled`: a button that loses the focus would leave the keys to the page.
      for (const e of all(root, "[data-back]")) e.setAttribute("aria-disabled", k <= 0);
      for (const e of all(root, "[data-forth]")) e.setAttribute("aria-disabled", k >= last);
      for (const e of all(root, ".mg-here")) e.classList.remove("mg-here");
      for (const e of all(root, `[data-n="${lines[k].dataset.at}"]`)) {
        e.classList.add("mg-here");
        near(e);
      }
    }
    // Scroll a panel, and only that, so that `e` can be seen in it.
    function near(e) {
      const box = e.closest(".mg-scroll");
      if (!box) return;
      const a = e.getBoundingClientRect(), b = box.getBoundingClientRect();
      if (a.top < b.top + 36 || a.bottom > b.bottom) box.scrollTop += a.top - b.top - b.height / 3;
      if (a.left < b.left || a.right > b.right) box.scrollLeft += a.left - b.left - b.width / 3;
    }
    function tell(...before) {
      asked = null;
      delete root.dataset.ask;
      const line = lines[now].cloneNode(true);
      const count = make("a", `Step ${now + first} of ${root.dataset.total}`, "mg-count");
      count.href = `#${root.id}-step-${now + first}`;
      count.title = "a link to this step";
      card.replaceChildren(...before, count, ...line.childNodes);
    }
    function go(k) {
      show(Math.max(0, Math.min(last, k)));
      tell();
    }
    function forth() {
      if (now >= last) return stop();
      if (asked) return;
      if (predict.getAttribute("aria-pressed") === "true" && shots[now + 1][1]) ask(...shots[now + 1][1]);
      else go(now + 1);
    }
    function ask(question, options, answer, why) {
      stop();
      const buttons = options.map((option, i) => push(option, () => reply(i)));
      function reply(i) {
        total++;
        right += i === answer;
        score.textContent = `${right} of ${total} right`;
        show(now + 1);
        const said = make("p", i === answer ? `✓ Right: ${options[answer]}` : `✗ Not ${options[i]}, but ${options[answer]}`,
                          i === answer ? "mg-right" : "mg-wrong");
        said.append(why ? `: ${why}. ` : ". ");
        if (shots.slice(now + 1).some(shot => shot[1])) said.append(push("next question", quiz));
        else said.append("That was the last question.");
        tell(said);
        root.focus({ preventScroll: true });
      }
      asked = { reply, options };
      root.dataset.ask = "";      // what would tell the answer is hidden
      card.replaceChildren(make("p", question, "mg-ask"), ...buttons);
    }
    const push = (text, onclick) => Object.assign(make("button", text), { type: "button", onclick });
    // To the next question; after the last one, to the first.
    function quiz() {
      const later = shots.findIndex((shot, k) => k > now && shot[1]), k = later < 0 ? shots.findIndex((shot, k) => k && shot[1]) : later;
      if (k < 0) return tell(make("p", "This record has no question.", "mg-ask"));
      if (k - 1 !== now) show(k - 1);
      ask(...shots[k][1]);
    }
    // The graph as a file. It looks as it does here, in every program: each element gets its colours and its font.
    const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"];
    function picture() {
      const graph = one(".mg-graph"), copy = graph.cloneNode(true), copies = all(copy, "*");
      all(graph, "*").forEach((e, i) => {
        const style = getComputedStyle(e);
        for (const key of [...LOOKS, "display", "font", "text-anchor", "paint-order"]) copies[i].style.setProperty(key, style.getPropertyValue(key));
      });
      copy.style.background = getComputedStyle(root).backgroundColor;
      return copy;
    }
    // All steps, as `Step.save` writes them: each look of a shape is a keyframe, each value of a text has an element of its own.
    function animated(seconds) {
      const graph = one(".mg-graph"), parts = all(graph, "rect,.mg-edge path"), texts = all(graph, "text"), was = now;
      const looks = parts.map(() => []), says = texts.map(() => []), lines_said = [[], []], rules = [];
      const animate = (e, looks) => {
        const frames = new Map(), name = `a${rules.length}`;
        looks.forEach((look, k) => { if (look !== looks[k - 1]) frames.set(look, [...(frames.get(look) || []), `${100 * k / looks.length}%`]); });
        if (frames.size < 2) return;
        e.classList.add(name);
        rules.push(`@keyframes ${name}{${[...frames].map(([look, at]) => `${at}{${look}}`).join("")}}.${name}{animation:${name} ${seconds * looks.length}s step-end infinite}`);
      };
      const vary = (e, said) => {
        for (const value of new Set(said)) {
          const one = e.cloneNode();
          one.textContent = value;
          one.style.display = "";
          const seen = said.map(other => `visibility:${other === value ? "visible" : "hidden"}`);
          one.style.visibility = seen.at(-1).slice(11);
          animate(one, seen);
          e.before(one);
        }
        e.remove();
      };
      root.removeAttribute("data-predict");
      for (let k = 0; k <= last; k++) {
        show(k);
        parts.forEach((e, i) => { const s = getComputedStyle(e); looks[i].push(LOOKS.map(key => `${key}:${s.getPropertyValue(key)}`).join(";")); });
        texts.forEach((e, i) => says[i].push(getComputedStyle(e).display === "none" ? "" : e.textContent));
        const said = s => { const e = lines[k].querySelector(s); return e ? e.textContent : ""; };
        lines_said[0].push(`${k + first} ${said(".mg-kind")} ${said(".mg-op")}`);
        lines_said[1].push(said(".mg-what"));
      }
      const copy = picture(), { width, height } = graph.viewBox.baseVal, wide = Math.max(width, 460);
      all(copy, "rect,.mg-edge path").forEach((e, i) => animate(e, looks[i]));
      all(copy, "text").forEach((e, i) => { if (new Set(says[i]).size > 1) vary(e, says[i]); });
      lines_said.forEach((said, i) => {
        const e = document.createElementNS(copy.namespaceURI, "text"), most = Math.floor((wide - 20) / 7.9);
        e.style.cssText = `font:13px ui-monospace,Menlo,Consolas,monospace;fill:${getComputedStyle(root).color}`;
        e.setAttribute("x", (width - wide) / 2 + 10);
        e.setAttribute("y", height + 20 + 20 * i);
        copy.append(e);
        vary(e, said.map(text => text.length > most ? text.slice(0, most - 3) + "..." : text));
      });
      copy.setAttribute("viewBox", `${(width - wide) / 2} 0 ${wide} ${height + 54}`);
      copy.setAttribute("width", wide);
      copy.setAttribute("height", height + 54);
      const style = document.createElementNS(copy.namespaceURI, "style");
      style.textContent = rules.join("") + "@media (prefers-reduced-motion:reduce){*{animation:none!important}}";
      copy.prepend(style);
      root.toggleAttribute("data-predict", predict.getAttribute("aria-pressed") === "true");
      go(was);
      return copy;
    }
    function save(picture, name) {
      const link = make("a", "");
      link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
    // To the next turn of a node, or back to the one before.
    function turn(by) {
      let k = now + by;
      while (k > 0 && k < last && lines[k].dataset.kind !== "dequeue") k += by;
      go(k);
    }
    function stop() {
      clearInterval(timer);
      timer = 0;
      play.setAttribute("aria-pressed", "false");
    }
    const act = {
      first: () => go(0), back: () => go(now - 1), forth, last: () => go(last), next: () => turn(1), before: () => turn(-1),
      play() {
        if (timer) return stop();
        if (now >= last) go(0);
        play.setAttribute("aria-pressed", "true");
        timer = setInterval(forth, 1200);
      },
      predict() {
        const on = predict.getAttribute("aria-pressed") !== "true";
        predict.setAttribute("aria-pressed", on);
        root.toggleAttribute("data-predict", on);
        score.textContent = on ? "0 of 0 right" : "";
        right = total = 0;
        if (on) quiz();
        else tell();
      },
      fold: () => fold(!root.hasAttribute("data-few")),
      svg: () => save(picture(), `step-${now + first}.svg`),
      animate: () => save(animated(1.2), "steps.svg"),
    };
    const keys = { ArrowRight: "forth", ArrowLeft: "back", ArrowDown: "next", ArrowUp: "before", Home: "first", End: "last", " ": "play", p: "predict", t: "fold" };
    root.addEventListener("click", e => {
      const button = e.target.closest("[data-do]"), line = e.target.closest(".mg-list li"), node = e.target.closest("[data-n]");
      if (button) {
        if (button !== play) stop();
        act[button.dataset.do]();
      } else if (line) go(lines.indexOf(line));
      else if (node && asked) asked.options.forEach((o, i) => { if (asked && o.split(" ")[0] === node.dataset.n) asked.reply(i); });
    });
    slider.addEventListener("input", () => { stop(); go(slider.value - 1); });
    root.addEventListener("keydown", e => {
      const inside = e.target.closest("button, input, summary, .mg-scroll"), what = keys[e.key];
      if (e.ctrlKey || e.altKey || e.metaKey) return;
      if (asked && e.key >= "1" && e.key <= asked.options.length) asked.reply(e.key - 1);
      else if (!what || (inside && (e.key === " " || e.target !== e.target.closest("button")))) return;
      else { if (what !== "play") stop(); act[what](); }
      e.preventDefault();
      e.stopPropagation();
    });
    // Show the graph and the sentence alone, or all tables too.
    function fold(few) {
      root.toggleAttribute("data-few", few);
      one("[data-do=fold]").setAttribute("aria-expanded", !few);
    }
    // The address may name a step: #ID-step-7.
    function visit() {
      const [id, step] = location.hash.slice(1).split("-step-");
      if (id !== root.id || !(step - first in shots) || step - first === now) return;
      go(step - first);
      root.scrollIntoView();
    }
    one(".mg-list").open = false;
    fold(root.clientWidth > 0 && root.clientWidth < 600);
    clear();
    go(0);
    visit();
    window.addEventListener("hashchange", visit);
    root.mg = { go, last, fold };
  }
  for (const root of all(document, ".mg-step:not([data-on])")) if (root.querySelector(".mg-bar")) start(root);
})();

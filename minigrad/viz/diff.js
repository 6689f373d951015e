// The script of two records side by side: one slider moves the step-throughs of both, which step.js has started.
(() => {
  const all = (e, s) => [...e.querySelectorAll(s)];
  for (const root of all(document, ".mg-diff:not([data-on])")) {
    root.dataset.on = "";
    const pairs = JSON.parse(root.querySelector(":scope>script[type='application/json']").textContent);
    const sides = all(root, ".mg-step"), rows = all(root, ":scope>.mg-list tbody tr"), bar = root.querySelector(":scope>.mg-bar");
    const slider = bar.querySelector("input"), list = root.querySelector(":scope>.mg-list"), last = pairs.length - 1;
    let now = 0;
    const go = k => {
      if (rows[now]) rows[now].removeAttribute("aria-current");
      now = Math.max(0, Math.min(last, k));
      rows[now].setAttribute("aria-current", "step");
      slider.value = now + 1;
      sides.forEach((side, s) => {
        let i = now;
        while (i > 0 && pairs[i][s] === null) i--;
        if (side.mg) side.mg.go((pairs[i][s] || 1) - 1);
        side.dataset.gap = pairs[now][s] === null ? "none" : pairs[now][2] ? "differs" : "";
      });
    };
    const seek = by => {
      let k = now + by;
      while (k > 0 && k < last && !pairs[k][2]) k += by;
      go(k);
    };
    const fold = few => {
      for (const side of sides) if (side.mg) side.mg.fold(few);
      bar.querySelector("[data-do=dfold]").setAttribute("aria-expanded", !few);
    };
    const act = { dfold: () => fold(bar.querySelector("[data-do=dfold]").getAttribute("aria-expanded") === "true"), dback: () => go(now - 1), dforth: () => go(now + 1), dbefore: () => seek(-1), dnext: () => seek(1) };
    const keys = { ArrowLeft: "dback", ArrowRight: "dforth", ArrowUp: "dbefore", ArrowDown: "dnext", t: "dfold" };
    bar.addEventListener("click", e => { const b = e.target.closest("[data-do]"); if (b) act[b.dataset.do](); });
    slider.addEventListener("input", () => go(slider.value - 1));
    list.addEventListener("click", e => { const r = e.target.closest("tbody tr"); if (r) go(rows.indexOf(r)); });
    root.addEventListener("keydown", e => {
      if (!keys[e.key] || e.ctrlKey || e.altKey || e.metaKey || e.target.closest("input, summary, .mg-scroll")) return;
      act[keys[e.key]]();
      e.preventDefault();
      e.stopPropagation();
    }, true);
    list.open = false;
    fold(true);
    if (pairs.length) { go(0); if (!pairs[0][2]) seek(1); }
  }
})();

// What has to be scrolled sideways can be scrolled with the keyboard.
const scrollable = part => {
  for (const block of part.querySelectorAll("pre:not([aria-hidden]), .content table, div.math")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
};
window.addEventListener("load", () => scrollable(document));

// The theme has two asides on a page, and does not name them; its page of results has no title.
window.addEventListener("DOMContentLoaded", () => {
  const results = document.querySelector("#search-results");
  if (results && !document.querySelector("h1")) results.before(Object.assign(document.createElement("h1"), { textContent: "Search" }));
  for (const [name, label] of [["sidebar-drawer", "all pages"], ["toc-drawer", "on this page"]]) {
    for (const aside of document.querySelectorAll(`aside.${name}`)) aside.ariaLabel = label;
  }
});

// A folded part has no width until it is opened. Then its wide pictures show their middle.
document.addEventListener("toggle", event => {
  if (!event.target.open) return;
  scrollable(event.target);
  for (const picture of event.target.querySelectorAll(".mg-drawing")) {
    picture.scrollLeft = (picture.scrollWidth - picture.clientWidth) / 2;
  }
}, true);

// The step-through of the home page begins where there is something to be seen.
window.addEventListener("DOMContentLoaded", () => {
  const root = document.querySelector(".tag_at-work .mg-step");
  if (root && root.mg && !location.hash) root.mg.go(Math.round(root.mg.last * 0.7));
});

// The definition of a word at the right edge moves to the left, so that the page grows no wider.
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, event => {
    const word = event.target.closest && event.target.closest(".mg-explained");
    const about = word && word.querySelector("[role=tooltip]");
    if (!about || getComputedStyle(about).position === "fixed") return;
    about.style.left = "0";
    about.style.left = `${Math.min(0, document.documentElement.clientWidth - 16 - about.getBoundingClientRect().right)}px`;
  });
}

// Escape closes the definition of a word, until the pointer and the keyboard have left it.
document.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  for (const word of document.querySelectorAll(".mg-explained:is(:hover, :focus-within)")) word.dataset.closed = "";
});
for (const kind of ["pointerout", "focusout"]) {
  document.addEventListener(kind, event => {
    const word = event.target.closest && event.target.closest(".mg-explained");
    if (word && !word.contains(event.relatedTarget)) delete word.dataset.closed;
  });
}

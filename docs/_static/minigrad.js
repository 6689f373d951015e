// What has to be scrolled sideways can be scrolled with the keyboard.
const scrollable = part => {
  for (const block of part.querySelectorAll("pre:not([aria-hidden]), .content table")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
};
window.addEventListener("load", () => scrollable(document));

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

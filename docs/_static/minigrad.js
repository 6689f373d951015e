// What has to be scrolled sideways can be scrolled with the keyboard.
window.addEventListener("load", () => {
  for (const block of document.querySelectorAll("pre, .content table")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
});

// The step-through of the home page begins where there is something to be seen.
window.addEventListener("DOMContentLoaded", () => {
  const root = document.querySelector(".tag_at-work .mg-step");
  if (root && root.mg && !location.hash) root.mg.go(Math.round(root.mg.last * 0.7));
});

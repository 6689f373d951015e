// Brings the first node of a wide picture into sight.
(() => {
  for (const box of document.querySelectorAll(".mg-drawing:not([data-on])")) {
    box.dataset.on = "";
    const a = box.querySelector(".mg-node").getBoundingClientRect(), b = box.getBoundingClientRect();
    box.scrollLeft += a.left + a.width / 2 - b.left - b.width / 2;
  }
})();

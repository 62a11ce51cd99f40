// Filters questions by name and text. Without script the page is complete, and the field is hidden.
const field = document.getElementById("find");
const entries = [...document.querySelectorAll("[data-words]")];
const rows = entries.filter((entry) => entry.tagName === "TR");
field.closest(".search").hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of entries) {
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("found").textContent = words.length ? `${shown} of ${rows.length}` : "";
});

// What is wider than the window can be scrolled with the arrow keys.
const wide = [...document.querySelectorAll(".scroll")];
function reachable() {
  for (const part of wide) {
    if (part.scrollWidth > part.clientWidth) {
      part.tabIndex = 0;
    } else {
      part.removeAttribute("tabindex");
    }
  }
}
reachable();
window.addEventListener("resize", reachable);

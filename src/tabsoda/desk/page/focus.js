// What has the focus has it again after a part of the page was drawn anew.

function part(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const names = [...element.attributes].filter(({ name }) => name.startsWith("data-") || name === "aria-label" || name === "href");
  return names.length ? element.localName + names.map(({ name, value }) => `[${name}="${CSS.escape(value)}"]`).join("") : "";
}

// Call it before drawing, and what it returns after that.
export function keepFocus(within) {
  const active = document.activeElement;
  if (!active || active === within || !within.contains(active)) return () => {};
  const own = part(active);
  const text = active.textContent;
  const around = [];
  for (let one = active.parentElement; one !== within; one = one.parentElement) if (part(one)) around.unshift(part(one));
  const all = (...path) => [...within.querySelectorAll(path.join(" ") || "*")];
  return () => {
    const now = document.activeElement;
    if (now !== within && within.contains(now)) return;
    const near = all(...around, own || active.localName);
    // If it is gone: what is in its place, such as Continue after Pause, or all of it.
    const choices = [near.find((one) => one.textContent === text), own && near[0], own && all(own)[0],
      around.length && all(...around, "button")[0], within];
    for (const one of choices) {
      if (one) one.focus({ preventScroll: true });
      if (one && document.activeElement === one) return;
    }
  };
}

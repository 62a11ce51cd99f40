// Builds elements. Text is only inserted as text nodes, so HTML in a label is not interpreted.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function key(letter) {
  return el("kbd", {}, letter);
}

export function number(value) {
  return value === null ? "–" : value.toLocaleString("en-US");
}

// Rounded down, so that a lower bound below 100 % is never shown as 100 %.
export function percent(share) {
  return `${(Math.floor(1000 * share + 1e-9) / 10).toFixed(1)} %`;
}

export function when(stamp) {
  const time = new Date(stamp);
  if (Number.isNaN(time.valueOf())) return stamp;
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

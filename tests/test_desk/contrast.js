// Texts whose contrast is below 4.5 (WCAG AA).
const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map(Number).map((v) => v / 255)
  .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const behind = (e) => { while (e) { const c = getComputedStyle(e).backgroundColor;
  if (!/, 0\)$|transparent/.test(c)) return c; e = e.parentElement; } return 'rgb(255, 255, 255)'; };
const low = [];
for (const e of document.querySelectorAll('body *')) {
  if (!e.checkVisibility() || e.disabled || e.closest('.visually-hidden, svg, .jump')) continue;
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
  const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) low.push(e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40));
}
return low;

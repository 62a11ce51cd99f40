// Every control has a name, every image a text, ids are unique, headings are in order.
const problems = [];
const shown = (e) => e.checkVisibility && e.checkVisibility();
const named = (e) => (e.getAttribute('aria-label') || e.textContent.trim() || e.title
  || (e.labels && e.labels.length && e.labels[0].textContent.trim())
  || (e.getAttribute('aria-labelledby') && document.getElementById(e.getAttribute('aria-labelledby'))));
for (const e of document.querySelectorAll('button, a[href], input, select, textarea, progress, [role=grid], [role=row][tabindex]'))
  if (shown(e) && !named(e)) problems.push('no name: ' + e.outerHTML.slice(0, 120));
for (const e of document.querySelectorAll('img, svg[role=img]'))
  if (!e.getAttribute('alt') && !e.getAttribute('aria-label')) problems.push('no text: ' + e.outerHTML.slice(0, 120));
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) problems.push('twice: ' + id);
// What is wider or higher than its box is scrolled by keys.
for (const e of document.querySelectorAll('body *')) {
  const { overflowX, overflowY } = getComputedStyle(e);
  const scrolls = (/auto|scroll/.test(overflowX) && e.scrollWidth > e.clientWidth + 1)
    || (/auto|scroll/.test(overflowY) && e.scrollHeight > e.clientHeight + 1);
  if (scrolls && shown(e) && !e.matches('[tabindex], textarea, select') && !e.querySelector('button, a[href], input, select, [tabindex="0"]'))
    problems.push('no keys: ' + e.outerHTML.slice(0, 120));
}
// Whoever speaks to the page names what is on it.
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
for (const e of document.querySelectorAll('button[aria-label], a[aria-label], [role=button][aria-label]'))
  if (shown(e) && !plain(e.getAttribute('aria-label')).includes(plain(e.textContent))) problems.push('other name: ' + e.outerHTML.slice(0, 120));
for (const e of document.querySelectorAll('th')) if (!e.textContent.trim()) problems.push('empty head: ' + e.outerHTML);
let last = 1;
for (const e of [...document.querySelectorAll('h1, h2, h3, h4')].filter(shown)) {
  const level = Number(e.tagName[1]);
  if (level > last + 1) problems.push('heading: ' + e.textContent);
  last = level;
}
return problems;

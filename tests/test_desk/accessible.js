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
let last = 1;
for (const e of [...document.querySelectorAll('h1, h2, h3, h4')].filter(shown)) {
  const level = Number(e.tagName[1]);
  if (level > last + 1) problems.push('heading: ' + e.textContent);
  last = level;
}
return problems;

// Requests to the server; addresses are relative, because the page's own contains the token.

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused("The server of this page does not answer. Start the command again; what was "
      + "decided before is saved.", 0);
  }
  if (response.status === 403) throw new Refused(await response.text(), 403);
  let content;
  try {
    content = await response.json();
  } catch {
    throw new Refused(`The server failed (${response.status}). Nothing was saved.`, response.status);
  }
  if (!response.ok) throw new Refused(content.error, response.status);
  return content;
}

export function get(path) {
  return answer(fetch(`api/${path}`, { cache: "no-store" }));
}

export function post(path, body) {
  return answer(fetch(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Tabsoda-Review": "1" },
    body: JSON.stringify(body),
  }));
}

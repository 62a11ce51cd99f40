// Send a file. XMLHttpRequest reports how much of it is sent; fetch does not.

import { Refused } from "../shared/api.js";

export function send(file, use, version, progress = () => {}) {
  const query = new URLSearchParams({ name: file.name, version, ...(use ? { use } : {}) });
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `api/open/upload?${query}`);
    request.setRequestHeader("X-Tabsoda-Review", "1");
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onerror = () => reject(new Refused("The file could not be sent.", 0));
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { answer.error = request.responseText; }
      if (request.status === 200) resolve(answer);
      else reject(new Refused(answer.error || `The server failed (${request.status}).`, request.status));
    };
    request.send(file);
  });
}

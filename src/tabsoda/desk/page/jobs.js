// Jobs: the running one in the header, and a list for the steps that start them.

import { el } from "../shared/dom.js";
import { keepFocus } from "./focus.js";

const WORDS = {
  waiting: "waiting", running: "running", paused: "paused", stopping: "being cancelled",
  finished: "finished", failed: "failed", cancelled: "cancelled", interrupted: "interrupted",
};

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function describe(job) {
  const { progress } = job;
  if (!["running", "paused"].includes(job.state) || !progress) return WORDS[job.state];
  const step = progress.what ? `${progress.stage}: ${progress.what}` : progress.stage;
  const share = progress.total > 0 ? `, ${Math.floor(100 * progress.done / progress.total)} %` : "";
  const left = progress.seconds_left ? `, about ${duration(progress.seconds_left)} left in this stage` : "";
  const whole = progress.plan && !left ? `; ${duration(progress.seconds)} so far, about ${duration(progress.plan.seconds)} planned` : "";
  return `${job.state === "paused" ? "paused, " : ""}${step}${share}${left}${whole}`;
}

function bar(job) {
  const { progress } = job;
  const known = progress && progress.total > 0;
  return el("progress", { "aria-label": `Progress of ${job.title}`, max: 1,
    value: job.state === "finished" ? 1 : known ? progress.done / progress.total : job.state === "running" ? null : 0 });
}

function buttons(job, context) {
  const button = (action, text) => el("button", { type: "button", class: "small",
    "data-action": action, onclick: () => context.act(action, job.id).catch(() => {}) },
    text, el("span", { class: "visually-hidden" }, ` ${job.title}`));
  const resumes = ["paused", "cancelled", "interrupted", "failed"].includes(job.state);
  return el("div", { class: "actions" },
    job.state === "running" && job.can_pause && button("pause", "Pause"),
    resumes && button("resume", job.state === "paused" ? "Continue" : "Resume"),
    ["waiting", "running", "paused"].includes(job.state) && button("cancel", "Cancel"),
    ["finished", "failed", "cancelled", "interrupted"].includes(job.state) && button("remove", "Remove"));
}

export function runningJob(root, jobs, context) {
  const job = jobs.find((one) => ["running", "paused", "stopping"].includes(one.state));
  root.hidden = !job;
  if (!job) return root.replaceChildren();
  const waiting = jobs.filter((one) => one.state === "waiting").length;
  root.replaceChildren(el("span", {}, `${job.title}: ${describe(job)}`
    + (waiting ? `; ${waiting} waiting` : "")), bar(job));
}

export function jobList(root, jobs, context) {
  const restore = keepFocus(root);
  root.replaceChildren(...jobs.map((job) => el("li", { class: `job ${job.state}`, "data-job": job.id },
    el("div", { class: "job-head" }, el("strong", {}, job.title),
      el("span", { class: `status ${job.state}` }, WORDS[job.state])),
    ["running", "paused", "stopping"].includes(job.state) && bar(job),
    ["running", "paused"].includes(job.state) && el("p", { class: "muted" }, describe(job)),
    job.error && el("p", { class: "wrong" }, job.error),
    buttons(job, context))));
  restore();
}

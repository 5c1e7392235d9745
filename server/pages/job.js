/*
 * job.js: the page of a job that is not shown by the server: how it stands, live, until it is over; then its report.
 */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { el, byId, call, json, events, say, Problem, duration } = window.rematd;
  const live = byId("live");
  if (live === null) return;
  const id = live.dataset.job;
  const state = byId("live-state");
  const progress = byId("live-progress");
  const cancel = byId("live-cancel");
  const problem = byId("live-problem");
  const isFinal = (word) => word !== "queued" && word !== "running";

  /* A screen reader hears changes of state and phase, not every step. */
  const show = (words) => {
    if (state.textContent !== words) state.textContent = words;
  };

  const showStep = (step) => {
    live.dataset.state = step.state;
    cancel.hidden = isFinal(step.state);
    if (step.state === "queued") show(step.queue_position > 0 ? `Queued, ${step.queue_position} before it.` : "Queued.");
    else if (step.state === "running") show(`Running: ${step.phase ?? step.progress?.phase ?? ""}.`);
    const total = step.total ?? step.progress?.total ?? 0;
    progress.hidden = step.state !== "running";
    if (total > 0) {
      progress.max = total;
      progress.value = step.done ?? step.progress?.done ?? 0;
    } else {
      progress.removeAttribute("value");
    }
  };

  /* Of calls whose answer is no plan of one graph. */
  const showAnswer = (job) => {
    show("Over.");
    live.append(el("p", {}, "A batch has no report; ", el("a", { href: `/v1/jobs/${id}/plan` }, "its answer"), " has a line per graph."));
  };

  const showReport = async () => {
    show("Over. Writing the report…");
    const response = await call(`/v1/jobs/${id}/report?style=fragment`, { headers: { Prefer: "wait=60", Accept: "text/html" } });
    if (response.status === 202) throw new Problem(202, { title: "The report is not ready", detail: "It takes longer than a minute. Load the page again later." });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const report = document.adoptNode(page.getElementById("report"));
    byId("main").replaceWith(report);
    document.querySelector(".skip").hash = "#report";
    window.rematReport.mount(report);
    window.rematActions.mount(report, id);
    document.title = `${report.querySelector("h1")?.textContent ?? "Report"} · rematd`;
    document.dispatchEvent(new CustomEvent("rematd:report"));
  };

  const finish = async () => {
    const job = await json(`/v1/jobs/${id}`);
    live.dataset.state = job.state;
    progress.hidden = true;
    cancel.hidden = true;
    if (job.state === "succeeded") return job.call === "batch" ? showAnswer(job) : showReport();
    const took = job.started && job.finished ? ` after ${duration(new Date(job.finished) - new Date(job.started))}` : "";
    show(job.state === "canceled" ? "Cancelled." : `Over: ${job.state}${took}.`);
    if (job.problem) say(problem, new Problem(job.problem.status, job.problem));
    return undefined;
  };

  cancel.addEventListener("click", async () => {
    cancel.disabled = true;
    try {
      await call(`/v1/jobs/${id}`, { method: "DELETE" });
    } catch (error) {
      say(problem, error);
      cancel.disabled = false;
    }
  });

  const watch = async () => {
    try {
      const job = await json(`/v1/jobs/${id}`);
      showStep(job);
      if (!isFinal(job.state)) {
        for await (const step of events(id)) {
          if (!isFinal(step.state)) showStep(step);
        }
      }
      await finish();
    } catch (error) {
      cancel.hidden = true;
      progress.hidden = true;
      live.dataset.state = "problem";
      show(error.status === 404 ? "There is no such job." : error.status === 410 ? "The job was removed." : "This did not work.");
      say(problem, error);
    }
  };
  watch();
});

/*
 * home.js: the first page: a document is dropped, chosen or pasted and becomes a job; the list of jobs keeps itself up to date.
 */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { el, byId, json, submit, pageOf, say, duration } = window.rematd;
  const form = byId("submit");
  if (form === null) return;
  form.hidden = false;

  /* ---- submitting ---- */

  const state = byId("submit-state");
  const problem = byId("submit-problem");
  const file = byId("file");
  const drop = byId("drop");
  let chosen = null; /* a Blob */

  const choose = (blob) => {
    chosen = blob;
    drop.classList.toggle("chosen", blob !== null);
    problem.replaceChildren();
    state.textContent = blob === null ? "" : `${blob.name || "the file"}: ${window.rematd.bytes(blob.size)}`;
  };

  file.addEventListener("change", () => choose(file.files[0] ?? null));

  for (const type of ["dragenter", "dragover"]) {
    document.addEventListener(type, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) drop.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    const dropped = event.dataTransfer.files[0];
    if (dropped === undefined) return;
    event.preventDefault();
    file.value = "";
    choose(dropped);
    send();
  });

  /* The text of a field as JSON, or undefined when it is empty. */
  const field = (id, what) => {
    const text = byId(id).value.trim();
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      byId(id).focus();
      throw new Error(`${what}: ${error.message}`);
    }
  };

  const CODINGS = [{ magic: [0x1f, 0x8b], name: "gzip" }, { magic: [0x28, 0xb5, 0x2f, 0xfd], name: "zstd" }];

  const codingOf = async (blob) => {
    const head = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
    return CODINGS.find((coding) => coding.magic.every((byte, i) => head[i] === byte))?.name ?? "";
  };

  const unpacked = async (blob, coding) => {
    if (coding === "") return blob.text();
    if (coding !== "gzip") throw new Error("Options beside a .zst file: unpack the file first.");
    return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };

  /* An artifact of PyTorch's trace is no graph document: it has neither a schema nor a graph. */
  const isArtifact = (value) => value !== null && typeof value === "object" && !Array.isArray(value) &&
    value.schema === undefined && value.graph === undefined && value.nodes === undefined;

  /* Path, body and headers of what the form says. Without options a document is sent as it is, unread. */
  const request = async () => {
    const options = field("options", "Options");
    const passes = field("passes", "Passes");
    const pasted = byId("paste").value;
    if (chosen === null && pasted.trim() === "") throw new Error("Drop a file, choose one, or paste a document.");
    const blob = chosen ?? new Blob([pasted]);
    const coding = await codingOf(blob);
    const path = new FormData(form).get("call");
    const headers = coding === "" ? {} : { "Content-Encoding": coding };
    const head = coding === "" ? await blob.slice(0, 4096).text() : "";
    const looksLikeGraph = coding !== "" || /"(schema|graph|nodes|num_fwd_outputs)"/.test(head);
    if (looksLikeGraph && options === undefined && passes === undefined) return { path, body: blob, headers };
    let value;
    try {
      value = JSON.parse(await unpacked(blob, coding));
    } catch (error) {
      if (error instanceof SyntaxError) return { path, body: blob, headers }; /* the service says where */
      throw error;
    }
    if (isArtifact(value)) return { path: "/v1/reports", body: blob, headers: {} };
    if (options === undefined && passes === undefined) return { path, body: blob, headers };
    const envelope = value !== null && value.graph !== undefined ? value : { graph: value };
    if (options !== undefined) envelope.options = { ...envelope.options, ...options };
    if (passes !== undefined) envelope.passes = [...(envelope.passes ?? []), ...passes];
    return { path, body: JSON.stringify(envelope), headers: {} };
  };

  let isSending = false;
  const send = async () => {
    if (isSending) return;
    isSending = true;
    problem.replaceChildren();
    state.textContent = "Sending…";
    try {
      const { path, body, headers } = await request();
      const job = await submit(path, body, headers);
      state.textContent = "Accepted.";
      location.assign(pageOf(job.id));
    } catch (error) {
      state.textContent = "";
      say(problem, error);
    } finally {
      isSending = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  byId("paste").addEventListener("input", () => {
    if (byId("paste").value !== "" && chosen !== null) {
      file.value = "";
      choose(null);
    }
  });

  /* ---- jobs ---- */

  const body = byId("jobs").tBodies[0];
  const listState = byId("jobs-state");
  const more = byId("jobs-more");
  const older = []; /* the pages behind the first, which are over and stay */
  const LIMIT = 20;
  const FAST_MS = 1000;
  const SLOW_MS = 4000;

  const row = (job) => {
    const created = new Date(job.created);
    const took = job.started && job.finished ? duration(new Date(job.finished) - new Date(job.started)) : "";
    const progress = job.progress && job.progress.total > 0 ? ` (${job.progress.phase}, ${job.progress.done} of ${job.progress.total})` : "";
    return el("tr", {},
      el("th", { scope: "row" }, el("a", { href: pageOf(job.id), title: job.id }, el("code", {}, job.id.slice(0, 8)))),
      el("td", {}, job.call),
      el("td", {}, el("span", { class: `state ${job.state}` }, job.state), progress),
      el("td", {}, (job.outcome || job.problem?.title || "").replaceAll("_", " ")),
      el("td", {}, el("time", { datetime: job.created }, created.toLocaleString())),
      el("td", { class: "number" }, took));
  };

  const draw = (jobs, cursor) => {
    const all = [...jobs, ...older];
    const focused = document.activeElement?.closest?.("#jobs a")?.getAttribute("href");
    body.replaceChildren(...all.map(row));
    if (focused) body.querySelector(`a[href="${focused}"]`)?.focus();
    const alive = all.filter((job) => job.state === "queued" || job.state === "running").length;
    const words = all.length === 0 ? "There are none yet." : `${all.length} shown, ${alive === 0 ? "all of them over" : `${alive} not over`}.`;
    if (listState.textContent !== words) listState.textContent = words;
    more.hidden = cursor === undefined;
    more.dataset.cursor = cursor ?? "";
    return alive;
  };

  let timer = 0;
  const refresh = async () => {
    clearTimeout(timer);
    let wait = SLOW_MS;
    try {
      const list = await json(`/v1/jobs?limit=${LIMIT}`);
      const seen = new Set(list.jobs.map((job) => job.id));
      older.splice(0, older.length, ...older.filter((job) => !seen.has(job.id)));
      if (draw(list.jobs, older.length > 0 ? more.dataset.cursor || undefined : list.cursor) > 0) wait = FAST_MS;
    } catch (error) {
      say(listState, error);
      if (error.status === 401 || error.status === 403) return;
    }
    if (!document.hidden) timer = setTimeout(refresh, wait);
  };
  more.addEventListener("click", async () => {
    try {
      const list = await json(`/v1/jobs?limit=${LIMIT}&cursor=${encodeURIComponent(more.dataset.cursor)}`);
      older.push(...list.jobs);
      more.dataset.cursor = list.cursor ?? "";
      await refresh();
    } catch (error) {
      say(listState, error);
    }
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  refresh();
});

/*
 * service.js: what every page needs of the service: calls with the reader's token, problems in words, elements made of
 * text alone. Everything hangs on window.rematd; no page of another origin is ever asked.
 */
"use strict";
window.rematd = (() => {
  const TOKEN = "rematd-token";

  /* An element. Attributes that are functions become listeners; children are elements or text, never markup. */
  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  };

  /* Text of others (names, messages) keeps its direction to itself. */
  const name = (text) => el("bdi", { class: "name" }, text);

  const byId = (id) => document.getElementById(id);

  /* What the service refused, with its problem document. */
  class Problem extends Error {
    constructor(status, document_) {
      super(document_.detail || document_.title || `status ${status}`);
      this.status = status;
      this.document = document_;
    }
  }

  const problemOf = async (response) => {
    const text = await response.text();
    try {
      return new Problem(response.status, JSON.parse(text));
    } catch {
      return new Problem(response.status, { title: `The service answered ${response.status}`, detail: text.slice(0, 500) });
    }
  };

  /* ---- the token ---- */

  const token = () => sessionStorage.getItem(TOKEN) || "";

  /* Asks the reader once, however many calls wait for it: true when there is a new token. */
  let asking = null;
  const askToken = (why) => {
    asking ??= new Promise((resolve) => {
      const input = el("input", { type: "password", id: "token-input", autocomplete: "off", spellcheck: "false" });
      const dialog = el("dialog", { "aria-labelledby": "token-title", class: "panel small" },
        el("form", { method: "dialog" },
          el("h2", { id: "token-title" }, "Token"),
          el("p", {}, why),
          el("label", { for: "token-input" }, "Bearer token of this service"), input,
          el("p", { class: "hint" }, "Kept in this tab alone, until it is closed; sent to this service only."),
          el("p", { class: "row" },
            el("button", { value: "use", class: "primary" }, "Use it"),
            el("button", { value: "forget", type: "submit" }, "Forget it"),
            el("button", { value: "", type: "submit" }, "Cancel"))));
      dialog.addEventListener("close", () => {
        const said = dialog.returnValue;
        const value = input.value.trim();
        if (said === "use" && value !== "") sessionStorage.setItem(TOKEN, value);
        if (said === "forget") sessionStorage.removeItem(TOKEN);
        dialog.remove();
        asking = null;
        resolve(said === "use" && value !== "");
      });
      document.body.append(dialog);
      dialog.showModal();
    });
    return asking;
  };

  /* ---- calls ---- */

  /* The response of a call that went well; else throws a Problem. A call without a good token asks for one. */
  const call = async (path, { headers = {}, ...rest } = {}) => {
    const sent = token();
    const all = sent === "" ? headers : { ...headers, Authorization: `Bearer ${sent}` };
    let response;
    try {
      response = await fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", ...rest, headers: all });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, { title: "The service did not answer", detail: "It is not there, or the connection broke off. Try again." });
    }
    if (response.status === 401 && document.body.dataset.tokens === "yes") {
      const problem = await problemOf(response);
      if (token() !== sent || await askToken(problem.message)) return call(path, { headers, ...rest });
      throw problem;
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  };

  const json = async (path, options) => (await call(path, options)).json();

  /* Posts a document as a job of its own; the job's document. */
  const submit = (path, body, headers = {}) => json(path, {
    method: "POST", body, headers: { "Content-Type": "application/json", Accept: "*/*", Prefer: "respond-async", ...headers },
  });

  const pageOf = (id) => `/jobs/${encodeURIComponent(id)}`;

  /* The page of a job that came of another's page, which it links back to. */
  const pageAfter = (id, before) => `${pageOf(id)}?of=${encodeURIComponent(before)}`;
  const jobBefore = () => {
    const before = new URLSearchParams(location.search).get("of") ?? "";
    return /^[0-9A-Za-z-]{8,64}$/.test(before) ? before : null;
  };

  /* ---- server-sent events, by fetch, which can send a token ---- */

  const parseEvent = (block) => {
    const event = { id: "", type: "message", data: "" };
    for (const line of block.split("\n")) {
      const at = line.indexOf(": ");
      if (at < 1) continue;
      const field = line.slice(0, at);
      const value = line.slice(at + 2);
      if (field === "id") event.id = value;
      else if (field === "event") event.type = value;
      else if (field === "data") event.data += value;
    }
    return event;
  };

  /* The events of a job until its end. When the stream breaks off before, the next one begins behind the last event seen. */
  async function* events(id, signal) {
    let last = "";
    for (let failures = 0; failures < 8;) {
      try {
        const response = await call(`/v1/jobs/${id}/events`, { signal, headers: last === "" ? {} : { "Last-Event-ID": last } });
        if (response.status === 204) return;
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          text += part.value;
          for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
            const event = parseEvent(text.slice(0, end));
            text = text.slice(end + 2);
            if (event.data === "") continue;
            failures = 0;
            last = event.id;
            yield JSON.parse(event.data);
            if (event.type === "end") return;
          }
        }
      } catch (error) {
        if (error.name === "AbortError" || (error instanceof Problem && error.status >= 400 && error.status < 500)) throw error;
      }
      failures++;
      await new Promise((resolve) => { setTimeout(resolve, 250 * 2 ** failures); });
    }
    throw new Problem(0, { title: "The service does not answer", detail: "What became of the job is not known. Load the page again." });
  }

  /* ---- in words ---- */

  /* A problem as an element: what, where in the document, and the number under which the log has it. */
  const problemBox = (error) => {
    if (!(error instanceof Problem)) return el("div", { class: "problem", tabindex: "0" }, el("p", {}, error.message));
    const doc = error.document;
    const errors = Array.isArray(doc.errors) ? doc.errors : [];
    return el("div", { class: "problem", tabindex: "0" },
      el("p", {}, el("strong", {}, doc.title || "The service refused"), doc.detail ? el("span", {}, ": ", el("bdi", {}, doc.detail)) : null),
      errors.length === 0 ? null : el("ul", {}, errors.slice(0, 20).map((one) => el("li", {},
        one.pointer === undefined ? null : el("code", {}, el("bdi", {}, one.pointer === "" ? "(the document)" : one.pointer)), " ", el("bdi", {}, one.detail || "")))),
      el("p", { class: "hint" }, [doc.code, error.status ? `status ${error.status}` : "", doc.request_id ? `request ${doc.request_id}` : ""]
        .filter(Boolean).join(", ")));
  };

  const say = (place, error) => place.replaceChildren(problemBox(error));

  const bytes = (n) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let value = Math.abs(n);
    let unit = 0;
    for (; value >= 1024 && unit + 1 < units.length; unit++) value /= 1024;
    return `${n < 0 ? "−" : ""}${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
  };

  const flop = (n) => {
    const units = ["", "k", "M", "G", "T", "P"];
    let value = Math.abs(n);
    let unit = 0;
    for (; value >= 1000 && unit + 1 < units.length; unit++) value /= 1000;
    return `${n < 0 ? "−" : ""}${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}FLOP`;
  };

  const signed = (text) => (text.startsWith("−") || text.startsWith("0 ") ? text : `+${text}`);

  const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`);

  document.addEventListener("DOMContentLoaded", () => {
    const button = byId("token-button");
    if (document.body.dataset.tokens !== "yes") return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const before = token();
      await askToken("Calls from this tab are made with it.");
      if (token() !== before) location.reload();
    });
  });

  return { el, name, byId, Problem, call, json, submit, pageOf, pageAfter, jobBefore, events, problemBox, say, bytes, flop, signed, duration };
})();

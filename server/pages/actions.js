/*
 * actions.js: what a report can do when it is shown by the service: run a remedy, use a point of the frontier, ask "what if",
 * explain a node, and export. A report in a file has none of this.
 */
"use strict";
window.rematActions = (() => {
  const { el, name, byId, call, json, submit, pageOf, pageAfter, jobBefore, problemBox, say, bytes, flop, signed } = window.rematd;
  const POLICIES = ["must_save", "prefer_save", "must_recompute", "prefer_recompute"];
  const EXPORTS = [["min-cut-information", "min_cut_information of PyTorch's trace"], ["dot", "DOT (Graphviz)"], ["dimacs", "DIMACS (max flow)"]];
  const MOST_QUERY = 512; /* bytes behind the "?" that the service reads */
  let id = "";
  let report = null;
  const wanted = new Map(); /* node -> tag: what the form has so far */

  /* PyTorch's min_cut_information, about which nothing can be asked. */
  const isTrace = () => report.dataset.trace !== undefined;

  /* ---- a job that differs ---- */

  const run = async (change, place) => {
    place.replaceChildren(el("p", { role: "status" }, "Asking…"));
    try {
      const job = await submit(`/v1/jobs/${id}/what-if`, JSON.stringify(change));
      location.assign(pageAfter(job.id, id));
    } catch (error) {
      say(place, error);
    }
  };

  /* A button of the report and the place for what becomes of it. */
  const arm = (button, act) => {
    const place = el("div", { class: "outcome", role: "alert" });
    button.hidden = false;
    button.after(place);
    button.addEventListener("click", () => act(place));
  };

  const usePoint = (button, place) => {
    if (button.dataset.options === undefined) {
      place.replaceChildren(el("p", {}, "This point is a cut under a price for work: no option of PyTorch's leads to it, so nothing can be set in a model " +
        "to get it. The points made from budgets can be used; the plan of this one is in the frontier's answer, under its digest."));
      return undefined;
    }
    return run({ options: JSON.parse(button.dataset.options) }, place);
  };

  /* A job of its own, whose page has what this one leaves out. */
  const askFrontier = async (place) => {
    place.replaceChildren(el("p", { role: "status" }, "Asking…"));
    try {
      const graph = await (await call(`/v1/jobs/${id}/graph`)).blob();
      const job = await submit("/v1/frontier", graph);
      location.assign(`${pageAfter(job.id, id)}#frontier`);
    } catch (error) {
      say(place, error);
    }
  };

  /* ---- dialogs ---- */

  /* Closes by Escape and its button; the focus goes back to where it was. */
  const open = (title, ...content) => {
    const heading = el("h2", { id: "panel-title", tabindex: "-1" }, title);
    const dialog = el("dialog", { class: "panel", "aria-labelledby": "panel-title" },
      el("div", { class: "panel-head" }, heading, el("button", { type: "button", class: "close", click: () => dialog.close() }, "Close")), ...content);
    dialog.addEventListener("close", () => dialog.remove());
    byId("panel-title")?.closest("dialog")?.close();
    report.append(dialog);
    dialog.showModal();
    heading.focus();
    return dialog;
  };

  /* ---- what if ---- */

  const wantedRows = (redraw) => [...wanted].map(([node, tag]) => el("tr", {},
    el("th", { scope: "row" }, name(node)), el("td", {}, tag ?? "no tag"),
    el("td", {}, el("button", { type: "button", click: () => { wanted.delete(node); redraw(); } }, "Remove",
      el("span", { class: "visually-hidden" }, " ", node)))));

  const tagSelect = (idOf) => el("select", { id: idOf },
    ...POLICIES.map((policy) => el("option", { value: policy }, policy)), el("option", { value: "" }, "no tag"));

  const openWhatIf = () => {
    const place = el("div", { role: "alert" });
    const rows = el("tbody");
    const table = el("table", {}, el("caption", {}, "Tags to change"), el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, "Node"), el("th", { scope: "col" }, "Tag"), el("th", { scope: "col" }, "Change"))), rows);
    const redraw = () => {
      rows.replaceChildren(...wantedRows(redraw));
      table.hidden = wanted.size === 0;
    };
    const node = el("input", { id: "what-if-node", autocomplete: "off", spellcheck: "false" });
    const tag = tagSelect("what-if-tag");
    const options = el("textarea", { id: "what-if-options", rows: "3", spellcheck: "false", autocomplete: "off", placeholder: '{"activation_memory_budget":0.5}' });
    const add = () => {
      if (node.value === "") return node.focus();
      wanted.set(node.value, tag.value === "" ? null : tag.value);
      node.value = "";
      redraw();
      return node.focus();
    };
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add();
    });
    const ask = (event) => {
      event.preventDefault();
      if (node.value !== "") add();
      const change = {};
      try {
        if (options.value.trim() !== "") change.options = JSON.parse(options.value);
      } catch (error) {
        say(place, new Error(`Options: ${error.message}`));
        return options.focus();
      }
      if (wanted.size > 0) change.tags = Object.fromEntries(wanted);
      return run(change, place);
    };
    redraw();
    open("What if…", el("form", { submit: ask },
      el("p", {}, "The same graph with other tags or options: a new job, whose page shows what is different."), table,
      el("div", { class: "row fields" },
        el("div", {}, el("label", { for: "what-if-node" }, "Node"), node), el("div", {}, el("label", { for: "what-if-tag" }, "Tag"), tag),
        el("button", { type: "button", click: add }, "Add")),
      el("label", { for: "what-if-options" }, "Options, a JSON object"), options,
      el("p", { class: "row" }, el("button", { type: "submit", class: "primary" }, "Try it")), place));
  };

  /* ---- a node ---- */

  const list = (items) => items.flatMap((item, i) => (i === 0 ? [item] : [", ", item]));

  const nodeLink = (node) => el("button", { type: "button", class: "link", click: () => openNode(node) }, name(node));

  const CLASSES = { fw: "forward", bw: "backward", tangents_closure: "reads tangents", unclaimed: "of neither half" };

  const tagWords = ({ policy, region, effective }) => [policy ?? "none", region === undefined ? "" : `region ${region}`,
    effective !== undefined && effective !== policy ? `counts as ${effective ?? "none"} after clean-up` : ""].filter(Boolean).join(", ");

  const weightWords = ({ value, why }) => [value === undefined || value === null ? "" : Number(value).toLocaleString("en-US"), why].filter(Boolean).join(": ");

  const facts = (doc) => {
    const classes = Object.entries(CLASSES).filter(([key]) => doc.class?.[key]).map(([, word]) => word);
    const found = [
      ["Operator", doc.target ?? doc.op], ["Module", doc.module], ["Size", doc.bytes === undefined ? undefined : bytes(doc.bytes)],
      ["Work", doc.flops === undefined ? undefined : flop(doc.flops)], ["Tag", doc.tag && tagWords(doc.tag)], ["Class", classes.join(", ")],
      ["Distance from the backward", doc.dist], ["Side of the cut", doc.side], ["Weight in the cut", doc.weight && weightWords(doc.weight)], ["Source", doc.stack],
    ].filter(([, value]) => value !== undefined && value !== null && value !== "");
    return el("dl", {}, ...found.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, el("bdi", {}, String(value))))));
  };

  const bans = (doc) => ((doc.bans ?? []).length === 0 ? null : el("div", {}, el("h3", {}, "Bans: why it may not be computed again"),
    el("ul", {}, ...doc.bans.map((ban) => el("li", {}, el("bdi", {}, ban.reason ?? ""), ban.origin ? el("span", { class: "hint" }, ` (${ban.origin})`) : null)))));

  const neighbours = (title, nodes) => ((nodes ?? []).length === 0 ? null : el("div", {}, el("h3", {}, title), el("p", {},
    ...list(nodes.slice(0, 40).map((one) => (typeof one === "string" ? nodeLink(one)
      : el("span", {}, nodeLink(one.node), el("span", { class: "hint" }, ` ${one.backward ? "backward" : one.state ?? ""}`))))),
    nodes.length > 40 ? ` and ${nodes.length - 40} more` : "")));

  const difference = (diff) => {
    const moved = (diff.moves ?? []).length;
    if (moved === 0 && diff.bytes === 0 && diff.flops === 0) return "no difference";
    return [`${signed(bytes(diff.bytes))} saved`, `${signed(flop(diff.flops))} again`, diff.peak === undefined ? "" : `peak ${signed(bytes(diff.peak))}`,
      moved === 1 ? "1 value moved" : `${moved} values moved`].filter(Boolean).join(", ");
  };

  const choice = (doc, one) => el("tr", {},
    el("th", { scope: "row" }, one.choice.replaceAll("_", " ")),
    el("td", {}, one.diff ? difference(one.diff) : (one.outcome ?? "").replaceAll("_", " "), one.note ? el("p", { class: "hint" }, el("bdi", {}, one.note)) : null),
    el("td", {}, el("button", { type: "button", click: (event) => run({ tags: { [doc.node]: one.choice } }, placeOf(event.target)) }, "Try it",
      el("span", { class: "visually-hidden" }, ` ${one.choice.replaceAll("_", " ")}`))));

  const placeOf = (button) => button.closest("dialog").querySelector(".outcome");

  const choices = (doc) => ((doc.choices ?? []).length === 0 ? null : el("div", {}, el("h3", {}, "What else could be done"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Choice"), el("th", { scope: "col" }, "Against this plan"),
      el("th", { scope: "col" }, "As a job"))), el("tbody", {}, ...doc.choices.map((one) => choice(doc, one))))));

  /* Laid out when it is looked at. */
  const surroundings = (doc) => {
    const place = el("div");
    const details = el("details", { toggle: () => {
      if (details.open && place.childElementCount === 0) {
        place.replaceChildren(window.rematReport.around(report, doc.node) ?? el("p", {}, "The graph is too large to be drawn here; take the DOT file of the " +
          "neighbourhood along instead: remat export FILE --as dot --around NODE."));
      }
    } }, el("summary", {}, "Draw what is around it"), place);
    return details;
  };

  const draw = (doc) => [
    el("p", { class: "lead" }, el("span", { class: `state ${doc.state}` }, doc.state ?? ""), " ", el("bdi", {}, doc.why ?? "")),
    facts(doc), bans(doc), choices(doc), neighbours("Inputs", doc.inputs), neighbours("Users", doc.users), surroundings(doc),
    el("div", { class: "outcome", role: "alert" }),
    el("p", { class: "row" }, el("button", { type: "button", click: () => { wanted.set(doc.node, "must_save"); openWhatIf(); } }, "Change its tag with others…")),
  ].filter(Boolean);

  const openNode = async (node) => {
    const content = el("div", {}, el("p", { role: "status" }, "Asking what is known of it, and what its other choices cost…"));
    const dialog = open("Node", content);
    byId("panel-title").replaceChildren(name(node.length > 200 ? `${node.slice(0, 200)}…` : node));
    const query = `name=${encodeURIComponent(node)}`;
    if (query.length > MOST_QUERY) {
      content.replaceChildren(el("div", { class: "problem" }, el("p", {}, "Its name is longer than this call takes in an address. On the command line: remat explain FILE NODE.")),
        surroundings({ node }));
      return;
    }
    try {
      const doc = await json(`/v1/jobs/${id}/node?${query}`, { headers: { Accept: "application/json", Prefer: "wait=60" } });
      if (dialog.isConnected) content.replaceChildren(...draw(doc));
    } catch (error) {
      if (dialog.isConnected) content.replaceChildren(problemBox(error));
    }
  };

  /* ---- export ---- */

  /* By a call, which can send a token, into a file. */
  const download = async (path, file, place) => {
    place.replaceChildren(el("p", { role: "status" }, "Making it…"));
    try {
      const blob = await (await call(path, { headers: { Prefer: "wait=60" } })).blob();
      const link = el("a", { href: URL.createObjectURL(blob), download: file });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      place.replaceChildren(el("p", { role: "status" }, `${file}: done.`));
    } catch (error) {
      say(place, error);
    }
  };

  /* A graph is needed for all but the first three, and a trace is none. */
  const openExport = () => {
    const place = el("div", { role: "alert" });
    const file = `remat-${id.slice(0, 8)}`;
    const ends = { "min-cut-information": "json", dot: "dot", dimacs: "max" };
    open("Take it along", el("ul", { class: "plain" },
      el("li", {}, el("button", { type: "button", click: () => download(`/v1/jobs/${id}/report`, `${file}.html`, place) }, "This report as one file")),
      el("li", {}, el("button", { type: "button", click: () => download(`/v1/jobs/${id}/plan`, `${file}.json`, place) }, "The answer as JSON")),
      el("li", {}, el("button", { type: "button", click: () => download(`/v1/jobs/${id}/graph`, `${file}.graph.json`, place) }, isTrace() ? "The document as it was sent" : "The graph as it was sent")),
      ...(isTrace() ? [] : EXPORTS).map(([as, title]) => el("li", {},
        el("button", { type: "button", click: () => download(`/v1/jobs/${id}/export?as=${as}`, `${file}.${ends[as]}`, place) }, title)))), place);
  };

  /* ---- all of it ---- */

  /* The report says which node was chosen, and would show its neighbourhood alone. */
  const onNode = (event) => {
    event.preventDefault();
    openNode(event.detail.name);
  };

  const mount = (shown, job) => {
    id = job;
    report = shown;
    const before = jobBefore();
    const bar = el("div", { class: "actions", role: "group", "aria-label": "Actions" },
      isTrace() ? null : el("button", { type: "button", click: openWhatIf }, "What if…"),
      el("button", { type: "button", click: openExport }, "Take it along…"),
      el("a", { href: `/v1/jobs/${id}` }, "The job as JSON"),
      before === null ? null : el("a", { href: pageOf(before) }, "Back to the job before this"));
    (report.querySelector("header") ?? report.querySelector("h1")).append(bar);
    for (const button of report.querySelectorAll('[data-action="apply-remedy"]')) {
      arm(button, (place) => run({ tags: JSON.parse(button.dataset.tags) }, place));
    }
    for (const button of report.querySelectorAll('[data-action="use-point"]')) arm(button, (place) => usePoint(button, place));
    for (const button of report.querySelectorAll('[data-action="ask-frontier"]')) arm(button, askFrontier);
    if (!isTrace()) report.addEventListener("report:node", onNode);
  };

  document.addEventListener("DOMContentLoaded", () => {
    if (byId("report") !== null) mount(byId("report"), document.body.dataset.job);
  });
  return { mount };
})();

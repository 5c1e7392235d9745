/*
 * report.js: what a report's page can do beyond being read: sort, filter and
 * save tables, look into the memory chart, walk from node to node.
 *
 * The page is whole without it. It asks no server, sets no style by markup, and
 * puts words of documents into pages as text alone. window.rematReport is what
 * other scripts of a page may use:
 *   mount(root)          enhances a report (done for #report by itself)
 *   around(root, name)   an element with the neighbourhood of a node, or null
 * Choosing a node fires "report:node" ({name}) at its button; who handles that
 * itself calls preventDefault.
 */
"use strict";
(() => {
  const MOST_ROWS = 500; // of a table at a time
  const MOST_AROUND = 80; // nodes of a neighbourhood
  const SVG = "http://www.w3.org/2000/svg";
  const mounted = new WeakMap(); // root: {graph}
  let ids = 0;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function draw(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const data = (root, id) => {
    const element = root.querySelector(`script#${id}`);
    return element ? JSON.parse(element.textContent) : null;
  };
  const count = (value) => value.toLocaleString("en-US");
  const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  function size(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = 0;
    let amount = bytes;
    while (amount >= 1024 * 0.9995 && unit + 1 < units.length) {
      amount /= 1024;
      unit++;
    }
    const digits = unit === 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
    return `${amount.toFixed(digits)} ${units[unit]}`;
  }

  /* ---- tables ---- */

  // What a cell is sorted, filtered and saved by.
  function valueOf(cell) {
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const node = cell.querySelector("[data-node]");
    return node ? node.dataset.node : cell.textContent === "–" ? "" : cell.textContent;
  }

  function nodeButton(index, name) {
    const button = make("button", { type: "button", class: "node", "data-i": index });
    button.dataset.node = name;
    button.append(make("bdi", {}, shorten(name, 160)));
    return button;
  }

  // A row of #saved-table out of the data behind it.
  function savedRow(values, index, isStatic) {
    const row = make("tr", {}, make("th", { scope: "row" }, nodeButton(index, values[0])));
    const classes = ["", "op", "type", "n", "n share", "n", "why", "module", "source"];
    for (let i = 1; i < classes.length; i++) {
      const value = values[i];
      const cell = make("td", { class: classes[i] });
      if (typeof value === "number") cell.dataset.v = value;
      cell.textContent =
        i === 3 ? (value < 0 ? "unknown" : size(value)) : i === 4 ? (isStatic ? "static" : `${(value * 100).toFixed(1)}%`) : value === "" ? "–" : typeof value === "number" ? count(value) : shorten(value, 160);
      row.append(cell);
    }
    return row;
  }

  class Table {
    constructor(root, table) {
      this.root = root;
      this.table = table;
      this.body = table.tBodies[0];
      this.heads = [...table.tHead.rows[0].cells];
      this.rows = null;
      this.order = null; // {column, down}
      this.words = [];
      if ("sortable" in table.dataset) this.addButtons();
      if ("filter" in table.dataset || table.dataset.csv) this.addTools();
    }

    // [{values, row or null}], read when first needed.
    load() {
      if (this.rows) return this.rows;
      this.rows = [...this.body.rows].map((row) => ({ row, values: [...row.cells].map(valueOf) }));
      const rest = this.table.id === "saved-table" ? data(this.root, "saved-data") : null;
      for (const [index, name, op, type, bytes, readers, why, module, source, isStatic] of rest ? rest.rows : []) {
        const share = rest.total > 0 && !isStatic ? Math.max(bytes, 0) / rest.total : 0;
        this.rows.push({ row: null, index, isStatic, values: [name, op, type, bytes, share, readers, why, module, source] });
      }
      return this.rows;
    }

    addButtons() {
      this.heads.forEach((head, column) => {
        if (head.tagName !== "TH") return;
        const button = make("button", { type: "button" });
        button.append(...head.childNodes);
        head.append(button);
        head.dataset.column = column;
      });
      this.table.tHead.addEventListener("click", (event) => {
        const head = event.target.closest("th[data-column]");
        if (head && event.target.closest("button")) this.sort(Number(head.dataset.column));
      });
    }

    sort(column) {
      const isNumber = typeof (this.load()[0]?.values[column] ?? "") === "number";
      const down = this.order?.column === column ? !this.order.down : isNumber;
      this.order = { column, down };
      this.heads.forEach((head, i) => {
        if (i === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const collator = new Intl.Collator("en", { numeric: true });
      const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
      const sign = down ? -1 : 1;
      this.rows.sort((a, b) => sign * compare(a.values[column], b.values[column]));
      this.show();
    }

    show() {
      const rows = this.load();
      const found = this.words.length
        ? rows.filter(({ text, values }, i) => {
            const all = text ?? (rows[i].text = values.join(" ").toLowerCase());
            return this.words.every((word) => all.includes(word));
          })
        : rows;
      const shown = found.slice(0, MOST_ROWS);
      this.body.replaceChildren(...shown.map((entry) => (entry.row ??= savedRow(entry.values, entry.index, entry.isStatic))));
      if (!this.status) return;
      const of = found.length === rows.length ? "" : ` of ${count(rows.length)}`;
      this.status.value = shown.length < found.length ? `the first ${count(shown.length)} of ${count(found.length)} rows` : `${count(found.length)}${of} rows`;
    }

    addTools() {
      const tools = make("div", { class: "tools" });
      if ("filter" in this.table.dataset) {
        const id = `filter-${++ids}`;
        const input = make("input", { type: "search", id, placeholder: "Filter by name, operator, module…", autocomplete: "off", spellcheck: "false" });
        this.status = make("output", { for: id });
        let timer = 0;
        input.addEventListener("input", () => {
          clearTimeout(timer);
          timer = setTimeout(() => {
            this.words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
            this.show();
          }, 80);
        });
        tools.append(make("label", { class: "hidden", for: id }, "Filter this table"), input, this.status);
      }
      if (this.table.dataset.csv) {
        const save = make("button", { type: "button" }, "Save as CSV");
        save.addEventListener("click", () => this.save());
        tools.append(save);
      }
      (this.table.closest(".scroll") ?? this.table).before(tools);
    }

    save() {
      // A leading quote keeps spreadsheets from taking names for formulas.
      const quote = (value) => {
        const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
        return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      };
      const lines = [this.heads.map((head) => head.textContent.trim()), ...this.load().map((row) => row.values)];
      const text = lines.map((line) => line.map(quote).join(",")).join("\r\n") + "\r\n";
      const link = make("a", { download: this.table.dataset.csv, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }
  }

  /* ---- memory over time ---- */

  // Round amounts of bytes from 0 to max, about five.
  function evenSizes(max) {
    const step = 2 ** Math.floor(Math.log2(Math.max(max, 1) / 4));
    const wide = max / step > 6 ? step * 2 : step;
    return Array.from({ length: Math.floor(max / wide) + 1 }, (_, i) => i * wide);
  }

  // Round numbers of steps, counted from the begin of either half.
  function evenSteps(min, max, begin) {
    const rough = Math.max((max - min) / 10, 1);
    const ten = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough);
    const from = (first, last, zero) => {
      const list = [];
      for (let x = zero + Math.ceil((first - zero) / step) * step; x < last; x += step) list.push(x);
      return list;
    };
    return [...from(Math.max(min, 0), Math.min(max, begin - step / 2), 0), ...from(Math.max(min, begin), max, begin)];
  }

  // What is in which half, and where the peak of activations is.
  function annotate(u, curves, colour) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const right = bbox.left + bbox.width;
    const middle = Math.round(u.valToPos(curves.begin, "x", true));
    const write = (words, x, y, align) => {
      ctx.textAlign = align;
      ctx.fillText(words, x, y);
    };
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "bottom";
    ctx.fillStyle = ctx.strokeStyle = colour("--muted");
    if (middle > bbox.left + 60 * ratio) write("forward →", bbox.left, bbox.top - 5 * ratio, "left");
    if (middle < right - 60 * ratio) write("backward →", Math.max(middle, bbox.left), bbox.top - 5 * ratio, "left");
    if (middle >= bbox.left && middle <= right) {
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(middle, bbox.top);
      ctx.lineTo(middle, bbox.top + bbox.height);
      ctx.stroke();
    }
    const at = curves.activations.reduce((best, bytes, i) => (bytes > curves.activations[best] ? i : best), 0);
    const x = u.valToPos(curves.x[at], "x", true);
    const y = u.valToPos(curves.activations[at], "y", true);
    if (x >= bbox.left && x <= right) {
      const isRight = x > bbox.left + bbox.width / 2;
      ctx.setLineDash([]);
      ctx.fillStyle = colour("--again");
      ctx.strokeStyle = colour("--card");
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.arc(x, y, 4 * ratio, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
      ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
      ctx.fillStyle = colour("--fg");
      ctx.lineWidth = 4 * ratio;
      ctx.lineJoin = "round";
      const words = `peak ${size(curves.activations[at])}`;
      const from = isRight ? x - 9 * ratio : x + 9 * ratio;
      ctx.textAlign = isRight ? "right" : "left";
      ctx.strokeText(words, from, y - ratio);
      write(words, from, y - ratio, ctx.textAlign);
    }
    ctx.restore();
  }

  function chart(root) {
    const figure = root.querySelector("#memory-chart");
    const svg = figure?.querySelector("svg");
    if (!svg || typeof uPlot !== "function") return;
    const curves = data(root, "memory-data");
    if (!curves || curves.x.length < 2) return;
    const total = curves.activations.map((bytes, i) => bytes + curves.gradients[i]);
    const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
    const frame = make("div", { class: "interactive", role: "group", "aria-label": "Memory over time, interactive; the same data are in the table below" });
    const step = (u, x) => {
      const i = u.cursor.idx;
      if (x == null || i == null) return "–";
      const half = x < curves.begin ? "forward" : "backward";
      return `${half} ${x < curves.begin ? x : x - curves.begin} ${shorten(curves.nodes[i] ?? "begin", 40)}`;
    };
    let plot = null;
    const build = () => {
      plot?.destroy();
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
      plot = new uPlot(
        {
          width: Math.max(frame.clientWidth, 240),
          height: 280,
          scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.04 || 1] } },
          axes: [
            { ...axis, splits: (u, i, min, max) => evenSteps(min, max, curves.begin), values: (u, ticks) => ticks.map((x) => (x < curves.begin ? x : x - curves.begin)) },
            { ...axis, size: 76, values: (u, ticks) => ticks.map(size), splits: (u, i, min, max) => evenSizes(max) },
          ],
          cursor: { drag: { x: true, y: false } },
          series: [
            { label: "Step", value: step },
            { label: "Gradients (on top)", stroke: colour("--gradient"), fill: colour("--gradient"), width: 0.5, points: { show: false }, value: (u, y, s, i) => (i == null ? "–" : size(curves.gradients[i])) },
            { label: "Activations", stroke: colour("--saved"), fill: colour("--saved"), width: 0.5, points: { show: false }, value: (u, y) => (y == null ? "–" : size(y)) },
          ],
          padding: [26, null, null, null],
          hooks: { draw: [(u) => annotate(u, curves, colour)] },
        },
        [curves.x, total, curves.activations],
        frame,
      );
    };
    svg.replaceWith(frame);
    build();
    new ResizeObserver(() => {
      const width = Math.max(frame.clientWidth, 240);
      if (width !== plot.width) plot.setSize({ width, height: 280 });
    }).observe(frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
  }

  /* ---- neighbourhoods ---- */

  // The graph with its edges both ways, read when first needed; null: none.
  function graphOf(root) {
    const state = mounted.get(root) ?? {};
    if (state.graph !== undefined) return state.graph;
    const graph = data(root, "graph-data");
    if (graph) {
      // A recorded cut has no modules and no halves, and an operator for each.
      graph.targets_of ??= graph.names.map((_, i) => i);
      graph.modules ??= [""];
      graph.modules_of ??= graph.names.map(() => 0);
      graph.sides ??= "-".repeat(graph.names.length);
      graph.index = new Map(graph.names.map((name, i) => [name, i]));
      graph.users = graph.names.map(() => []);
      graph.inputs.forEach((inputs, v) => inputs.forEach((u) => graph.users[u].push(v)));
    }
    state.graph = graph;
    mounted.set(root, state);
    return graph;
  }

  // Nearest nodes, both ways, each ring as far as there is room.
  function collect(graph, start) {
    const found = new Set([start]);
    let ring = [start];
    let left = 0;
    for (let depth = 0; depth < 3 && ring.length && found.size < MOST_AROUND; depth++) {
      const next = [];
      for (const v of ring)
        for (const u of [...graph.inputs[v], ...graph.users[v]]) {
          if (found.has(u)) continue;
          if (found.size >= MOST_AROUND) {
            left++;
            continue;
          }
          found.add(u);
          next.push(u);
        }
      ring = next;
    }
    return { nodes: [...found].sort((a, b) => a - b), left };
  }

  // Rows from top to bottom so that edges go down, then two sweeps that put
  // each node below the middle of what it reads.
  function place(graph, nodes) {
    const inside = new Set(nodes);
    const layer = new Map();
    const column = new Map();
    for (const v of nodes) layer.set(v, Math.max(-1, ...graph.inputs[v].filter((u) => inside.has(u) && u < v).map((u) => layer.get(u))) + 1);
    for (const v of [...nodes].reverse()) {
      const below = graph.users[v].filter((u) => inside.has(u)).map((u) => layer.get(u));
      if (below.length && !graph.inputs[v].some((u) => inside.has(u))) layer.set(v, Math.min(...below) - 1);
    }
    const rows = [];
    for (const v of nodes) (rows[layer.get(v)] ??= []).push(v);
    const lines = rows.filter(Boolean);
    const middle = (list) => list.reduce((sum, u) => sum + column.get(u), 0) / list.length;
    const settle = (row, near) => {
      const key = new Map(row.map((v, i) => {
        const list = near(v).filter((u) => inside.has(u) && column.has(u));
        return [v, list.length ? middle(list) : i];
      }));
      row.sort((a, b) => key.get(a) - key.get(b) || a - b);
      row.forEach((v, i) => column.set(v, i - (row.length - 1) / 2));
    };
    for (const row of lines) settle(row, (v) => graph.inputs[v]);
    for (const row of [...lines].reverse()) settle(row, (v) => graph.users[v]);
    return { lines, column };
  }

  function drawAround(graph, start) {
    const WIDTH = 176;
    const HEIGHT = 42;
    const STEP_X = WIDTH + 18;
    const STEP_Y = HEIGHT + 34;
    const { nodes, left } = collect(graph, start);
    const { lines, column } = place(graph, nodes);
    const widest = Math.max(...lines.map((row) => row.length));
    const width = widest * STEP_X + 20;
    const at = new Map();
    lines.forEach((row, y) => row.forEach((v) => at.set(v, { x: width / 2 + column.get(v) * STEP_X, y: 14 + y * STEP_Y })));
    const svg = draw("svg", { width, height: lines.length * STEP_Y + 8, viewBox: `0 0 ${width} ${lines.length * STEP_Y + 8}`, role: "group", "aria-label": "Nodes around it" });
    for (const v of nodes)
      for (const u of graph.inputs[v]) {
        const from = at.get(u);
        const to = at.get(v);
        if (!from) continue;
        const y = from.y + HEIGHT;
        svg.append(draw("path", { class: "edge", d: `M${from.x},${y}C${from.x},${y + 22} ${to.x},${to.y - 22} ${to.x},${to.y}` }));
      }
    for (const v of nodes) {
      const { x, y } = at.get(v);
      const state = { s: ", saved", r: ", recomputed" }[graph.states[v]] ?? "";
      const half = { f: "forward", b: "backward" }[graph.sides[v]] ?? "node";
      const group = draw("g", { class: `${graph.states[v]} ${graph.sides[v]}${v === start ? " here" : ""}`, tabindex: 0, role: "button", "data-around": v });
      const title = draw("title");
      title.textContent = `${shorten(graph.names[v], 400)} ${shorten(graph.targets[graph.targets_of[v]], 200)}, ${half}${state}`;
      const name = draw("text", { x: x - WIDTH / 2 + 10, y: y + 18, direction: "ltr", "unicode-bidi": "isolate" });
      name.textContent = shorten(graph.names[v], 22);
      const sub = draw("text", { class: "sub", x: x - WIDTH / 2 + 10, y: y + 33 });
      sub.textContent = shorten(graph.targets[graph.targets_of[v]], 24);
      group.append(title, draw("rect", { x: x - WIDTH / 2, y, width: WIDTH, height: HEIGHT, rx: 6 }), name, sub);
      svg.append(group);
    }
    return { svg, left };
  }

  function factsOf(graph, v) {
    const half = { f: "in the forward", b: "in the backward" }[graph.sides[v]];
    const state = { s: "saved", r: "recomputed" }[graph.states[v]];
    const words = [graph.targets[graph.targets_of[v]], half, state, graph.bytes[v] >= 0 ? size(graph.bytes[v]) : null, graph.modules[graph.modules_of[v]] || null];
    return make("p", { class: "facts" }, ...words.filter(Boolean).map((word) => make("span", {}, make("bdi", {}, shorten(word, 200)))));
  }

  // Fills `element`; choosing a node in it moves there.
  function fillAround(graph, v, element, moved) {
    const { svg, left } = drawAround(graph, v);
    const frame = make("div", { class: "around" }, svg);
    element.replaceChildren(factsOf(graph, v), frame);
    if (left) element.append(make("p", { class: "note" }, `And ${count(left)} more around these.`));
    const here = svg.querySelector(".here rect");
    frame.scrollLeft = Number(here.getAttribute("x")) + 88 - frame.clientWidth / 2;
    frame.scrollTop = Number(here.getAttribute("y")) - frame.clientHeight / 3;
    const go = (event) => {
      const group = event.target.closest("[data-around]");
      if (!group || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      const to = Number(group.dataset.around);
      if (to === v) return;
      moved(graph.names[to]);
      fillAround(graph, to, element, moved);
      element.querySelector(".here")?.focus();
    };
    svg.addEventListener("click", go);
    svg.addEventListener("keydown", go);
  }

  function around(root, name, moved = () => {}) {
    const graph = graphOf(root);
    const v = graph?.index.get(name);
    if (v === undefined) return null;
    const element = make("div");
    fillAround(graph, v, element, moved);
    return element;
  }

  function openDialog(root, name) {
    let dialog = root.querySelector("dialog.neighbourhood");
    if (!dialog) {
      dialog = make("dialog", { class: "neighbourhood", "aria-labelledby": "h-neighbourhood" });
      dialog.append(make("header", {}, make("h2", { id: "h-neighbourhood" }), make("button", { type: "button", class: "close" }, "Close")), make("div", { class: "content" }));
      dialog.addEventListener("click", (event) => {
        if (event.target === dialog || event.target.closest(".close")) dialog.close();
      });
      root.append(dialog);
    }
    const graph = graphOf(root);
    const v = graph?.index.get(name);
    const content = dialog.querySelector(".content");
    const entitle = (words) => dialog.querySelector("h2").replaceChildren(make("bdi", {}, shorten(words, 300)));
    entitle(name);
    if (!dialog.open) dialog.showModal();
    if (v === undefined) content.replaceChildren(make("p", {}, "The graph is too large for its neighbourhoods to be in this report: remat export FILE --as dot --around NODE draws one."));
    else fillAround(graph, v, content, entitle);
  }

  /* ---- the page ---- */

  // A link to a block opens it.
  function openTarget(root) {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && root.querySelector(`[id="${CSS.escape(id)}"]`);
    if (target?.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView({ block: "center" });
      target.querySelector("summary").focus({ preventScroll: true });
    }
  }

  function mount(root) {
    if (mounted.has(root)) return;
    mounted.set(root, {});
    for (const table of root.querySelectorAll("table[data-sortable]")) new Table(root, table);
    chart(root);
    root.addEventListener("click", (event) => {
      const link = event.target.closest("a.block");
      if (link && location.hash === link.getAttribute("href")) openTarget(root);
      const button = event.target.closest("button.node");
      if (!button) return;
      const wanted = new CustomEvent("report:node", { bubbles: true, cancelable: true, detail: { name: button.dataset.node } });
      if (button.dispatchEvent(wanted)) openDialog(root, button.dataset.node);
    });
    addEventListener("hashchange", () => openTarget(root));
    openTarget(root);
    root.dataset.ready = "";
  }

  window.rematReport = { mount, around };
  const start = () => {
    const root = document.getElementById("report");
    if (root) mount(root);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();

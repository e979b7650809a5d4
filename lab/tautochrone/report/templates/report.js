"use strict";
// Draws the charts from the data inside this page and makes legends, choices, tables and copy buttons work.
// Nothing is fetched. Charts are drawn one at a time, so the verdict can be read at once; when the last one
// stands, the root element gets data-ready="true".
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const tooltip = document.getElementById("tooltip");
  const hidden = new Set();
  const views = [];

  // ---- data: a table is stored in columns; a list of one number is an index into its words
  const decoded = new Map();
  function table(name, stored = page.tables[name]) {
    if (!decoded.has(name)) {
      decoded.set(name, stored.rows.map((row) => Object.fromEntries(
        row.map((value, i) => [stored.names[i], Array.isArray(value) ? stored.words[value[0]] : value]))));
    }
    return decoded.get(name);
  }

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function siTime(seconds) {
    if (seconds === null || seconds === undefined) return "not measured";
    const [factor, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(([f]) => seconds >= f * 0.9995)
      ?? [1e-9, "ns"];
    return `${(seconds / factor).toPrecision(3)} ${unit}`;
  }

  // ---- tooltip: text only, whatever the names hold
  function showTooltip(handler, event, item, value) {
    if (!value) { tooltip.hidden = true; return; }
    const rows = Object.entries(value).filter(([, text]) => text !== "" && text !== null && text !== undefined);
    tooltip.replaceChildren(element("table", {}, element("tbody", {}, ...rows.map(([name, text]) =>
      element("tr", {}, element("th", { textContent: name }), element("td", { textContent: page.names[text] ?? String(text) }))))));
    tooltip.hidden = false;
    tooltip.style.left = "0"; // where it was last, the edge of the window may have made it narrower
    const point = event.touches?.[0] ?? event;
    const box = tooltip.getBoundingClientRect();
    const left = Math.min(point.clientX + 16, window.innerWidth - box.width - 8);
    const below = point.clientY + 18 + box.height < window.innerHeight;
    tooltip.style.left = `${Math.max(8, left)}px`;
    tooltip.style.top = `${below ? point.clientY + 18 : Math.max(8, point.clientY - box.height - 14)}px`;
  }
  window.addEventListener("scroll", () => { tooltip.hidden = true; }, { passive: true });

  // ---- charts
  async function loadVega() {
    const packed = Uint8Array.from(atob(document.getElementById("vega").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(element("script", { textContent: await new Response(stream).text() }));
  }

  // the chart with its data and with the values of this view; every drawing gets copies, since Vega marks rows
  function specification(name, parameters) {
    const chart = structuredClone(page.charts[name]);
    for (const parameter of chart.params) parameter.value = parameters[parameter.name] ?? parameter.value;
    const text = JSON.stringify(chart);
    const named = Object.keys(page.tables).filter((data) => text.includes(`"data":{"name":"${data}"}`));
    chart.datasets = { ...chart.datasets, ...Object.fromEntries(named.map((data) => [data, table(data).map((row) => ({ ...row }))])) };
    return chart;
  }

  async function draw(container, vegaLoaded) {
    const name = container.dataset.chart;
    try {
      await vegaLoaded;
      const chart = specification(name, JSON.parse(container.dataset.parameters));
      // Vega writes its own role and label on its element: ours stay on the one around it
      const inner = element("div");
      container.replaceChildren(inner);
      const { view } = await window.vegaEmbed(inner, chart, {
        mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTooltip, logLevel: 1,
      });
      container.style.minHeight = "0";
      views.push({ view, name });
    } catch (error) {
      container.replaceChildren(element("p", { className: "note", textContent: `This chart could not be drawn: ${error.message}` }));
      console.error(error);
    }
  }

  function setSignal(view, name, value) {
    try { view.signal(name, value); } catch { return; } // a chart without that parameter
    view.runAsync();
  }

  function legends() {
    for (const button of document.querySelectorAll(".runtime")) {
      button.addEventListener("click", () => {
        const runtime = button.dataset.runtime;
        if (!hidden.delete(runtime)) hidden.add(runtime);
        for (const other of document.querySelectorAll(".runtime")) {
          other.setAttribute("aria-pressed", String(!hidden.has(other.dataset.runtime)));
        }
        for (const { view } of views) setSignal(view, "hidden", [...hidden]);
        fillTable();
      });
    }
    for (const choice of document.querySelectorAll(".choice")) {
      const figure = choice.closest("figure").dataset.figure;
      for (const button of choice.querySelectorAll("button")) {
        button.addEventListener("click", () => {
          for (const other of choice.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
          const value = JSON.parse(button.dataset.value);
          for (const { view, name } of views) if (name === figure) setSignal(view, choice.dataset.parameter, value);
        });
      }
    }
  }

  // ---- table of all configurations
  const columns = page.columns; // [field, heading, how it is written]
  const right = new Set(["number", "time", "percent", "relative"]);
  const order = { by: "seconds", down: false };

  function compare(a, b) {
    const [x, y] = [a[order.by] ?? null, b[order.by] ?? null];
    if (x === null || y === null) return (x === null) - (y === null); // unknown stays last either way
    const result = typeof x === "string" ? x.localeCompare(y) : x - y;
    return order.down ? -result : result;
  }

  const written = {
    situation: (value) => page.situations[value],
    runtime: (value) => page.names[value] ?? value,
    time: siTime,
    interval: (value, record) => value === null || value === undefined ? "" : `${siTime(value)} to ${siTime(record.high)}`,
    percent: (value) => value === null || value === undefined ? "" : `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`,
  };

  function cell(record, [name, , kind]) {
    const value = record[name];
    const td = element("td", { className: kind === "status" ? "status" : right.has(kind) ? "number" : "" });
    if (kind === "relative" && value) {
      const bar = element("i");
      bar.style.width = `${Math.min(100, 100 / value)}%`;
      bar.style.setProperty("--bar", `var(${page.variables[record.runtime]})`);
      td.append(element("span", { className: "relative", textContent: value.toFixed(2) }), element("span", { className: "relative-bar", ariaHidden: "true" }, bar));
    } else td.textContent = (written[kind]?.(value, record) ?? value) ?? "";
    return td;
  }

  function fillTable() {
    const wanted = page.filters.map((name) => [name, document.getElementById(`filter-${name}`).value]).filter(([, value]) => value !== "");
    const words = document.getElementById("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = table("configurations", page.configurations);
    const shown = all.filter((record) => {
      if (wanted.some(([name, value]) => String(record[name]) !== value)) return false;
      if (hidden.has(record.runtime)) return false;
      const text = [page.names[record.runtime], ...columns.filter(([, , kind]) => !right.has(kind) || kind === "number").map(([name]) => record[name])]
        .join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    }).sort(compare);
    // a column that says the same in every line is left out
    const visible = columns.filter(([name, , kind]) => !wanted.some(([filtered]) => filtered === name)
      && !(kind === "status" && shown.every((record) => !record[name])));
    document.querySelector("#table tbody").replaceChildren(...shown.map((record) =>
      element("tr", {}, ...visible.map((column) => cell(record, column)))));
    for (const th of document.querySelectorAll("#table th")) th.hidden = !visible.some(([name]) => name === th.dataset.column);
    document.getElementById("filter-count").textContent = `${shown.length} of ${all.length}`;
    for (const th of document.querySelectorAll("#table th")) {
      const sorted = th.dataset.column === order.by;
      th.setAttribute("aria-sort", sorted ? (order.down ? "descending" : "ascending") : "none");
      th.querySelector("span").textContent = sorted ? (order.down ? "↓" : "↑") : "";
    }
  }

  function tableOfConfigurations() {
    const head = element("tr", {}, ...columns.map(([name, title, kind]) => {
      const button = element("button", { type: "button" }, title, element("span", { ariaHidden: "true" }));
      button.addEventListener("click", () => {
        order.down = order.by === name && !order.down;
        order.by = name;
        fillTable();
      });
      const th = element("th", { scope: "col", className: right.has(kind) ? "number" : "" }, button);
      th.dataset.column = name;
      return th;
    }));
    document.querySelector("#table thead").replaceChildren(head);
    for (const id of [...page.filters.map((name) => `filter-${name}`), "filter-text"]) document.getElementById(id).addEventListener("input", fillTable);
    fillTable();
  }

  // ---- copy
  async function copy(text) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* the old way below */ }
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  function copyButtons() {
    for (const button of document.querySelectorAll(".copy")) {
      button.addEventListener("click", async () => {
        const done = await copy(button.closest(".code").querySelector("code").textContent);
        button.textContent = done ? "Copied" : "Select and copy by hand";
        setTimeout(() => { button.textContent = "Copy"; }, 1600);
      });
    }
  }

  // ---- a number and its unit stay on one line
  function keepUnits() {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      if (texts.currentNode.parentElement.closest("script, style, pre, code, textarea, svg")) continue;
      const text = texts.currentNode.data;
      const kept = text.replace(/(\d) (?=(?:%|×|[nµm]?s|min|h|[kKMGT]i?B|[kMG]?Hz|[mk]?[WJ])(?![\p{L}\d]))/gu, "$1\u00a0");
      if (kept !== text) texts.currentNode.data = kept;
    }
  }

  // ---- paper shows what is folded, and a link opens it
  const folds = () => document.querySelectorAll(".fold");
  addEventListener("beforeprint", () => { for (const fold of folds()) fold.open = true; });

  function openNamed() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (const fold of folds()) if (named && (fold.contains(named) || fold.parentElement === named)) fold.open = true;
    named?.scrollIntoView();
  }
  addEventListener("hashchange", openNamed);

  async function start() {
    keepUnits();
    legends();
    copyButtons();
    tableOfConfigurations();
    const containers = document.querySelectorAll(".chart");
    const vegaLoaded = containers.length ? loadVega() : null;
    for (const container of containers) {
      // in some browsers what is folded has no width: it is drawn when it is unfolded
      if (container.clientWidth > 0) await draw(container, vegaLoaded);
      else container.closest(".fold").addEventListener("toggle", () => draw(container, vegaLoaded), { once: true });
      await new Promise((resume) => setTimeout(resume));
    }
    keepUnits();
    openNamed();
    document.documentElement.dataset.ready = "true";
  }
  start();
})();

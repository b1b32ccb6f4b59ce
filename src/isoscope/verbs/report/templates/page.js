"use strict";
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const mode = () => root.dataset.mode || (dark.matches ? "dark" : "light");
  const holder = document.getElementById("charts");
  const charts = holder ? JSON.parse(holder.textContent) : null;

  const fitted = (spec, width) => {
    // A chart of one view takes the room there is; one of several keeps the sizes it has.
    const single = !("hconcat" in spec || "vconcat" in spec || "concat" in spec || "facet" in spec || "repeat" in spec);
    const given = typeof spec.width === "number" || typeof spec.width === "object";
    return single && !given ? { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } } : spec;
  };

  const draw = () => {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const spec = fitted(charts.specs[Number(place.dataset.chart)]);
      window.vegaEmbed(place, spec, { config: charts.config[mode()], actions: { export: true, source: false, compiled: false, editor: false }, renderer: "svg", logLevel: 1,
        // The policy of the page forbids eval and styles that are added: expressions are interpreted, and page.css has the styles.
        ast: true, tooltip: { disableDefaultStyle: true, theme: mode() } })
        .then(() => { place.dataset.drawn = mode(); })
        .catch((error) => { place.textContent = "This chart cannot be drawn: " + error.message; });
    }
  };

  document.getElementById("mode").addEventListener("click", () => {
    root.dataset.mode = mode() === "dark" ? "light" : "dark";
    if (charts) draw();
  });
  dark.addEventListener("change", () => { if (charts && !root.dataset.mode) draw(); });
  if (charts) draw();

  const text = (cell) => cell.textContent.trim();
  const number = (words) => {
    const found = words.replace(/,/g, "").replace(/−/g, "-").match(/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i);
    return found ? Number(found[0]) : null;
  };

  const sort = (head) => {
    const table = head.closest("table");
    const body = table.tBodies[0];
    const column = [...head.parentNode.children].indexOf(head);
    const up = head.getAttribute("aria-sort") !== "ascending";
    const sign = up ? 1 : -1;
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = [...body.rows].map((row) => [text(row.cells[column]), row]);
    const numeric = keyed.every(([words]) => words === "" || words === "undefined" || number(words) !== null);
    keyed.sort(([a], [b]) => {
      if (!numeric) return sign * a.localeCompare(b, "en", { numeric: true });
      const x = number(a), y = number(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (x - y);
    });
    body.append(...keyed.map(([, row]) => row));
  };

  const quoted = (words) => (/[",\n]/.test(words) ? '"' + words.replace(/"/g, '""') + '"' : words);
  const copied = {
    csv: (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n"),
    markdown: (rows) => {
      const lines = rows.map((row) => "| " + row.map((words) => words.replace(/\|/g, "\\|")).join(" | ") + " |");
      return [lines[0], "|" + " --- |".repeat(rows[0].length), ...lines.slice(1)].join("\n");
    },
  };

  const copy = async (button) => {
    const place = button.closest(".table");
    const rows = [...place.querySelectorAll("tr")].map((row) => [...row.cells].map(text));
    const words = copied[button.dataset.copy](rows);
    const said = place.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      // A page opened from disk may have no clipboard: select a field and copy as of old.
      const field = Object.assign(document.createElement("textarea"), { value: words });
      place.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    said.textContent = "Copied.";
    place.dataset.copied = words;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(button);
    else if (button.parentNode.matches("thead th")) sort(button.parentNode);
  });
})();

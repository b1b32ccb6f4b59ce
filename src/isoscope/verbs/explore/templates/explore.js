// The page: what is chosen, what the server says of it. Words are data and become text, never markup.

import { Scatter, colourAt, shareOf } from "./scatter.js";

const element = (id) => document.getElementById(id);
const make = (name, text = "", properties = {}) => Object.assign(document.createElement(name), { textContent: text }, properties);
const state = { about: null, layer: "", correction: "none", colour: "length", asked: null, turn: 0, search: 0 };

class Refused extends Error {
  constructor(answer) {
    super(answer.error);
    this.near = answer.near || [];
  }
}

const ask = async (name, parameters = {}) => {
  let answer;
  try {
    const given = await fetch(`api/${name}?${new URLSearchParams(parameters)}`);
    answer = await given.json();
  } catch {
    throw new Refused({ error: "isoscope does not answer; is it still running?" });
  }
  if ("error" in answer) throw new Refused(answer);
  return answer;
};

const space = () => ({ layer: state.layer, correction: state.correction });
const whole = (value) => value.toLocaleString("en");
const short = (value) => {
  if (value === null) return "undefined";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-5 || size >= 1e7)) return value.toExponential(2).replaceAll("-", "−");
  return (size < 1000 ? value.toPrecision(size < 1 ? 3 : 4) : whole(Math.round(value))).replace("-", "−");
};
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

const say = (words, bad = false) => {
  element("status").textContent = words;
  element("status").classList.toggle("bad", bad);
};

const scatter = new Scatter(element("scatter"), {
  hover: (index, place) => {
    const tip = element("tip");
    tip.hidden = index < 0;
    if (index < 0) return;
    const label = state.about.shown.labels[index];
    tip.textContent = label;
    element("spoken").textContent = label;
    const left = place[0] > element("scatter").clientWidth / 2;
    tip.style.left = left ? "" : `${place[0] + 12}px`;
    tip.style.right = left ? `${element("scatter").clientWidth - place[0] + 12}px` : "";
    tip.style.top = `${Math.max(0, place[1] - 30)}px`;
  },
  choose: (index) => search({ row: state.about.shown.rows[index] }),
});

const showLegend = (colour) => {
  element("legend").hidden = !colour;
  if (!colour) return;
  const { low, high } = shareOf(colour);
  element("least").textContent = `${colour.name}: ${short(low)}`;
  element("most").textContent = short(high);
  const ramp = element("ramp");
  const context = ramp.getContext("2d");
  for (let x = 0; x < ramp.width; x += 1) {
    context.fillStyle = colourAt(x / (ramp.width - 1));
    context.fillRect(x, 0, 1, ramp.height);
  }
};

const showPoints = (points) => {
  scatter.show(points);
  showLegend(points.colour);
  state.legend = points.colour;
  const [first, second] = points.shares.map(percent);
  element("axes").textContent = `→ ${first} of the variance, ↑ ${second} · ${whole(points.x.length)} of ${whole(state.about.rows)} drawn`;
  element("scatter").setAttribute("aria-label", `Scatter plot of ${points.x.length} of ${state.about.rows} rows: ${points.layer}, correction ${points.correction}. First two principal components, ${first} and ${second} of the variance.`);
};

const HINTS = { lower: "↓ lower is more even", higher: "↑ higher is more even", neither: "" };

const showMeasures = (measures) => {
  element("measured").textContent = measures.correction === "none" ? "" : measures.correction;
  element("measured-on").textContent = measures.protocol;
  element("measures").tBodies[0].replaceChildren(...measures.rows.map((one) => {
    const row = make("tr");
    const head = make("th", one.measure, { scope: "row" });
    head.append(make("small", [HINTS[one.direction], one.note].filter(Boolean).join("; ")));
    row.append(head, make("td", short(one.before)), make("td", measures.correction === "none" ? "" : short(one.after)));
    return row;
  }));
  element("meanings").replaceChildren(...measures.rows.flatMap((one) => [make("dt", one.measure), make("dd", one.summary)]));
  element("measures").dataset.shown = `${measures.layer}|${measures.correction}`;
};

const listed = (place, found, others) => {
  const known = new Set(others.map((one) => one.row));
  const lines = found.map((one) => {
    const line = make("li");
    const button = make("button", "", { type: "button" });
    button.append(make("span", one.label, { className: known.has(one.row) ? "" : "only" }), make("span", one.cosine.toFixed(3).replace("-", "−"), { className: "cosine" }));
    if (one.context) button.append(make("span", one.context, { className: "around" }));
    button.addEventListener("click", () => search({ row: one.row }));
    line.append(button);
    return line;
  });
  place.replaceChildren(...(lines.length ? lines : [make("li", "none: this vector has no direction here")]));
};

const step = (words, found, to) => {
  const button = make("button", words, { type: "button", disabled: to < 0 || to >= found.occurrences });
  button.addEventListener("click", () => search({ word: found.word, occurrence: to }));
  return button;
};

const showNeighbours = (found) => {
  const corrected = found.correction !== "none";
  const place = element("found");
  place.classList.remove("bad");
  place.replaceChildren(make("strong", found.asked.label));
  if (found.occurrences > 1) {
    place.append(` ${whole(found.occurrence + 1)} of ${whole(found.occurrences)} `, step("previous", found, found.occurrence - 1), step("next", found, found.occurrence + 1));
  }
  if (found.asked.context) place.append(make("br"), `“… ${found.asked.context} …”`);
  if (corrected) place.append(make("br"), `${found.kept} of ${found.before.length} neighbours stay.`);
  element("near").hidden = true;
  element("lists").hidden = false;
  element("after-title").textContent = corrected ? found.correction : "";
  element("after-title").parentElement.hidden = !corrected;
  listed(element("before"), found.before, found.after);
  listed(element("after"), found.after, found.before);
  element("lists").dataset.shown = `${found.layer}|${found.correction}|${found.asked.row}`;
  const kept = new Set(found.after.map((one) => one.row));
  scatter.mark({ asked: found.asked, after: found.after, lost: found.before.filter((one) => !kept.has(one.row)) });
};

const showMissing = (error) => {
  element("lists").hidden = true;
  element("found").classList.add("bad");
  element("found").textContent = error.message;
  element("near").hidden = error.near.length === 0;
  element("near").replaceChildren(...error.near.map((word) => {
    const button = make("button", word, { type: "button" });
    button.addEventListener("click", () => search({ word }));
    return button;
  }));
};

// An answer that comes after the next question is dropped.
const search = async (asked) => {
  state.asked = asked;
  const turn = (state.search += 1);
  try {
    const found = await ask("neighbours", { ...space(), ...asked });
    if (turn !== state.search) return;
    if ("word" in asked) element("search").value = found.word;
    showNeighbours(found);
  } catch (error) {
    if (turn !== state.search) return;
    state.asked = null;
    scatter.mark(null);
    showMissing(error);
  }
};

const refresh = async () => {
  const turn = (state.turn += 1);
  const waiting = setTimeout(() => { if (turn === state.turn) say(`Preparing ${state.layer}, ${state.correction} …`); }, 150);
  try {
    const points = await ask("points", { ...space(), colour: state.colour });
    if (turn !== state.turn) return;
    showPoints(points);
    const work = [ask("measures", space()).then((measures) => { if (turn === state.turn) showMeasures(measures); })];
    if (state.asked) work.push(search(state.asked));
    await Promise.all(work);
    if (turn === state.turn) say(state.about.corrections.find((one) => one.name === state.correction).summary);
  } catch (error) {
    if (turn === state.turn) say(error.message, true);
  } finally {
    clearTimeout(waiting);
  }
};

const choose = (name, value) => {
  state[name] = value;
  refresh();
};

const start = async () => {
  try {
    state.about = await ask("about");
  } catch (error) {
    say(error.message, true);
    return;
  }
  const { about } = state;
  state.layer = about.layer;
  document.title = `${about.name} · isoscope explore`;
  element("name").textContent = about.name;
  element("version").textContent = about.version;
  element("protocol").textContent = about.protocol;
  element("layer").replaceChildren(...about.layers.map(({ name, width }) => make("option", `${name} (${width})`, { value: name, selected: name === about.layer })));
  element("layer").parentElement.hidden = about.layers.length === 1;
  element("layer").addEventListener("change", (event) => choose("layer", event.target.value));
  element("colour").replaceChildren(...about.colours.map((name) => make("option", name, { value: name, selected: name === state.colour })));
  element("colour").addEventListener("change", (event) => choose("colour", event.target.value));
  element("corrections").replaceChildren(...about.corrections.map(({ name, summary }) => {
    const label = make("label", "", { title: summary });
    const input = make("input", "", { type: "radio", name: "correction", value: name, checked: name === state.correction });
    input.addEventListener("change", () => choose("correction", name));
    label.append(input, make("span", name));
    return label;
  }));
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search({ word: element("search").value });
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => showLegend(state.legend));
  await refresh();
};

start();

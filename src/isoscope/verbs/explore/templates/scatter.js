// Dots on a canvas: the same rows in every space, so that they can move from one to the other.

const STOPS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];
const DURATION = 350;
const REACH = 14;
const EDGE = 0.06;

const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// Each end of viridis is lost on one kind of paper: dark pages leave out the dark end, light ones the light end.
export const colourAt = (share) => {
  const place = (dark.matches ? 0.28 + 0.72 * share : 0.88 * share) * (STOPS.length - 1);
  const low = Math.min(Math.floor(place), STOPS.length - 2);
  const mixed = STOPS[low].map((from, index) => Math.round(from + (STOPS[low + 1][index] - from) * (place - low)));
  return `rgb(${mixed.join(",")})`;
};

export const shareOf = (colour) => {
  // A few extremes would leave one colour for all others: the outer 2 % on either side share the ends.
  const scaled = colour.values.map((value) => (colour.logarithmic ? Math.log(Math.max(value, 1e-30)) : value));
  const sorted = [...scaled].sort((a, b) => a - b);
  const low = sorted[Math.floor(0.02 * (sorted.length - 1))];
  const high = sorted[Math.ceil(0.98 * (sorted.length - 1))];
  const back = (value) => (colour.logarithmic ? Math.exp(value) : value);
  const shares = scaled.map((value) => (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5));
  return { shares, low: back(low), high: back(high) };
};

export class Scatter {
  constructor(canvas, { hover, choose }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.hover = hover;
    this.choose = choose;
    this.labels = [];
    this.points = null;
    this.marks = null;
    this.current = -1;
    this.moved = 1;
    canvas.addEventListener("pointermove", (event) => this.point(this.at(event)));
    canvas.addEventListener("pointerleave", () => this.point(-1));
    canvas.addEventListener("blur", () => this.point(-1));
    canvas.addEventListener("click", (event) => {
      const found = this.at(event);
      if (found >= 0) this.choose(found);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // A new space: dots move there from where they were, each space filling the frame.
  show(points) {
    const spread = this.points ? this.placed() : null;
    this.points = points;
    this.frame = this.framed(points);
    this.target = this.unit(points.x, points.y);
    this.source = spread || this.target;
    this.shares = points.colour ? shareOf(points.colour).shares : null;
    this.marks = null;
    this.begun = null;
    this.moved = spread && !still.matches ? 0 : 1;
    this.canvas.dataset.points = String(points.x.length);
    delete this.canvas.dataset.settled;
    requestAnimationFrame((now) => this.step(now));
  }

  step(now) {
    this.begun ??= now;
    if (this.moved < 1) this.moved = Math.min(1, (now - this.begun) / DURATION);
    this.draw();
    if (this.moved < 1) requestAnimationFrame((next) => this.step(next));
    else this.canvas.dataset.settled = `${this.points.layer}|${this.points.correction}`;
  }

  // Rows that a search found, in the coordinates of the space that is shown.
  mark(marks) {
    this.marks = marks;
    if (this.points) this.draw();
  }

  framed({ x, y, origin }) {
    const bounds = (values, zero) => {
      let low = zero, high = zero;
      for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
      return [low, high];
    };
    const [left, right] = bounds(x, origin[0]);
    const [bottom, top] = bounds(y, origin[1]);
    return { x: (left + right) / 2, y: (bottom + top) / 2, width: right - left || 1, height: top - bottom || 1 };
  }

  // Places around the middle of the frame, in units of the data.
  unit(x, y) {
    const { frame } = this;
    const size = Math.max(frame.width, frame.height);
    return x.map((value, index) => [(value - frame.x) / size, (y[index] - frame.y) / size]);
  }

  get scale() {
    const { frame, canvas } = this;
    const size = Math.max(frame.width, frame.height);
    const room = 1 - 2 * EDGE;
    return room * Math.min((canvas.clientWidth * size) / frame.width, (canvas.clientHeight * size) / frame.height);
  }

  placed() {
    const eased = this.moved * this.moved * (3 - 2 * this.moved);
    return this.target.map(([x, y], index) => {
      const [fromX, fromY] = this.source[index];
      return [fromX + (x - fromX) * eased, fromY + (y - fromY) * eased];
    });
  }

  onScreen([x, y]) {
    return [this.canvas.clientWidth / 2 + x * this.scale, this.canvas.clientHeight / 2 - y * this.scale];
  }

  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  draw() {
    const { canvas, context } = this;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!this.points) return;
    const scale = this.scale;
    const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    this.screen = this.placed().map(([x, y]) => [middle[0] + x * scale, middle[1] - y * scale]);
    const radius = canvas.clientWidth < 500 ? 1.6 : 2.1;
    context.globalAlpha = this.marks ? 0.3 : 0.7;
    context.fillStyle = this.colour("--dot");
    this.screen.forEach(([x, y], index) => {
      if (this.shares) context.fillStyle = colourAt(this.shares[index]);
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
    this.cross();
    if (this.marks && this.moved === 1) this.drawMarks();
    if (this.current >= 0) this.ring(this.screen[this.current], this.colour("--ink"));
  }

  cross() {
    const { context } = this;
    const [[x, y]] = this.unit([this.points.origin[0]], [this.points.origin[1]]).map((place) => this.onScreen(place));
    context.beginPath();
    context.moveTo(x - 8, y);
    context.lineTo(x + 8, y);
    context.moveTo(x, y - 8);
    context.lineTo(x, y + 8);
    for (const [colour, width] of [["--paper", 5], ["--ink", 2]]) {
      context.strokeStyle = this.colour(colour);
      context.lineWidth = width;
      context.stroke();
    }
  }

  // Neighbours after the correction are discs, those that were lost are squares: not colour alone.
  drawMarks() {
    const { context } = this;
    const [newer, older, ink] = ["--mark", "--old", "--ink"].map((name) => this.colour(name));
    const taken = [];
    // Rows that are not among the dots may lie beyond the frame: they stand at its edge.
    const within = (value, size) => Math.min(size - 7, Math.max(7, value));
    const place = (mark) => {
      const [x, y] = this.onScreen(this.unit([mark.x], [mark.y])[0]);
      return [within(x, this.canvas.clientWidth), within(y, this.canvas.clientHeight)];
    };
    for (const mark of this.marks.lost) {
      const [x, y] = place(mark);
      context.fillStyle = older;
      context.fillRect(x - 3.5, y - 3.5, 7, 7);
    }
    for (const mark of this.marks.after) {
      const [x, y] = place(mark);
      context.fillStyle = newer;
      context.beginPath();
      context.arc(x, y, 4, 0, 2 * Math.PI);
      context.fill();
    }
    const asked = place(this.marks.asked);
    this.ring(asked, ink);
    this.write(this.marks.asked.label, asked, ink, taken, "600 14px");
    for (const mark of this.marks.after) this.write(mark.label, place(mark), ink, taken, "12px");
  }

  ring([x, y], colour) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.stroke();
  }

  // A word beside its mark, where it covers no other word and fits into the frame.
  write(label, [x, y], colour, taken, font) {
    const { context, canvas } = this;
    const words = label.length > 28 ? label.slice(0, 27) + "…" : label;
    context.font = `${font} system-ui, "DejaVu Sans", sans-serif`;
    const width = context.measureText(words).width;
    const left = x + 9 + width > canvas.clientWidth ? x - 9 - width : x + 9;
    const box = [left, y - 8, left + width, y + 8];
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
    taken.push(box);
    context.lineWidth = 3;
    context.strokeStyle = this.colour("--paper");
    context.strokeText(words, left, y + 4);
    context.fillStyle = colour;
    context.fillText(words, left, y + 4);
  }

  at(event) {
    if (!this.screen) return -1;
    const bounds = this.canvas.getBoundingClientRect();
    return this.nearest(event.clientX - bounds.left, event.clientY - bounds.top, REACH, () => true);
  }

  nearest(x, y, reach, allowed) {
    let found = -1, least = reach * reach;
    this.screen.forEach(([px, py], index) => {
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least && allowed(px - x, py - y, index)) { least = distance; found = index; }
    });
    return found;
  }

  point(index) {
    if (index === this.current) return;
    this.current = index;
    if (this.points) this.draw();
    this.hover(index, index >= 0 ? this.screen[index] : null);
  }

  key(event) {
    if (!this.screen) return;
    if (event.key === "Enter" && this.current >= 0) { this.choose(this.current); return; }
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    if (this.current < 0) {
      this.point(this.nearest(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2, Infinity, () => true));
      return;
    }
    const [x, y] = this.screen[this.current];
    // The next dot within 45 degrees of the way.
    const ahead = (dx, dy, index) => index !== this.current && dx * way[0] + dy * way[1] > Math.abs(dx * way[1] + dy * way[0]);
    const next = this.nearest(x, y, Infinity, ahead);
    if (next >= 0) this.point(next);
  }
}

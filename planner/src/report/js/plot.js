// Curves, points and bars: the twin of picture/plot.rs and picture/bars.rs.
const LEFT = 62, RIGHT = 14, TOP = 14, BOTTOM = 40;

function drawPlot(plot, width, height) {
  const scene = new Scene(plot.title, width);
  const legend = plotLegend(scene, plot, width);
  scene.height = height + legend;
  const points = plot.series.flatMap((s) => s.points);
  const here = plot.here ?? null;
  const values = (i) => points.map((p) => (i === 0 ? p.x : p.y)).concat(here ? [here[i]] : []);
  const x = makeScale(plot.x, values(0), LEFT, width - RIGHT);
  const y = makeScale(plot.y, values(1), legend + height - BOTTOM, legend + TOP);
  if (!x || !y) {
    scene.text([width / 2, legend + height / 2], "middle", "t2", "no point is feasible");
    return scene;
  }
  drawAxes(scene, plot, x, y);
  let marks = 0;
  for (const mark of plot.marks ?? []) marks = drawMark(scene, mark, x, y, marks);
  for (const series of plot.series) drawSeries(scene, plot, series, x, y);
  if (here) scene.dot([x.at(here[0]), y.at(here[1])], 7, "here", "this deployment");
  return scene;
}

function plotLegend(scene, plot, width) {
  const named = plot.series.filter((s) => s.name !== "");
  let x = LEFT, y = 14;
  for (const series of named) {
    const wide = 26 + 6.6 * [...series.name].length;
    if (x + wide > width && x > LEFT) [x, y] = [LEFT, y + 16];
    scene.rect([x, y - 9, 10, 10], `f${series.colour}`);
    scene.text([x + 14, y], "start", "t", series.name);
    x += wide;
  }
  return named.length === 0 ? 0 : y + 4;
}

function makeScale(axis, values, from, to) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (axis.log && !(v > 0))) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return null;
  if (axis.log) {
    [low, high] = high / low < 1.5 ? [low / 2, high * 2] : [low / 1.08, high * 1.08];
  } else {
    if (axis.fromZero) low = Math.min(low, 0);
    const room = high > low ? (high - low) * 0.06 : 1;
    [low, high] = [axis.fromZero ? low : low - room, high + room];
  }
  const at = (value) => {
    const part = axis.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return from + (to - from) * part;
  };
  return { low, high, log: axis.log, from, to, at, has: (v) => v >= low && v <= high };
}

function drawAxes(scene, plot, x, y) {
  for (const tick of ticks(plot.x, x)) {
    const at = x.at(tick);
    scene.line([at, y.from], [at, y.to], "grid");
    scene.text([at, y.from + 14], "middle", "t2 small", show(plot.x.unit, tick));
  }
  for (const tick of ticks(plot.y, y)) {
    const at = y.at(tick);
    scene.line([x.from, at], [x.to, at], "grid");
    scene.text([x.from - 5, at + 3.5], "end", "t2 small", show(plot.y.unit, tick));
  }
  scene.line([x.from, y.from], [x.to, y.from], "axis");
  scene.line([x.from, y.from], [x.from, y.to], "axis");
  scene.text([(x.from + x.to) / 2, y.from + 32], "middle", "t2", plot.x.label);
  scene.text([x.from + 4, y.to + 2], "start", "t2 small", plot.y.label);
}

function ticks(axis, scale) {
  if (!scale.log) return linearTicks(scale);
  const base = axis.unit === "count" ? 2 : 10;
  const first = Math.ceil(Math.log(scale.low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(scale.high) / Math.log(base) + 1e-9);
  const powers = last - first + 1;
  const all = [];
  if (base === 10 && powers < 3) {
    for (let power = 0; power <= powers + 1; power++) {
      for (const digit of [1, 2, 5]) {
        const value = digit * base ** (first - 1 + power);
        if (scale.has(value)) all.push(value);
      }
    }
    return all;
  }
  const step = Math.max(Math.ceil(powers / 8), 1);
  const n = Math.max(Math.floor((last - first) / step), 0);
  for (let i = 0; i <= n; i++) all.push(base ** (first + step * i));
  return all.filter((v) => scale.has(v));
}

function linearTicks(scale) {
  const rough = (scale.high - scale.low) / 6;
  const power = 10 ** Math.floor(Math.log(rough) / Math.log(10) + 1e-9);
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? power * 10;
  const first = Math.ceil(scale.low / step - 1e-9);
  const n = Math.max(Math.floor(scale.high / step + 1e-9) - first, 0);
  return Array.from({ length: n + 1 }, (_, i) => (first + i) * step);
}

function drawMark(scene, mark, x, y, marks) {
  const scale = mark.vertical ? x : y;
  if (!Number.isFinite(mark.at) || !scale.has(mark.at)) return marks;
  const at = scale.at(mark.at);
  if (!mark.vertical) {
    scene.line([x.from, at], [x.to, at], "limit");
    scene.text([x.to - 4, at - 4], "end", "t small", mark.text);
    return marks;
  }
  scene.line([at, y.from], [at, y.to], "mark");
  const [anchor, dx] = at > (x.from + x.to) / 2 ? ["end", -4] : ["start", 4];
  scene.text([at + dx, y.to + 16 + 13 * (marks % 4)], anchor, "markt small", mark.text);
  return marks + 1;
}

function drawSeries(scene, plot, series, x, y) {
  const shown = series.points.filter((p) => x.has(p.x) && y.has(p.y));
  if (series.joined) scene.curve(shown.map((p) => [x.at(p.x), y.at(p.y)]), `line s${series.colour}`);
  if (!series.dots) return;
  const taken = new Set();
  for (const p of shown) {
    const at = [x.at(p.x), y.at(p.y)];
    const cell = `${Math.floor(at[0] / 2 + 0.5)},${Math.floor(at[1] / 2 + 0.5)}`;
    if (taken.has(cell)) continue;
    taken.add(cell);
    const [r, cls] = p.hollow ? [3.4, `hollow s${series.colour}`]
      : p.shade !== undefined ? [2.4, `e${p.shade}`] : [3.4, `f${series.colour}`];
    scene.dot(at, r, cls, `${show(plot.x.unit, p.x)}, ${show(plot.y.unit, p.y)}`);
  }
}

function tornado(title, swings, width) {
  const scene = new Scene(title, width);
  const size = (s) => Math.max(Math.abs(s.doubled), Math.abs(s.halved));
  const rows = [...swings].sort((a, b) => size(b) - size(a));
  const widest = rows.map(size).reduce((a, b) => Math.max(a, b), 0);
  const label = width < 500 ? 96 : 150;
  const middle = label + (width - label) / 2;
  const scale = ((width - label) / 2 - 52) / (widest > 0 ? widest : 1);
  scene.text([middle - 6, 14], "end", "t2 small", "shorter");
  scene.text([middle + 6, 14], "start", "t2 small", "longer");
  rows.forEach((row, i) => {
    const y = 22 + 26 * i;
    scene.text([label - 8, y + 13], "end", "t", row.name);
    swingBar(scene, "doubled", row.doubled, middle, scale, y);
    swingBar(scene, "halved", row.halved, middle, scale, y);
  });
  scene.height = 22 + 26 * rows.length + 4;
  scene.line([middle, 18], [middle, scene.height - 4], "axis");
  return scene;
}

function swingBar(scene, turn, change, middle, scale, y) {
  const percent = change * 100;
  if (Math.abs(percent) < 0.0005) return;
  const long = Math.abs(change) * scale;
  const text = `${change < 0 ? "−" : "+"}${three(Math.abs(percent))} %`;
  const note = `${turn}: ${text}`;
  if (change < 0) {
    scene.rect([middle - long, y, long, 18], "better", note);
    scene.text([middle - long - 4, y + 13], "end", "t small", text);
  } else {
    scene.rect([middle, y, long, 18], "worse", note);
    scene.text([middle + long + 4, y + 13], "start", "t small", text);
  }
}

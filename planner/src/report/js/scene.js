// Shapes and numbers of pictures: the twin of picture/mod.rs and picture/text.rs.
class Scene {
  constructor(title, width) {
    this.title = title;
    this.width = width;
    this.height = 0;
    this.shapes = [];
  }
  rect([x, y, w, h], cls, note = "") {
    this.shapes.push(`<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" class="${cls}"${closed("rect", note)}`);
  }
  line([x1, y1], [x2, y2], cls) {
    this.shapes.push(`<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" class="${cls}"/>`);
  }
  curve(points, cls) {
    this.shapes.push(`<polyline points="${points.map(([x, y]) => `${px(x)},${px(y)}`).join(" ")}" class="${cls}"/>`);
  }
  arc(from, [a, b], to, cls) {
    const at = ([x, y]) => `${px(x)} ${px(y)}`;
    this.shapes.push(`<path d="M ${at(from)} C ${at(a)}, ${at(b)}, ${at(to)}" class="${cls}"/>`);
  }
  dot([x, y], r, cls, note) {
    this.shapes.push(`<circle cx="${px(x)}" cy="${px(y)}" r="${px(r)}" class="${cls}"${closed("circle", note)}`);
  }
  text([x, y], anchor, cls, text) {
    this.shapes.push(`<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}" class="${cls}">${escaped(text)}</text>`);
  }
  body() {
    return this.shapes.join("");
  }
}

function closed(tag, note) {
  return note === "" ? "/>" : `><title>${escaped(note)}</title></${tag}>`;
}
function px(x) {
  return String(Math.floor(x * 10 + 0.5) / 10 + 0);
}
function escaped(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function show(unit, x) {
  switch (unit) {
    case "seconds": return time(x);
    case "bytes": return bytes(x);
    case "count": return count(x);
    case "percent": return `${three(x * 100)} %`;
    default: return three(x);
  }
}
function three(x) {
  const size = Math.abs(x);
  const at = [100, 10, 1, 0.1, 0.01, 0.001].findIndex((least) => size >= least);
  const digits = at < 0 ? 6 : at;
  const scale = [1, 10, 100, 1e3, 1e4, 1e5, 1e6][digits];
  const text = (Math.floor(x * scale + 0.5) / scale + 0).toFixed(digits);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}
function time(s) {
  return scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
}
function bytes(b) {
  return scaled(b, [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
}
function scaled(x, units) {
  if (x === 0) return "0";
  const [size, name] = units.find(([size]) => Math.abs(x) >= size * 0.9995) ?? units[units.length - 1];
  return `${three(x / size)} ${name}`;
}
function count(n) {
  const ki = 1024;
  if (n >= ki * ki && n % (ki * ki) === 0) return `${n / (ki * ki)}Mi`;
  if (n >= ki && n % ki === 0 && n < ki * ki) return `${n / ki}Ki`;
  if (n < 1e5) return n === Math.floor(n) ? String(n) : three(n);
  const [size, name] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([size]) => n >= size * 0.9995) ?? [1e3, "k"];
  return `${three(n / size)} ${name}`;
}

// Usage: node points.js SCRIPT CASES. Prints the figures of each case, numbers as text.
const fs = require("fs");
const [script, cases] = process.argv.slice(2).map((path) => fs.readFileSync(path, "utf8"));
const page = new Function(`${script}; return { DATA, METHODS, stageRows };`)();
const text = (figures) => Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]));
const results = JSON.parse(cases).map(({ method, x }) => {
  const f = page.METHODS[method];
  const step = f.step(x);
  const bounds = page.stageRows(step, page.DATA.methods[method].stages).map((row) => [row.id, row.bound]);
  return { step: text(step), score: text(f.score(x)), roofline: text(f.roofline(x)), bounds };
});
console.log(JSON.stringify(results));

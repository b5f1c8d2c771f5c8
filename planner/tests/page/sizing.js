// Usage: node sizing.js SCRIPT CASES. Prints what sizing gives for each case, numbers as text.
const fs = require("fs");
const [script, cases] = process.argv.slice(2).map((path) => fs.readFileSync(path, "utf8"));
const page = new Function(`${script}; return { subject, sizeService };`)();
const text = (figures) => Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]));
console.log(JSON.stringify(JSON.parse(cases).map(({ method, x, users, goal }) => text(page.sizeService(page.subject(x, method), users, goal)))));

// Usage: node pictures.js SCRIPT CASES. Prints the shapes and the height of each picture of each case.
const fs = require("fs");
const [script, cases] = process.argv.slice(2).map((path) => fs.readFileSync(path, "utf8"));
const page = new Function(`${script}; return { VIEWS, subject };`)();
const results = JSON.parse(cases).map(({ method, x, width, views }) => {
  const of = page.subject(x, method);
  return Object.fromEntries(views.map((view) => {
    const scene = page.VIEWS[view](of, width);
    return [view, { body: scene.body(), height: scene.height }];
  }));
});
console.log(JSON.stringify(results));

// Usage: node browser.js BROWSER PAGE STEPS. Opens the page, takes the steps, prints what each gave, and what went wrong.
// A step is one of
//   {"size": [WIDTH, HEIGHT, MOBILE]}    the window
//   {"set": {ID: VALUE, ...}}            types numbers, chooses options by their text, ticks boxes
//   {"click": SELECTOR}, {"keys": [KEY, ...]}, {"evaluate": EXPRESSION}, {"screenshot": PATH}
// Chromium is driven over its debugging pipe: file descriptors 3 and 4, messages that end in a zero byte.
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const [browser, page, stepsFile] = process.argv.slice(2);
const steps = JSON.parse(fs.readFileSync(stepsFile, "utf8"));
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--disable-background-networking", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
const chromium = spawn(browser, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [to, from] = [chromium.stdio[3], chromium.stdio[4]];
const waiting = new Map();
const errors = [];
const requests = [];
let last = 0, rest = "", session;

from.setEncoding("utf8");
from.on("data", (text) => {
  const parts = (rest + text).split("\0");
  rest = parts.pop();
  for (const part of parts) receive(JSON.parse(part));
});
function receive({ id, result, error, method, params }) {
  if (id) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    return error ? reject(new Error(error.message)) : resolve(result);
  }
  if (method === "Runtime.exceptionThrown") errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) errors.push(JSON.stringify(params.args));
  if (method === "Log.entryAdded" && params.entry.level === "error") errors.push(params.entry.text);
  if (method === "Network.requestWillBeSent") requests.push(params.request.url);
}
function send(method, params = {}) {
  const id = ++last;
  to.write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}
async function evaluate(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  return result.value;
}
const CONTROLS = `(values) => {
  for (const [id, value] of Object.entries(values)) {
    const control = document.getElementById(id);
    if (control.type === "checkbox") control.checked = value;
    else if (control.tagName === "SELECT") {
      control.selectedIndex = [...control.options].findIndex((o) => o.text === value);
      if (control.selectedIndex < 0) throw new Error(id + " has no " + value);
    }
    else control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.dispatchEvent(new Event("change", { bubbles: true }));
  }
}`;
async function take(step) {
  if (step.size) {
    const [width, height, mobile] = step.size;
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
  } else if (step.set) {
    await evaluate(`(${CONTROLS})(${JSON.stringify(step.set)})`);
  } else if (step.click) {
    await evaluate(`document.querySelector(${JSON.stringify(step.click)}).click()`);
  } else if (step.keys) {
    for (const key of step.keys) {
      const text = { Enter: "\r", " ": " " }[key];
      const code = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40, ArrowUp: 38 }[key];
      await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, text, windowsVirtualKeyCode: code });
      await send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
    }
  } else if (step.screenshot) {
    const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: Boolean(step.whole) });
    fs.writeFileSync(step.screenshot, Buffer.from(data, "base64"));
  } else {
    return evaluate(step.evaluate);
  }
  return null;
}
(async () => {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
  await send("Page.navigate", { url: `file://${page}` });
  for (let wait = 0; wait < 100 && (await evaluate("document.readyState")) !== "complete"; wait++) await new Promise((r) => setTimeout(r, 50));
  const results = [];
  for (const step of steps) results.push(await take(step));
  console.log(JSON.stringify({ results, errors, requests }));
})().catch((e) => {
  console.error(e);
  process.exitCode = 1;
}).finally(async () => {
  // Its profile can go once all of it has ended.
  const ended = new Promise((resolve) => chromium.once("exit", resolve));
  session = undefined;
  send("Browser.close").catch(() => {});
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 3000))]);
  chromium.kill("SIGKILL"); // if it did not
  fs.rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exit();
});

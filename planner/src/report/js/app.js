// The controls and what follows them. Every control names the input it sets; nothing is remembered beside `x`.
(() => {
  const byId = (id) => document.getElementById(id);
  const numbers = [...document.querySelectorAll("input[data-input]")];
  const choices = [...document.querySelectorAll("select[data-sets]")];
  let x = { ...DATA.start };
  let method = 0;
  /** Pictures that a search fills, and how long they wait for the reader to stop turning. */
  const SLOW = new Set(["pareto", "joint"]);
  const METRIC = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const visible = new Set();
  const stale = new Set();
  const open = new Set();
  let timer = 0, frame = 0;

  /** Writes `x` into the controls. */
  function write() {
    for (const input of numbers) {
      input.value = Number((x[input.dataset.input] / Number(input.dataset.scale)).toPrecision(12));
    }
    for (const select of choices) {
      const sets = (option) => Object.entries(JSON.parse(option.value)).every(([name, value]) => x[name] === value);
      select.selectedIndex = Math.max([...select.options].findIndex(sets), 0);
    }
  }

  /** Reads the controls; false if one holds what no model or machine has. */
  function read() {
    const next = { ...x };
    for (const input of numbers) {
      if (!input.checkValidity() || input.value === "") return refuse(`${label(input)}: ${input.validationMessage || "a number"}`);
      next[input.dataset.input] = Number(input.value) * Number(input.dataset.scale);
    }
    for (const select of choices) Object.assign(next, JSON.parse(select.value));
    const whole = ["d", "f", "Hq", "Hk", "h", "L", "cp", "tp", "pp", "dp", "ep", "b", "S"];
    const broken = whole.find((name) => !Number.isInteger(next[name]));
    if (broken) return refuse(`${label(byId(`k-${broken}`))}: a whole number`);
    if (next.Hq % next.Hk !== 0) return refuse("Query heads: a multiple of the KV heads");
    x = next;
    return refuse("");
  }
  function label(input) {
    return input.closest("label").querySelector(".name").textContent;
  }
  function refuse(text) {
    byId("refused").textContent = text;
    return text === "";
  }

  /** Figures follow at once, what is drawn once a frame, searches when the reader stops. */
  function changed() {
    figures(subject(x, method));
    if (frame === 0) frame = requestAnimationFrame(redraw);
    clearTimeout(timer);
    timer = setTimeout(drawSlow, 200);
  }
  function redraw() {
    frame = 0;
    const of = subject(x, method);
    stages(of);
    for (const canvas of document.querySelectorAll(".canvas")) {
      stale.add(canvas.dataset.view);
      if (visible.has(canvas.dataset.view) && !SLOW.has(canvas.dataset.view)) draw(canvas, of);
      else canvas.classList.add("waiting");
    }
  }
  function drawSlow() {
    sizing();
    for (const view of SLOW) {
      if (visible.has(view) && stale.has(view)) draw(document.querySelector(`.canvas[data-view=${view}]`), subject(x, method));
    }
  }
  function draw(canvas, of) {
    const view = canvas.dataset.view;
    const width = Math.max(Math.floor(canvas.clientWidth), 280);
    let scene;
    if (view === "pareto") {
      const points = explore(of);
      scene = drawPareto(of, points, width);
      best(of, points);
    } else {
      scene = VIEWS[view === "sip" && byId("k-rows").checked ? "sip-rows" : view](of, width);
    }
    canvas.innerHTML = `<svg class="picture" viewBox="0 0 ${px(scene.width)} ${px(scene.height)}" role="img" aria-label="${escaped(scene.title)}">${scene.body()}</svg>`;
    canvas.classList.remove("waiting");
    stale.delete(view);
  }

  /** What serves so many users, each with the context of the knobs. */
  function sizing() {
    const [users, goal] = [byId("z-users"), byId("z-goal")];
    if (![users, goal].every((input) => input.checkValidity() && input.value !== "")) return;
    const found = sizeService(subject(x, method), Number(users.value), Number(goal.value) / 1000);
    const out = byId("size");
    out.dataset.pes = found.total_pes ?? "";
    if (found.total_pes === undefined) {
      out.textContent = found.fastest_s === null ? "No deployment of the grid fits this model."
        : `No deployment is that fast: the fastest that fits takes ${time(found.fastest_s)} a token.`;
      return;
    }
    const t = found.topology;
    const shape = t ? `CP ${t.cp}, TP ${t.tp}, PP ${t.pp}` : "one PE for time, as many as its bytes need";
    out.textContent = `${found.total_pes} PEs: ${found.replicas} replicas (${shape}) of ${found.users} users each, a token in ` +
      `${time(found.tpot_s)}. What makes it so large: ${found.binding}.`;
  }

  function figures({ s }) {
    const rows = stageRows(s, DATA.methods[method].stages);
    // A stage of a layer counts once a layer, the others once a step.
    const total = (row) => row.visible_s * (row.part === "step" ? 1 : x.L);
    const worst = rows.reduce((a, b) => (total(b) > total(a) ? b : a));
    const whole = rows.reduce((sum, row) => sum + total(row), 0);
    const shown = [
      ["latency_s", x.decode ? "A token (TPOT)" : "First token (TTFT)", time(s.latency_s), ""],
      ["throughput_tok_per_s", "Throughput", scaled(s.throughput_tok_per_s, METRIC), "tokens/s"],
      ["used_bytes", "Held by a PE", bytes(s.used_bytes), `of ${bytes(s.budget_bytes)}`],
      ["total_pes", "PEs", String(s.total_pes), `${s.cubes_used} cubes, ${s.sips_used} SIPs`],
      ["efficiency", "Efficiency", `${three(s.efficiency * 100)} %`, ""],
    ];
    byId("figures").replaceChildren(...shown.map(([key, name, text, rest]) => {
      const box = document.createElement("div");
      box.innerHTML = `<dt>${escaped(name)}</dt><dd data-figure="${key}" data-value="${s[key]}">${escaped(text)} <small>${escaped(rest)}</small></dd>`;
      return box;
    }));
    const fits = !s.over_budget, placed = s.placement_valid;
    const verdict = fits && placed ? '<span class="good">It fits.</span>'
      : !fits ? `<span class="bad">It does not fit:</span> ${bytes(s.used_bytes - s.budget_bytes)} too much on each PE.`
      : `<span class="bad">No cube has so many PEs:</span> ${s.intra_cube_pes} ranks are placed on ${x.pes_per_cube}.`;
    byId("verdict").innerHTML = `${verdict} The longest stage is ${worst.id} (${escaped(worst.what)}), ${three((total(worst) / whole) * 100)} % of all, and waits for ${worst.bound}.`;
  }

  function stages({ s, f }) {
    const rows = stageRows(s, DATA.methods[method].stages);
    const values = open.size > 0 ? { ...f.explain(x), ...x } : {};
    byId("stages").tBodies[0].innerHTML = rows.map((r) => {
      const cells = [time(r.compute_s), time(r.memory_s), time(r.comm_s), time(r.visible_s), scaled(r.flops, METRIC), bytes(r.mem_bytes), bytes(r.comm_bytes)];
      const isOpen = open.has(r.id);
      const row = `<tr><td><button type="button" aria-expanded="${isOpen}" data-stage="${r.id}">${r.id}</button></td><td>${escaped(r.what)}</td>` +
        `<td><span class="dot ${r.bound}"></span>${r.bound}</td>${cells.map((c) => `<td>${c}</td>`).join("")}</tr>`;
      return isOpen ? `${row}<tr class="formulas"><td colspan="10">${formulas(r.id, values)}</td></tr>` : row;
    }).join("");
  }
  /** Every formula of a stage, with names and with numbers. */
  function formulas(stage, values) {
    const own = DATA.methods[method].definitions.filter((d) => d.name.startsWith(`${stage}.`));
    const shown = (n) => (Number.isInteger(n) && Math.abs(n) < 1e15 ? String(n) : String(Number(n.toPrecision(6))));
    return own.map(({ name, text, unit, reason }) => {
      const named = text.replace(/[{}]/g, "");
      const numbers = text.replace(/\{([^}]*)\}/g, (_, key) => shown(values[key] ?? 0));
      const why = reason ? ` <span class="why"># ${escaped(reason)}</span>` : "";
      return `<p>${escaped(name)} = ${escaped(named)}<br>= ${escaped(numbers)}<br>= ${shown(values[name])} ${escaped(unit)}${why}</p>`;
    }).join("") || "<p>moves no bytes and computes nothing</p>";
  }

  /** The fastest deployments, each with a button that makes it the page's own. */
  function best(of, points) {
    const kept = [];
    for (const p of points) {
      if (kept.length === 5) break;
      if (!kept.some((k) => k.latency_s === p.latency_s && k.total_pes <= p.total_pes)) kept.push(p);
    }
    const mode = (t) => [t.kv_split ? "split" : "replicate", `FFN over ${t.scope_dp ? "TP+CP+DP" : t.scope_cp ? "TP+CP" : "TP"}`,
      `TP on ${t.tp_on_pe ? "PEs" : "cubes"}`, `CP on ${t.cp_on_pe ? "PEs" : "cubes"}`, `ring ${t.ring_qoml ? "qoml" : "kv"}`].join(", ");
    byId("best").innerHTML = kept.length === 0 ? "" : `<div class="scroll" tabindex="0" role="region" aria-label="Fastest deployments"><table>
      <caption>The fastest of ${points.length} that fit. What a search does not vary goes back to its default.</caption>
      <thead><tr><th scope="col"></th><th scope="col">Step</th><th scope="col">PEs</th><th scope="col">CP</th><th scope="col">TP</th><th scope="col">PP</th><th scope="col">DP</th><th scope="col">Modes</th></tr></thead>
      <tbody>${kept.map((p, i) => `<tr><td><button type="button" data-apply="${i}" data-latency="${p.latency_s}">apply</button></td><td>${time(p.latency_s)}</td><td>${p.total_pes}</td>` +
        `<td>${p.topology.cp}</td><td>${p.topology.tp}</td><td>${p.topology.pp}</td><td>${p.topology.dp}</td><td>${mode(p.topology)}</td></tr>`).join("")}</tbody></table></div>`;
    for (const button of byId("best").querySelectorAll("[data-apply]")) {
      button.addEventListener("click", () => {
        Object.assign(x, kept[Number(button.dataset.apply)].topology);
        write();
        changed();
      });
    }
  }

  byId("knobs").addEventListener("submit", (event) => event.preventDefault());
  byId("knobs").addEventListener("input", (event) => {
    if (event.target.id === "k-model" || event.target.id === "k-method") return;
    if (read()) changed();
  });
  byId("k-model").addEventListener("change", (event) => {
    const model = DATA.models[Number(event.target.value)];
    Object.assign(x, model.x);
    byId("model-name").textContent = model.name;
    write();
    refuse("");
    changed();
  });
  byId("k-method").addEventListener("change", (event) => {
    method = Number(event.target.value);
    changed();
  });
  byId("k-rows").addEventListener("change", () => changed());
  byId("stages").addEventListener("click", (event) => {
    const stage = event.target.dataset?.stage;
    if (!stage) return;
    if (!open.delete(stage)) open.add(stage);
    stages(subject(x, method));
    byId("stages").querySelector(`[data-stage="${stage}"]`)?.focus();
  });
  for (const button of document.querySelectorAll("button[data-by]")) {
    button.addEventListener("click", () => {
      const input = byId(button.dataset.for);
      const value = Number(input.value) * Number(button.dataset.by);
      const counts = !["peak", "u", "hbm", "W", "e"].includes(input.dataset.input) && Number(input.dataset.scale) === 1;
      const kept = Math.min(Math.max(counts ? Math.floor(value) : value, Number(input.min)), Number(input.max));
      input.value = Number(kept.toPrecision(12));
      if (read()) changed();
    });
  }
  byId("restart").addEventListener("click", () => {
    x = { ...DATA.start };
    method = 0;
    byId("knobs").reset();
    byId("model-name").textContent = DATA.models[byId("k-model").selectedIndex].name;
    write();
    refuse("");
    changed();
  });

  for (const id of ["z-users", "z-goal"]) byId(id).addEventListener("input", sizing);

  // A picture is drawn when it comes into sight.
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const view = target.dataset.view;
      if (!isIntersecting) visible.delete(view);
      else {
        visible.add(view);
        if (stale.has(view)) {
          if (SLOW.has(view)) setTimeout(drawSlow, 50);
          else draw(target, subject(x, method));
        }
      }
    }
  }, { rootMargin: "200px" });
  for (const canvas of document.querySelectorAll(".canvas")) watcher.observe(canvas);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    changed();
  });
  if (window.innerWidth <= 760) document.querySelector("details.knobs").open = false;
  write();
  changed();
})();

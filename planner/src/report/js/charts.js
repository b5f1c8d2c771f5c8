// Curves of one deployment and what searches find: the twin of picture/charts.rs, picture/searches.rs and the searches
// themselves. A subject has the inputs `x`, its step `s`, and the formulas `f` of the chosen method.
const HEIGHT = 300;

function subject(x, method) {
  const f = METHODS[method];
  return { x, f, method: DATA.methods[method], s: f.step(x) };
}
function axisOf(label, unit, log) {
  return { label, unit, log, fromZero: !log };
}
function lineOf(name, colour, xs, y) {
  return { name, colour, joined: true, dots: false, points: xs.map((x) => ({ x, y: y(x) })) };
}
function powers(first, last) {
  return Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));
}
const CONTEXTS = powers(10, 21), REQUESTS = powers(0, 11);

function drawUtilisation({ x, f }, width) {
  const now = f.roofline(x);
  return drawPlot({
    title: "part of the peak that decode can reach",
    x: axisOf("tokens of context", "count", true),
    y: axisOf("part of the peak, large batch", "percent", false),
    series: [lineOf("", 0, CONTEXTS, (S) => f.roofline({ ...x, S }).utilisation_at_s)],
    marks: [{ at: now.balance_context, text: `L* ${count(Math.floor(now.balance_context))}`, vertical: true }],
    here: [x.S, now.utilisation_at_s],
  }, width, HEIGHT);
}

function drawBatch({ x, f }, width) {
  const now = f.roofline(x);
  const of = (b) => f.roofline({ ...x, b });
  const marks = [
    { at: now.critical_batch, text: `B* ${three(now.critical_batch)}`, vertical: true },
    { at: 2 * now.critical_batch, text: `2B* ${three(2 * now.critical_batch)}`, vertical: true },
  ];
  if (now.knee_batch > 0) marks.push({ at: now.knee_batch, text: `knee ${three(now.knee_batch)}`, vertical: true });
  return drawPlot({
    title: "decode on one PE, against requests",
    x: axisOf("requests of a step", "count", true),
    y: axisOf("time", "seconds", true),
    series: [
      lineOf("a step", 0, REQUESTS, (b) => of(b).step_s),
      lineOf("a token of it", 1, REQUESTS, (b) => of(b).per_token_s),
    ],
    marks,
    here: [x.b, now.step_s],
  }, width, HEIGHT);
}

function drawIntensity({ x, f }, width) {
  const factors = Array.from({ length: 17 }, (_, i) => 2 ** ((i - 8) / 4));
  const now = f.roofline(x);
  return drawPlot({
    title: "the batch that balances the machine",
    x: axisOf("times the machine's own value", "plain", true),
    y: axisOf(`B*; now ${three(now.arithmetic_intensity)} FLOP/B`, "plain", true),
    series: [
      lineOf("products of a PE", 0, factors, (k) => f.roofline({ ...x, peak: x.peak * k }).critical_batch),
      lineOf("bandwidth of HBM", 1, factors, (k) => f.roofline({ ...x, W: x.W * k }).critical_batch),
    ],
    here: [1, now.critical_batch],
  }, width, HEIGHT);
}

function drawBudget({ s, method }, [title, label], values, at, here, width) {
  const moves = method.options.includes("transient");
  const used = (m) => s.weights_bytes + (moves ? m.transient_bytes : s.transient_bytes) + m.kv_bytes;
  return drawPlot({
    title,
    x: axisOf(label, "count", true),
    y: axisOf("bytes of a PE", "bytes", true),
    series: [
      lineOf("used", 0, values, (v) => used(at(v))),
      lineOf("K and V", 1, values, (v) => at(v).kv_bytes),
      lineOf("weights", 2, values, () => s.weights_bytes),
    ],
    marks: [{ at: s.budget_bytes, text: "HBM of a PE", vertical: false }],
    here: [here, s.used_bytes],
  }, width, HEIGHT);
}
function drawMemoryContext(of, width) {
  const { x, f } = of;
  return drawBudget(of, ["memory against context", "tokens of context"], CONTEXTS, (S) => f.step({ ...x, S }), x.S, width);
}
function drawMemoryRequests(of, width) {
  const { x, f } = of;
  return drawBudget(of, ["memory against requests", "requests of a stage"], REQUESTS, (b) => f.step({ ...x, b }), x.b, width);
}

function drawSteps({ x, f, s }, width) {
  const at = (decode) => (S) => f.step({ ...x, S, decode, t_q: 0 }).latency_s;
  return drawPlot({
    title: "time to the first token, and of each after it",
    x: axisOf("tokens of context", "count", true),
    y: axisOf("time", "seconds", true),
    series: [
      lineOf("first token (TTFT)", 1, CONTEXTS, at(0)),
      lineOf("each after it (TPOT)", 0, CONTEXTS, at(1)),
    ],
    here: [x.S, s.latency_s],
  }, width, HEIGHT);
}

/** Degrees of the searches, in their order. */
function* degrees(x) {
  const { cp: cps, tp: tps, pp: pps, dp: dps } = DATA.grid;
  for (const cp of cps) for (const tp of tps) for (const pp of pps) {
    if (pp > x.L || tp > 4 * x.Hq) continue;
    for (const dp of dps) yield [cp, tp, pp, dp];
  }
}
const SINGLE = {
  cp: 1, tp: 1, pp: 1, dp: 1, ep: 1, b: 1, kv_split: 1, scope_cp: 1, scope_dp: 0, tp_on_pe: 1, cp_on_pe: 0, ring_qoml: 0,
  sip_mesh: 0, sip_torus: 0,
};

/** The full search: every deployment of the grid that fits, by latency. */
function explore({ x: given, f, method }) {
  const has = (option) => method.options.includes(option);
  const x = { ...given, ...SINGLE, b: given.b };
  const points = [];
  for (const [cp, tp, pp, dp] of degrees(given)) {
    [x.cp, x.tp, x.pp, x.dp] = [cp, tp, pp, dp];
    const seen = new Set();
    for (const kv of [1, 0]) {
      for (const scope of [0, 1, 2]) {
        if (scope === 2 && dp === 1) continue;
        for (const tpOnPe of [1, 0]) for (const cpOnPe of [0, 1]) for (const qoml of [0, 1]) {
          if (qoml && cp === 1) continue;
          [x.kv_split, x.scope_cp, x.scope_dp] = [kv, scope > 0 ? 1 : 0, scope > 1 ? 1 : 0];
          [x.tp_on_pe, x.cp_on_pe, x.ring_qoml] = [tpOnPe, cpOnPe, qoml];
          if (has("dedup")) {
            canonical(x, has);
            const key = [x.kv_split, x.scope_cp, x.scope_dp, x.tp_on_pe, x.cp_on_pe, x.ring_qoml].join();
            if (seen.has(key)) continue;
            seen.add(key);
          }
          const point = f.score(x);
          if (point.over_budget || !point.placement_valid) continue;
          point.topology = topologyOf(x);
          points.push(point);
        }
      }
    }
  }
  return points.sort((a, b) => a.latency_s - b.latency_s);
}
/** The same deployment with every choice that has no effect at its first value. */
function canonical(x, has) {
  if (x.tp <= x.Hk || (has("mla") && x.latent > 0)) x.kv_split = 1;
  if (x.decode || x.cp === 1 || has("chunked")) x.ring_qoml = 0;
  if (x.tp === 1) x.tp_on_pe = 1;
  if (x.cp === 1) {
    x.cp_on_pe = 0;
    if (!x.scope_dp && (has("placement") || has("collectives"))) x.scope_cp = 0;
  }
}
function topologyOf(x) {
  const topology = {};
  for (const key of Object.keys(SINGLE)) topology[key] = x[key];
  return topology;
}

function drawPareto({ x, s }, points, width) {
  const best = points.reduce((most, p) => Math.max(most, p.efficiency), 0);
  const shade = (e) => (best > 0 ? Math.min(Math.floor((e / best) * 4), 3) : 0);
  const sorted = [...points].sort((a, b) => a.total_pes - b.total_pes || a.latency_s - b.latency_s);
  let fastest = Infinity;
  const frontier = [];
  for (const p of sorted) {
    if (p.latency_s >= fastest) continue;
    fastest = p.latency_s;
    frontier.push({ x: p.total_pes, y: p.latency_s });
  }
  return drawPlot({
    title: "every deployment of the grid that fits",
    x: axisOf("PEs", "count", true),
    y: axisOf("time of a step; darker: more efficient", "seconds", true),
    series: [
      { name: "feasible", colour: 0, joined: false, dots: true, points: points.map((p) => ({ x: p.total_pes, y: p.latency_s, shade: shade(p.efficiency) })) },
      { name: "fastest for its PEs", colour: 4, joined: true, dots: false, points: frontier },
    ],
    here: [s.total_pes, s.latency_s],
  }, width, HEIGHT + 40);
}

function drawKnobs({ x, f, method }, width) {
  const around = method.options.includes("carry") ? x : { ...x, b: 1, ep: 1 };
  const series = DATA.knobs.map(({ name, values }, colour) => {
    const points = [];
    for (const value of values) {
      const at = { ...around, [name]: value };
      if (at.pp > at.L || at.tp > 4 * at.Hq) continue;
      const p = f.score(at);
      points.push({ x: value, y: p.latency_s, hollow: Boolean(p.over_budget) || !p.placement_valid });
    }
    return { name, colour, joined: true, dots: true, points };
  });
  return drawPlot({
    title: "one knob of parallelism at a time",
    x: axisOf("value of the knob; hollow: does not fit", "count", true),
    y: axisOf("time of a step", "seconds", true),
    series,
  }, width, HEIGHT);
}

function drawTornado({ x, f, s }, width) {
  const change = (name, by) => f.score({ ...x, [name]: x[name] * by }).latency_s / s.latency_s - 1;
  const swings = DATA.rates.map(({ input, label }) => ({ name: label, doubled: change(input, 2), halved: change(input, 0.5) }));
  return tornado("each value of the machine doubled and halved", swings, width);
}

/** Machines of the balanced grid, each with its best deployment, by latency. */
function searchMachines({ x: given, f, method }) {
  const weights = method.options.includes("cost") ? DATA.costs : DATA.rates.map(() => 1);
  const base = { ...given, ...SINGLE, b: given.b, tp_on_pe: 0, cp_on_pe: 1 };
  let machines = [{ values: {}, cost: 0 }];
  DATA.rates.forEach(({ input }, i) => {
    machines = machines.flatMap(({ values, cost }) =>
      [1, 2].map((by) => ({ values: { ...values, [input]: given[input] * by }, cost: cost + weights[i] * by })));
  });
  const deployments = [...degrees(given)];
  const bests = [];
  for (const { values, cost } of machines) {
    const x = { ...base, ...values };
    let best = null;
    for (const [cp, tp, pp, dp] of deployments) {
      [x.cp, x.tp, x.pp, x.dp] = [cp, tp, pp, dp];
      x.ring_qoml = given.decode && cp > 1 ? 1 : 0;
      for (const kv of [1, 0]) {
        x.kv_split = kv;
        const p = f.score(x);
        if (p.over_budget || !p.placement_valid) continue;
        const better = best === null || p.latency_s < best.latency_s || (p.latency_s === best.latency_s &&
          (p.total_pes < best.total_pes || (p.total_pes === best.total_pes && p.hbm_utilization < best.hbm_utilization)));
        if (better) best = { ...p, values, cost, topology: topologyOf(x) };
      }
    }
    if (best) bests.push(best);
  }
  return bests.sort((a, b) => a.latency_s - b.latency_s);
}

function drawJoint(bests, width) {
  const beats = (a, b) => a.latency_s <= b.latency_s && a.cost <= b.cost && (a.latency_s < b.latency_s || a.cost < b.cost);
  const frontier = bests.filter((p) => !bests.some((other) => beats(other, p))).sort((a, b) => a.cost - b.cost);
  const points = (list) => list.map((p) => ({ x: p.cost, y: p.latency_s }));
  return drawPlot({
    title: "machines with each value once and doubled",
    x: { label: "cost: sum of value over base", unit: "plain", log: false, fromZero: false },
    y: axisOf("time of a step, best deployment", "seconds", true),
    series: [
      { name: "a machine", colour: 0, joined: false, dots: true, points: points(bests) },
      { name: "none is cheaper and faster", colour: 4, joined: true, dots: false, points: points(frontier) },
    ],
  }, width, HEIGHT);
}

/** All pictures by name; those of searches take a while. */
const VIEWS = {
  "sip": (of, width) => drawSips(of.x, of.s, true, width),
  "sip-rows": (of, width) => drawSips(of.x, of.s, false, width),
  "pe": (of, width) => drawPes(of.x, of.s, width),
  "tensors": (of, width) => drawTensors(of.x, of.s, width),
  "pipeline": drawPipeline,
  "roofline": drawUtilisation,
  "batch": drawBatch,
  "intensity": drawIntensity,
  "memory-context": drawMemoryContext,
  "memory-requests": drawMemoryRequests,
  "steps": drawSteps,
  "pareto": (of, width) => drawPareto(of, explore(of), width),
  "knobs": drawKnobs,
  "tornado": drawTornado,
  "joint": (of, width) => drawJoint(searchMachines(of), width),
};

// How many PEs a service takes: the twin of size.rs. A subject is that of charts.js; the step is a decode step.

/** { topology, users, replicas, total_pes, tpot_s, binding }, or { fastest_s } where no deployment meets the goal. */
function sizeService({ x: given, f, method }, users, goal) {
  const x = { ...given, ...SINGLE, decode: 1, t_q: 0 };
  return method.options.includes("sizing") ? sizeSharded(x, given, f, users, goal) : sizeWhole(x, given, f, users, goal);
}

/** The whole model on one PE for time, on as many as it takes for capacity. */
function sizeWhole(x, given, f, users, goal) {
  const r = f.roofline(x);
  const each = r.compute_s_per_token + r.kv_s_per_token;
  const batch = r.weight_s + each > goal ? 0 : Math.max(Math.floor((goal - r.weight_s) / each), 1);
  const perReplica = Math.min(Math.max(batch, 1), users);
  const replicas = Math.ceil(users / perReplica);
  const weights = r.active_params * x.e;
  const pesFor = (bytes) => Math.ceil(bytes / given.hbm);
  const capacity = pesFor(weights), kv = pesFor(weights + perReplica * x.S * r.kv_bytes_per_token);
  const binding = replicas > 1 ? "throughput" : kv > capacity ? "kv" : "capacity";
  return { topology: null, users: perReplica, replicas, total_pes: Math.max(capacity, kv) * replicas, tpot_s: r.weight_s + perReplica * each, binding };
}

/** Of all deployments that fit, the one that serves the users within the goal on the fewest PEs, then in the shortest step. */
function sizeSharded(x, given, f, users, goal) {
  const MOST = 65536;
  const run = (b) => {
    x.b = b;
    const p = f.score(x);
    return { ...p, feasible: !p.over_budget && Boolean(p.placement_valid) };
  };
  let best = null, fastest = null;
  for (const [cp, tp, pp, dp] of degrees(given)) {
    if (dp !== 1) continue;
    [x.cp, x.tp, x.pp, x.tp_on_pe] = [cp, tp, pp, tp <= given.pes_per_cube ? 1 : 0];
    const one = run(1);
    if (!one.feasible) continue;
    if (fastest === null || one.latency_s < fastest) fastest = one.latency_s;
    if (one.latency_s > goal) continue;
    const most = Math.min(users, MOST);
    let low = 1, high = most + 1;
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2);
      const p = run(middle);
      if (p.feasible && p.latency_s <= goal) low = middle;
      else high = middle;
    }
    const replicas = Math.ceil(users / low);
    const b = Math.ceil(users / replicas);
    const point = run(b);
    const fitsMore = run(Math.min(low + 1, MOST)).feasible;
    const binding = low === most && replicas === 1 && b === 1 ? "capacity" : fitsMore && replicas > 1 ? "throughput"
      : point.kv_bytes > 0 && !fitsMore ? "kv" : "capacity";
    const total_pes = cp * tp * pp * replicas;
    if (best === null || total_pes < best.total_pes || (total_pes === best.total_pes && point.latency_s < best.tpot_s)) {
      x.b = b;
      best = { topology: topologyOf(x), users: b, replicas, total_pes, tpot_s: point.latency_s, binding };
    }
  }
  return best ?? { fastest_s: fastest };
}

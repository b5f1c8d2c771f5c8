// Pictures of a deployment: the twin of picture/sip.rs, pe.rs, tensors.rs and pipeline.rs. `x` are inputs, `s` is a step.
function sipLayout(x) {
  const inner = (x.tp_on_pe ? x.tp : 1) * (x.cp_on_pe ? x.cp : 1);
  const outer = (x.tp * x.cp) / inner;
  const spill = Math.max(Math.ceil(inner / x.pes_per_cube), 1);
  return { inner, spill, perStage: outer * spill };
}
function rankAt(layout, x, cube, pe) {
  const stage = Math.floor(cube / layout.perStage);
  const within = cube - stage * layout.perStage;
  const outer = Math.floor(within / layout.spill);
  const inner = (within - outer * layout.spill) * x.pes_per_cube + pe;
  if (stage >= x.pp * x.dp || inner >= layout.inner) return null;
  if (x.cp_on_pe && x.tp_on_pe) return { stage, cp: Math.floor(inner / x.tp), tp: inner % x.tp };
  if (!x.cp_on_pe && !x.tp_on_pe) return { stage, cp: Math.floor(outer / x.tp), tp: outer % x.tp };
  return x.cp_on_pe ? { stage, cp: inner, tp: outer } : { stage, cp: outer, tp: inner };
}
function columnsOf(n, most) {
  for (let c = 1; c < most; c++) if (c * c >= n) return c;
  return most;
}

function drawSips(x, s, blocks, width) {
  const scene = new Scene("where the ranks lie", width);
  const layout = sipLayout(x);
  const sips = s.sips_used;
  const shown = Math.min(sips, 16);
  const columns = columnsOf(shown, width < 400 ? 2 : width < 500 ? 3 : 4);
  const side = Math.min((width - 24) / columns - 20, 340);
  const byCp = x.cp > 1;
  const corner = (n) => {
    const row = Math.floor(n / columns);
    const column = row % 2 === 1 ? columns - 1 - (n % columns) : n % columns;
    return [12 + column * (side + 20), 22 + row * (side + 34)];
  };
  drawSipLinks(scene, x, shown, columns, side, corner);
  for (let sip = 0; sip < shown; sip++) {
    const at = corner(sip);
    scene.text([at[0], at[1] - 5], "start", "t2 small", `SIP ${sip}`);
    scene.rect([at[0], at[1], side, side], "panel");
    drawSip(scene, x, layout, blocks, sip, at, side, byCp);
  }
  let y = 22 + Math.ceil(shown / columns) * (side + 34);
  if (sips > shown) {
    scene.text([12, y], "start", "t2", `and ${sips - shown} more SIPs`);
    y += 18;
  }
  scene.height = sipLegend(scene, x, byCp, y, width);
  return scene;
}

function drawSip(scene, x, layout, blocks, sip, [x0, y0], side, byCp) {
  const cubes = x.cubes_per_sip;
  let columns = 1;
  for (let c = 1; c < cubes; c++) if (c * c >= cubes) { columns = c; break; }
  const cell = (side - 4) / columns;
  const framed = x.tp > 1 && (!x.tp_on_pe || layout.spill > 1);
  const groups = [];
  for (let n = 0; n < cubes; n++) {
    const [column, row] = blocks && columns === 4 ? [(n & 1) | ((n >> 1) & 2), ((n >> 1) & 1) | ((n >> 2) & 2)]
      : [n % columns, Math.floor(n / columns)];
    const at = [x0 + 2 + column * cell + 1.5, y0 + 2 + row * cell + 1.5];
    const inside = cell - 3;
    const cube = sip * cubes + n;
    scene.rect([at[0], at[1], inside, inside], "cube");
    drawCube(scene, x, layout, cube, at, inside, byCp);
    const rank = rankAt(layout, x, cube, 0);
    if (!rank || !framed) continue;
    const key = `${rank.stage} ${x.cp_on_pe ? 0 : rank.cp}`;
    const frame = [at[0], at[1], at[0] + inside, at[1] + inside];
    const group = groups.find((g) => g.key === key);
    if (group) {
      group.count += 1;
      const a = group.all;
      group.all = [Math.min(a[0], frame[0]), Math.min(a[1], frame[1]), Math.max(a[2], frame[2]), Math.max(a[3], frame[3])];
    } else {
      groups.push({ key, count: 1, all: frame });
    }
  }
  for (const { count, all: [left, top, right, bottom] } of groups) {
    const across = Math.floor((right - left) / cell + 0.5) * Math.floor((bottom - top) / cell + 0.5);
    if (count > 1 && across === count) {
      scene.rect([left - 1, top - 1, right - left + 2, bottom - top + 2], "dash", "a group of tp");
    }
  }
}

function drawCube(scene, x, layout, cube, [x0, y0], side, byCp) {
  const pes = x.pes_per_cube;
  const columns = pes % 4 === 0 ? 4 : Math.min(pes, 4);
  const rows = Math.ceil(pes / columns);
  const w = (side - 2) / columns, h = (side - 2) / rows;
  for (let pe = 0; pe < pes; pe++) {
    const at = [x0 + 1 + (pe % columns) * w, y0 + 1 + Math.floor(pe / columns) * h];
    const r = rankAt(layout, x, cube, pe);
    let cls = "idle", note = "";
    if (r) {
      cls = `r${(byCp ? r.cp : r.tp) % 12} o${r.stage % 4}`;
      note = `dp ${Math.floor(r.stage / x.pp)}, pp ${r.stage % x.pp}, cp ${r.cp}, tp ${r.tp}`;
    }
    scene.rect([at[0] + 0.5, at[1] + 0.5, w - 1, h - 1], cls, note);
  }
}

function drawSipLinks(scene, x, shown, columns, side, corner) {
  const grid = x.sip_mesh || x.sip_torus;
  const centre = (n) => corner(n).map((v) => v + side / 2);
  for (let n = 1; n < shown; n++) scene.line(centre(n - 1), centre(n), "link");
  if (grid) {
    for (let n = columns; n < shown; n++) {
      const above = Math.floor(n / columns) * columns * 2 - 1 - n;
      if (above + 1 !== n) scene.line(centre(above), centre(n), "link");
    }
  }
  if (!grid && shown > 2) {
    const a = centre(shown - 1), b = centre(0);
    scene.arc(a, [[2, a[1]], [2, b[1]]], b, "wrap");
  }
  if (x.sip_torus && shown > 1) {
    const wraps = side * 0.62;
    for (let n = 0; n < shown; n++) {
      const [cx, cy] = centre(n);
      scene.line([cx - wraps, cy], [cx + wraps, cy], "wrap");
      scene.line([cx, cy - wraps], [cx, cy + wraps], "wrap");
    }
  }
}

function sipLegend(scene, x, byCp, top, width) {
  const [what, ranks] = byCp ? ["cp", x.cp] : ["tp", x.tp];
  let left = 12, y = top;
  for (let rank = 0; rank < Math.min(ranks, 12); rank++) {
    if (left + 56 > width) [left, y] = [12, y + 16];
    scene.rect([left, y - 9, 10, 10], `r${rank}`);
    scene.text([left + 14, y], "start", "t2", `${what} ${rank}`);
    left += 56;
  }
  if (ranks > 12) {
    y += 16;
    scene.text([12, y], "start", "t2 small", `colours repeat from ${what} 12 to ${ranks - 1}`);
  }
  const stages = x.pp * x.dp;
  if (stages > 1) {
    y += 16;
    scene.text([12, y], "start", "t2 small", `${stages} stages and replicas, each paler than the last, four shades`);
  }
  return y + 10;
}

function drawPes(x, s, width) {
  const scene = new Scene("what a PE holds", width);
  const cps = Math.min(x.cp, 32);
  scene.text([4, 14], "start", "t", `drawn: rank 0 of ${x.cp} of cp, ${Math.floor(x.S / x.cp)} tokens of context each`);
  const strip = Math.min((width - 8) / cps, 26);
  for (let rank = 0; rank < cps; rank++) {
    const at = [4 + rank * strip, 22, strip - 3, 12];
    scene.rect(at, `r${rank % 12}`, `cp ${rank}`);
    if (rank === 0) scene.rect([at[0] - 2, at[1] - 2, at[2] + 4, at[3] + 4], "frame");
  }
  const ranks = Math.min(x.tp, 16);
  const columns = Math.min(width < 500 ? 3 : 8, ranks);
  const wide = Math.min((width - 8) / columns, 150);
  for (let rank = 0; rank < ranks; rank++) {
    const [px0, py0, w, h] = [4 + (rank % columns) * wide, 48 + Math.floor(rank / columns) * 62, wide - 6, 56];
    scene.rect([px0, py0, w, h], "panel");
    scene.rect([px0, py0, w, 4], "r0");
    scene.text([px0 + 6, py0 + 18], "start", "t strong", `tp ${rank}`);
    scene.text([px0 + 6, py0 + 33], "start", "t small", queryHeads(x, rank));
    scene.text([px0 + 6, py0 + 47], "start", "t small", kvHeads(x, rank));
  }
  let y = 48 + Math.ceil(ranks / columns) * 62 + 6;
  if (x.tp > ranks) {
    scene.text([4, y + 8], "start", "t2", `and ${x.tp - ranks} more ranks of tp`);
    y += 20;
  }
  drawPeMemory(scene, s, y, width);
  return scene;
}
function queryHeads(x, rank) {
  const edge = (r) => Math.floor((r * x.Hq) / x.tp + 0.5);
  return headSpan("Q", edge(rank), edge(rank + 1));
}
function kvHeads(x, rank) {
  if (x.tp <= x.Hk) {
    const edge = (r) => Math.floor((r * x.Hk) / x.tp + 0.5);
    return headSpan("KV", edge(rank), edge(rank + 1));
  }
  const head = Math.floor((rank * x.Hk) / x.tp);
  const first = (h) => Math.ceil((h * x.tp) / x.Hk);
  const ranks = first(head + 1) - first(head);
  if (ranks <= 1) return `KV ${head}`;
  return x.kv_split ? `KV ${head}, part ${rank - first(head) + 1} of ${ranks}` : `KV ${head}, one of ${ranks}`;
}
function headSpan(what, first, end) {
  if (end - first <= 0) return `${what} none`;
  return end - first === 1 ? `${what} ${first}` : `${what} ${first}–${end - 1}`;
}

function drawPeMemory(scene, s, top, width) {
  const parts = [
    ["attention weights", "f0", s.attention_weights_bytes],
    ["FFN weights", "f2", s.ffn_weights_bytes],
    ["other weights", "f5", Math.max(s.weights_bytes - s.attention_weights_bytes - s.ffn_weights_bytes, 0)],
    ["KV", "f1", s.kv_bytes],
    ["transient", "f3", s.transient_bytes],
  ];
  const whole = Math.max(s.budget_bytes, s.used_bytes);
  const long = width - 8;
  const used = three((s.used_bytes / s.budget_bytes) * 100);
  scene.text([4, top + 12], "start", "t strong", `each PE holds ${bytes(s.used_bytes)} of ${bytes(s.budget_bytes)} (${used} %)`);
  let y = top + 20;
  scene.rect([4, y, long, 22], "free", `free: ${bytes(s.slack_bytes)}`);
  let x = 4;
  for (const [name, cls, size] of parts) {
    const part = (size / whole) * long;
    if (part > 0) scene.rect([x, y, part, 22], cls, `${name}: ${bytes(size)}`);
    x += part;
  }
  if (s.over_budget) {
    const at = 4 + (s.budget_bytes / whole) * long;
    scene.line([at, y - 4], [at, y + 26], "mark");
    scene.text([at - 4, y + 36], "end", "markt small", "HBM ends here");
  }
  y += 50;
  x = 4;
  for (const [name, cls, size] of parts) {
    if (size < 16) continue;
    const text = `${name} ${bytes(size)}`;
    const wide = 26 + 6.4 * [...text].length;
    if (x + wide > width && x > 4) [x, y] = [4, y + 16];
    scene.rect([x, y - 9, 10, 10], cls);
    scene.text([x + 14, y], "start", "t", text);
    x += wide;
  }
  scene.height = y + 10;
}

function tensorCuts(x, s) {
  const queries = x.Hq * x.h, keys = x.Hk * x.h;
  const shared = x.kv_split ? x.tp : Math.min(x.tp, x.Hk);
  const ownKeys = s.kh * x.h;
  const columns = (name, width, parts, own) => ({ name, rows: x.d, columns: width, rowParts: 1, columnParts: parts, own: [x.d, own] });
  const rows = (name, height, parts, own) => ({ name, rows: height, columns: x.d, rowParts: parts, columnParts: 1, own: [own, x.d] });
  const cache = (name) => ({ name, rows: x.S, columns: keys, rowParts: x.cp, columnParts: shared, own: [s.s_local, ownKeys] });
  const ffn = s.ffn_divisor * x.ep;
  const all = [
    columns("W_Q", queries, x.tp, s.hq * x.h),
    columns("W_K", keys, shared, ownKeys),
    columns("W_V", keys, shared, ownKeys),
    rows("W_O", queries, x.tp, s.hq * x.h),
    cache("K cache"),
    cache("V cache"),
  ];
  if (x.ffn_matrices > 2) all.push(columns("gate", x.f, ffn, s.fp_held));
  all.push(columns("up", x.f, ffn, s.fp_held));
  all.push(rows("down", x.f, ffn, s.fp_held));
  return all;
}

function drawTensors(x, s, width) {
  const scene = new Scene("how tensors are cut, one layer", width);
  const across = width < 400 ? 2 : width < 700 ? 3 : 5;
  const wide = width / across;
  let y = 4;
  tensorCuts(x, s).forEach((cut, n) => {
    if (n > 0 && n % across === 0) y += 150;
    drawTensor(scene, x, cut, [(n % across) * wide + 4, y], wide - 12);
  });
  scene.height = y + 150;
  return scene;
}
function drawTensor(scene, x, cut, [left, y], room) {
  scene.text([left, y + 12], "start", "t strong", cut.name);
  scene.text([left + room, y + 12], "end", "t2 small", `${count(cut.rows)} × ${count(cut.columns)}`);
  const shape = Math.min(Math.max(cut.columns / cut.rows, 0.2), 5);
  const [w, h] = shape > room / 86 ? [room, room / shape] : [86 * shape, 86];
  const top = y + 20;
  scene.rect([left, top, w, h], "cube");
  const part = [w * Math.min(cut.own[1] / cut.columns, 1), h * Math.min(cut.own[0] / cut.rows, 1)];
  scene.rect([left, top, Math.max(part[0], 1), Math.max(part[1], 1)], "part", `${three(cut.own[0])} × ${three(cut.own[1])} of rank 0`);
  if (cut.columnParts <= 64) {
    for (let n = 1; n < cut.columnParts; n++) {
      const at = left + (w * n) / cut.columnParts;
      scene.line([at, top], [at, top + h], "cut");
    }
  }
  if (cut.rowParts <= 64) {
    for (let n = 1; n < cut.rowParts; n++) {
      const at = top + (h * n) / cut.rowParts;
      scene.line([left, at], [left + w, at], "cut");
    }
  }
  const [r, c] = [cut.rowParts > 1, cut.columnParts > 1];
  const parts = r && c ? `${cut.rowParts} × ${cut.columnParts}` : r ? `${cut.rowParts} in rows` : c ? `${cut.columnParts} in columns` : "whole";
  scene.text([left, y + 119], "start", "t2 small", parts);
  scene.text([left, y + 132], "start", "t2 small", `this PE ${bytes(cut.own[0] * cut.own[1] * x.e)}`);
}

/** The stages of a step that are present, with what each waits for. */
function stageRows(s, stages) {
  const rows = [];
  for (const stage of stages) {
    const of = (part) => s[`${stage.id}.${part}`];
    if (!of("present")) continue;
    const row = { ...stage };
    for (const part of ["flops", "mem_bytes", "comm_bytes", "compute_s", "memory_s", "comm_s", "visible_s"]) row[part] = of(part);
    row.bound = boundOf(stage.rule, row);
    rows.push(row);
  }
  return rows;
}
function boundOf(rule, { compute_s: compute, memory_s: memory, comm_s: comm }) {
  switch (rule) {
    case "larger": return compute >= memory && compute >= comm ? "compute" : memory >= comm ? "memory" : "comm";
    case "comm-or-compute": return comm > compute ? "comm" : compute > 0 ? "compute" : "trivial";
    case "comm-if-any": return comm > 0 ? "comm" : "trivial";
    default: return rule;
  }
}

function drawPipeline({ x, s, method }, width) {
  const BOX = 40, GAP = 6;
  const scene = new Scene("a layer, stage by stage", width);
  const rows = stageRows(s, method.stages);
  const of = (ids) => rows.filter((r) => ids.includes(r.id));
  const core = of(["S5", "S6", "S7", "SA"]), beside = of(["C1", "C3"]);
  const narrow = width < 600;
  const wide = (width - 8) / (narrow ? 7 : 11) - GAP;
  const stage = (row, [left, y]) => {
    scene.rect([left, y, wide, BOX], row.bound, `${row.id} ${row.what}: ${time(row.visible_s)}`);
    scene.text([left + wide / 2, y + 16], "middle", "t3 strong", row.id);
    scene.text([left + wide / 2, y + 31], "middle", "t3 small", time(row.visible_s));
  };
  const strip = (part, total, y) => {
    let left = 4;
    for (const row of part) {
      const long = total > 0 ? (row.visible_s / total) * (width - 8) : 0;
      if (long < 0.3) continue;
      scene.rect([left, y, Math.max(long - 1, 0.3), 10], row.bound, `${row.id}: ${time(row.visible_s)}`);
      if (long > 22) scene.text([left + long / 2, y + 20], "middle", "t2 tiny", row.id);
      left += long;
    }
  };
  let y = 16;
  scene.text([4, y], "start", "t strong", `attention, ${time(s.attention_visible_s)} a layer`);
  const room = beside.length * 22 + 26;
  y += 14 + (narrow ? 0 : room);
  let left = 4;
  for (const [part, isCore] of [[of(["S1", "S2", "S3", "S4"]), false], [core, true], [of(["S8", "S9", "S10", "C2"]), false]]) {
    if (narrow && left > 4) [left, y] = [4, y + BOX + 12 + (isCore ? room : 0)];
    if (isCore && core.length > 0) {
      const span = core.length * (wide + GAP) - GAP;
      beside.forEach((row, i) => {
        const top = y - 22 * (i + 1);
        scene.rect([left, top, span, 18], row.bound, `${row.id} ${row.what}: ${time(row.visible_s)}`);
        scene.text([left + span / 2, top + 13], "middle", "t3 small", `${row.id} ${time(row.visible_s)}`);
      });
      const top = y - 22 * beside.length - 4;
      scene.arc([left + span, top], [[left + span, top - 22], [left, top - 22]], [left, top], "wrap");
      scene.text([left + span / 2, top - 19], "middle", "t2 small", `× ${x.decode ? 1 : x.cp}`);
    }
    for (const row of part) {
      stage(row, [left, y]);
      left += wide + GAP;
    }
  }
  y += BOX + 8;
  strip(rows.filter((r) => r.part === "attention"), s.attention_visible_s, y);
  y += 38;
  scene.text([4, y], "start", "t strong", `FFN, ${time(s.ffn_visible_s)} a layer`);
  y += 10;
  left = 4;
  const ffn = rows.filter((r) => r.part === "ffn");
  for (const row of ffn) {
    stage(row, [left, y]);
    left += wide + GAP;
  }
  y += BOX + 8;
  strip(ffn, s.ffn_visible_s, y);
  y += 38;
  const once = rows.filter((r) => r.part === "step");
  if (once.length > 0) {
    scene.text([4, y], "start", "t strong", "once a step");
    y += 10;
    left = 4;
    for (const row of once) {
      stage(row, [left, y]);
      left += wide + GAP;
    }
    y += BOX + 26;
  }
  left = 4;
  for (const bound of ["compute", "memory", "comm", "trivial"]) {
    scene.rect([left, y - 9, 10, 10], bound);
    scene.text([left + 14, y], "start", "t2", bound);
    left += 80;
  }
  scene.height = y + 8;
  return scene;
}

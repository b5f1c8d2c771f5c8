//! SIPs, cubes and PEs, coloured by the rank they hold.

use super::Scene;
use crate::inputs::Inputs;
use crate::step::Step;

/// How the cubes of a SIP are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Groups are near-square blocks.
    Blocks,
    Rows,
}

/// Most SIPs that are drawn.
const SHOWN: usize = 16;
const COLOURS: f64 = 12.0;

/// Where ranks lie: a rank has a cube and a PE of it.
struct Layout {
    inner: f64,
    /// Cubes that the inner ranks of one outer rank take.
    spill: f64,
    per_stage: f64,
    pes_per_cube: f64,
}

/// What a PE holds.
struct Rank {
    stage: f64,
    cp: f64,
    tp: f64,
}

impl Layout {
    fn of(i: &Inputs<f64>) -> Layout {
        let inside = |on_pe: bool, n: f64| if on_pe { n } else { 1.0 };
        let inner = inside(i.tp_on_pe, i.tp) * inside(i.cp_on_pe, i.cp);
        let outer = i.tp * i.cp / inner;
        let spill = (inner / i.pes_per_cube).ceil().max(1.0);
        Layout { inner, spill, per_stage: outer * spill, pes_per_cube: i.pes_per_cube }
    }
    fn rank(&self, i: &Inputs<f64>, cube: f64, pe: f64) -> Option<Rank> {
        let stage = (cube / self.per_stage).floor();
        let within = cube - stage * self.per_stage;
        let outer = (within / self.spill).floor();
        let inner = (within - outer * self.spill) * self.pes_per_cube + pe;
        if stage >= i.pp * i.dp || inner >= self.inner {
            return None;
        }
        let (cp, tp) = match (i.cp_on_pe, i.tp_on_pe) {
            (true, true) => ((inner / i.tp).floor(), inner % i.tp),
            (false, false) => ((outer / i.tp).floor(), outer % i.tp),
            (true, false) => (inner, outer),
            (false, true) => (outer, inner),
        };
        Some(Rank { stage, cp, tp })
    }
}

/// The place of the `n`th cube: column and row.
fn place(packing: Packing, n: usize, columns: usize) -> [usize; 2] {
    if packing == Packing::Blocks && columns == 4 {
        // The bits of n, alternately.
        [n & 1 | n >> 1 & 2, n >> 1 & 1 | n >> 2 & 2]
    } else {
        [n % columns, n / columns]
    }
}

pub fn topology(i: &Inputs<f64>, step: &Step<f64>, packing: Packing, width: f64) -> Scene {
    let mut scene = Scene::new("where the ranks lie", width);
    let layout = Layout::of(i);
    let sips = step.placed.sips_used as usize;
    let shown = sips.min(SHOWN);
    let most = match width {
        w if w < 400.0 => 2,
        w if w < 500.0 => 3,
        _ => 4,
    };
    let columns = (1..most).find(|c| c * c >= shown).unwrap_or(most);
    let side = ((width - 24.0) / columns as f64 - 20.0).min(340.0);
    let by_cp = i.cp > 1.0;
    let corner = |n: usize| {
        let (row, column) = (n / columns, n % columns);
        // Neighbours on the ring lie side by side: every second row runs backwards.
        let column = if row % 2 == 1 { columns - 1 - column } else { column };
        [12.0 + column as f64 * (side + 20.0), 22.0 + row as f64 * (side + 34.0)]
    };
    links(&mut scene, i, shown, columns, side, &corner);
    for sip in 0..shown {
        let at = corner(sip);
        scene.text([at[0], at[1] - 5.0], "start", "t2 small", format!("SIP {sip}"));
        scene.rect([at[0], at[1], side, side], "panel", "");
        draw_sip(&mut scene, i, &layout, packing, sip, at, side, by_cp);
    }
    let rows = shown.div_ceil(columns);
    let mut y = 22.0 + rows as f64 * (side + 34.0);
    if sips > shown {
        scene.text([12.0, y], "start", "t2", format!("and {} more SIPs", sips - shown));
        y += 18.0;
    }
    y = legend(&mut scene, i, by_cp, y, width);
    scene.height = y;
    scene
}

#[allow(clippy::too_many_arguments)]
fn draw_sip(
    scene: &mut Scene,
    i: &Inputs<f64>,
    layout: &Layout,
    packing: Packing,
    sip: usize,
    [x0, y0]: [f64; 2],
    side: f64,
    by_cp: bool,
) {
    let cubes = i.cubes_per_sip as usize;
    let columns = (1..cubes).find(|c| c * c >= cubes).unwrap_or(1);
    let cell = (side - 4.0) / columns as f64;
    // Cubes of one group of tp, to be framed if they are several: stage and cp, and the box around.
    let mut groups: Vec<([f64; 2], usize, [f64; 4])> = Vec::new();
    for n in 0..cubes {
        let [column, row] = place(packing, n, columns);
        let at = [x0 + 2.0 + column as f64 * cell + 1.5, y0 + 2.0 + row as f64 * cell + 1.5];
        let inside = cell - 3.0;
        let cube = (sip * cubes + n) as f64;
        scene.rect([at[0], at[1], inside, inside], "cube", "");
        draw_cube(scene, i, layout, cube, at, inside, by_cp);
        if let Some(rank) = layout.rank(i, cube, 0.0)
            && step_group(i, layout)
        {
            let key = [rank.stage, if i.cp_on_pe { 0.0 } else { rank.cp }];
            let frame = [at[0], at[1], at[0] + inside, at[1] + inside];
            match groups.iter_mut().find(|g| g.0 == key) {
                Some((_, count, all)) => {
                    *count += 1;
                    *all = [all[0].min(frame[0]), all[1].min(frame[1]), all[2].max(frame[2]), all[3].max(frame[3])];
                }
                None => groups.push((key, 1, frame)),
            }
        }
    }
    for (_, count, [left, top, right, bottom]) in groups {
        // A frame is drawn where the group fills it.
        let across = ((right - left) / cell + 0.5).floor() * ((bottom - top) / cell + 0.5).floor();
        if count > 1 && across as usize == count {
            scene.rect([left - 1.0, top - 1.0, right - left + 2.0, bottom - top + 2.0], "dash", "a group of tp");
        }
    }
}

/// A group of tp lies on several cubes.
fn step_group(i: &Inputs<f64>, layout: &Layout) -> bool {
    i.tp > 1.0 && (!i.tp_on_pe || layout.spill > 1.0)
}

fn draw_cube(scene: &mut Scene, i: &Inputs<f64>, layout: &Layout, cube: f64, [x, y]: [f64; 2], side: f64, by_cp: bool) {
    let pes = i.pes_per_cube as usize;
    let columns = if pes.is_multiple_of(4) { 4 } else { pes.min(4) };
    let rows = pes.div_ceil(columns);
    let (w, h) = ((side - 2.0) / columns as f64, (side - 2.0) / rows as f64);
    for pe in 0..pes {
        let at = [x + 1.0 + (pe % columns) as f64 * w, y + 1.0 + (pe / columns) as f64 * h];
        let (class, note) = match layout.rank(i, cube, pe as f64) {
            None => ("idle".to_string(), String::new()),
            Some(r) => {
                let colour = if by_cp { r.cp } else { r.tp } % COLOURS;
                let shade = r.stage % 4.0;
                let (replica, stage) = ((r.stage / i.pp).floor(), r.stage % i.pp);
                (format!("r{colour} o{shade}"), format!("dp {replica}, pp {stage}, cp {}, tp {}", r.cp, r.tp))
            }
        };
        scene.rect([at[0] + 0.5, at[1] + 0.5, w - 1.0, h - 1.0], class, note);
    }
}

fn links(
    scene: &mut Scene,
    i: &Inputs<f64>,
    shown: usize,
    columns: usize,
    side: f64,
    corner: &impl Fn(usize) -> [f64; 2],
) {
    let grid = i.sip_mesh || i.sip_torus;
    let centre = |n: usize| {
        let [x, y] = corner(n);
        [x + side / 2.0, y + side / 2.0]
    };
    for n in 1..shown {
        scene.line(centre(n - 1), centre(n), "link");
    }
    if grid {
        // Between rows, each with the one above it; the first of a row has its link already.
        for n in columns..shown {
            let above = (n / columns) * columns * 2 - 1 - n;
            if above + 1 != n {
                scene.line(centre(above), centre(n), "link");
            }
        }
    }
    let ring = !grid && shown > 2;
    if ring {
        let (a, b) = (centre(shown - 1), centre(0));
        let left = 2.0;
        scene.arc(a, [[left, a[1]], [left, b[1]]], b, "wrap");
    }
    if i.sip_torus && shown > 1 {
        let wraps = side * 0.62;
        for n in 0..shown {
            let [x, y] = centre(n);
            scene.line([x - wraps, y], [x + wraps, y], "wrap");
            scene.line([x, y - wraps], [x, y + wraps], "wrap");
        }
    }
}

fn legend(scene: &mut Scene, i: &Inputs<f64>, by_cp: bool, top: f64, width: f64) -> f64 {
    let (what, ranks) = if by_cp { ("cp", i.cp) } else { ("tp", i.tp) };
    let (mut x, mut y) = (12.0, top);
    for rank in 0..(ranks.min(COLOURS) as usize) {
        if x + 56.0 > width {
            (x, y) = (12.0, y + 16.0);
        }
        scene.rect([x, y - 9.0, 10.0, 10.0], format!("r{rank}"), "");
        scene.text([x + 14.0, y], "start", "t2", format!("{what} {rank}"));
        x += 56.0;
    }
    if ranks > COLOURS {
        y += 16.0;
        let text = format!("colours repeat from {what} {COLOURS} to {}", ranks - 1.0);
        scene.text([12.0, y], "start", "t2 small", text);
    }
    let stages = i.pp * i.dp;
    if stages > 1.0 {
        y += 16.0;
        scene.text(
            [12.0, y],
            "start",
            "t2 small",
            format!("{stages} stages and replicas, each paler than the last, four shades"),
        );
    }
    y + 10.0
}

//! How many seeded faults are caught, by what, and whether what is told shows a line that takes part. Every shipped kernel,
//! and texts with barriers and messages, is changed in one place (`change`), run under all detectors (`subject`), and held
//! against the parties of the change (`parties`). What nobody catches must be shown to change nothing (`survivors`).
//! `docs/mutants.md` is the table (`page`): `UPDATE_DOCS=1 cargo test -p tilewright-kernels --test mutants` writes it.

mod change;
mod page;
mod parties;
mod subject;
mod survivors;

use change::{Mutant, mutants};
use page::{Outcome, page};
use parties::{accused, parties};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subject::{By, Change, FILE, Subject, Whole};
use tilewright::core_api::launch::Grid;
use tilewright::diag::Diagnostics;
use tilewright::ir::Module;
use tilewright::ir::text::read;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Sizes at which every line of a kernel matters: more blocks than programs, and last blocks that hold one place, or all.
const SUBJECTS: &[Subject] = &[
    Subject::Shipped { name: "vector_add", kernel: "vector_add", instances: &["n=9217", "n=16384"] },
    Subject::Shipped {
        name: "row_softmax",
        kernel: "row_softmax",
        instances: &["elem=f32,rows=19,columns=24", "elem=f32,rows=16,columns=24"],
    },
    Subject::Shipped {
        name: "matmul",
        kernel: "matmul",
        instances: &["elem=f32,m=129,n=193,k=65", "elem=f32,m=192,n=192,k=128"],
    },
    Subject::Shipped {
        name: "matmul_leaky_relu",
        kernel: "matmul_leaky_relu",
        instances: &["elem=f32,m=129,n=193,k=65", "elem=f32,m=192,n=192,k=128"],
    },
    Subject::Shipped {
        name: "layer_norm",
        kernel: "layer_norm",
        instances: &["elem=f32,rows=37,columns=24", "elem=f32,rows=64,columns=24"],
    },
    Subject::Shipped {
        name: "dropout",
        kernel: "dropout",
        // Each p is the number that one element draws, of one of the four words of a counter: it is kept.
        instances: &[
            "elem=f32,n=9217",
            "elem=f32,n=16384",
            "elem=f32,n=1024,p=0.2501389980316162",
            "elem=f32,n=1024,p=0.25012844800949097",
            "elem=f32,n=1024,p=0.25172555446624756",
            "elem=f32,n=1024,p=0.2509908676147461",
        ],
    },
    Subject::Shipped {
        name: "fused_attention",
        kernel: "fused_attention",
        instances: &[
            "elem=f32,causal=no,h-q=4,h-kv=2,t-q=129,s-kv=193,d-head=8",
            "elem=f32,causal=no,h-q=6,h-kv=2,t-q=128,s-kv=192,d-head=8",
            "elem=f32,causal=no,h-q=2,h-kv=1,t-q=3,s-kv=5,d-head=8",
            "elem=f32,causal=no,h-q=2,h-kv=1,t-q=2,s-kv=70,d-head=8",
        ],
    },
    Subject::Shipped {
        name: "fused_attention, causal",
        kernel: "fused_attention",
        // Head vectors of 2: `scale log2(e)` is more than 1, so that the maximum of a row that has seen nothing must not be scaled.
        instances: &[
            "elem=f32,causal=yes,h-q=4,h-kv=2,t-q=129,s-kv=193,d-head=2",
            "elem=f32,causal=yes,h-q=6,h-kv=2,t-q=128,s-kv=192,d-head=2",
            "elem=f32,causal=yes,h-q=2,h-kv=1,t-q=70,s-kv=3,d-head=2",
            "elem=f32,causal=yes,h-q=2,h-kv=1,t-q=64,s-kv=129,d-head=2",
        ],
    },
    Subject::Shipped {
        name: "grouped_gemm",
        kernel: "grouped_gemm",
        instances: &["elem=f32,problems=1,m=129,n=193,k=65", "elem=f32,problems=3,m=200,n=150,k=200"],
    },
    Subject::Shipped {
        name: "persistent_matmul",
        kernel: "persistent_matmul",
        instances: &["elem=f32,m=321,n=65,k=65", "elem=f32,m=384,n=128,k=64"],
    },
    Subject::Shipped {
        name: "histogram",
        kernel: "histogram",
        instances: &["elem=i32,n=2305,bins=65", "elem=i32,n=4353,bins=64"],
    },
    Subject::Shipped {
        name: "prefix_sum",
        kernel: "prefix_sum",
        instances: &["elem=i32,n=4609", "elem=i32,n=8192", "elem=i32,n=3000,cubes=2"],
    },
    decode("gqa_decode A1", &["mode=A1,elem=f16,acc=f32,tile=16,s-kv=256,h-q=16,h-kv=8,d-head=16"]),
    decode("gqa_decode A2", &["mode=A2,elem=f16,acc=f32,tile=16,s-kv=256,h-q=16,h-kv=8,d-head=16"]),
    decode("gqa_decode A4", &["mode=A4,elem=f16,acc=f32,tile=16,s-kv=256,h-q=16,h-kv=8,d-head=16"]),
    decode(
        "gqa_decode A2, scatter",
        &["mode=A2,reduce=scatter,deal=turns,elem=f16,acc=f32,tile=16,s-kv=256,h-q=10,h-kv=2,d-head=16"],
    ),
    decode("gqa_decode B", &["mode=B,elem=f16,acc=f32,tile=16,s-kv=256,h-q=16,h-kv=8,d-head=16"]),
    // Of the tokens, cut over four PEs and rounded up, the last PE has fewer, or none, and a last tile has some, or one.
    decode(
        "gqa_decode A2, ragged",
        &[
            "mode=A2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=113,h-q=4,h-kv=2,d-head=16",
            "mode=A2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=66,h-q=4,h-kv=2,d-head=16",
            "mode=A2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=5,h-q=4,h-kv=2,d-head=16",
        ],
    ),
    decode(
        "gqa_decode A4, ragged turns",
        &[
            "mode=A4,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=49,h-q=4,h-kv=4,d-head=16",
            "mode=A4,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=47,h-q=4,h-kv=4,d-head=16",
            "mode=A4,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=3,h-q=4,h-kv=4,d-head=16",
        ],
    ),
    // Tokens that some rows see and others do not lie in the last tile, or in the last two, of which one is another PE's.
    decode(
        "gqa_decode A4, causal",
        &[
            "mode=A4,t-q=3,causal=yes,batch=2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=61,h-q=8,h-kv=4,d-head=16",
            "mode=A4,t-q=3,causal=yes,batch=2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=33,h-q=8,h-kv=4,d-head=16",
            "mode=A4,t-q=3,causal=yes,batch=2,reduce=chain,deal=ranges,elem=f16,acc=f32,tile=16,s-kv=3,h-q=8,h-kv=4,d-head=16",
        ],
    ),
    decode(
        "gqa_decode A4, causal, fused",
        &[
            "mode=A4,tier=composite-fused,t-q=3,causal=yes,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=66,h-q=8,h-kv=4,d-head=16",
            "mode=A4,tier=composite-fused,t-q=3,causal=yes,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=33,h-q=8,h-kv=4,d-head=16",
            "mode=A4,tier=composite-fused,t-q=3,causal=yes,reduce=chain,deal=turns,elem=f16,acc=f32,tile=16,s-kv=3,h-q=8,h-kv=4,d-head=16",
        ],
    ),
    // Contexts of whole tiles, with a last tile of one token, and shorter than one; rows that divide among the PEs, and that do not.
    Subject::Shipped {
        name: "gqa_prefill A1",
        kernel: "gqa_prefill",
        instances: &[
            "mode=A1,elem=f16,acc=f32,tile=16,s-kv=49,t-q=9,h-q=4,h-kv=2,d-head=16",
            "mode=A1,elem=f16,acc=f32,tile=16,s-kv=64,t-q=12,h-q=4,h-kv=2,d-head=16",
            "mode=A1,elem=f16,acc=f32,tile=16,s-kv=5,t-q=10,h-q=4,h-kv=2,d-head=16",
        ],
    },
    Subject::Shipped {
        name: "gqa_prefill A2, causal",
        kernel: "gqa_prefill",
        instances: &[
            "mode=A2,tier=composite-fused,causal=yes,elem=f16,acc=f32,tile=32,s-kv=97,t-q=17,h-q=4,h-kv=2,d-head=16",
            "mode=A2,tier=composite-fused,causal=yes,elem=f16,acc=f32,tile=32,s-kv=34,t-q=18,h-q=4,h-kv=2,d-head=16",
            "mode=A2,tier=composite-fused,causal=yes,elem=f16,acc=f32,tile=32,s-kv=17,t-q=17,h-q=4,h-kv=2,d-head=16",
        ],
    },
    // SIPs, rows of cubes and their columns have a middle, and a last row is too short to reach its column.
    shipped("long_decode, 3 SIPs", "long_decode", &["sips=3,cubes=13,pes=1,s-kv=78,h-q=2,d-head=16,acc=f32"]),
    // Few tokens, so that one too many shows; and of each tile some PE has a part.
    shipped("long_decode, primitive", "long_decode", &["cubes=4,pes=2,s-kv=41,tile=3,h-q=2,d-head=16,acc=f32"]),
    shipped(
        "long_decode, tiled",
        "long_decode",
        &["form=primitive_tiled,cubes=3,pes=2,s-kv=25,tile=3,h-q=2,d-head=16,acc=f32"],
    ),
    shipped(
        "long_decode, composite",
        "long_decode",
        &["form=composite,cubes=3,pes=4,s-kv=100,h-q=2,d-head=16,acc=f32"],
    ),
    shipped(
        "long_decode, extended",
        "long_decode",
        &["form=composite_extended,cubes=3,pes=2,s-kv=402,h-q=3,d-head=16,acc=f32"],
    ),
    shipped(
        "fan_out, stationary",
        "fan_out",
        &["policy=stationary,agents=7,t-q=2,suffix=7,cubes=4,pes=4,s-kv=89,tile=3,h-q=2,d-head=16,acc=f32"],
    ),
    shipped(
        "fan_out, distributed",
        "fan_out",
        &["policy=distributed,agents=6,t-q=3,suffix=7,cubes=3,pes=4,s-kv=14,tile=4,h-q=2,d-head=16,acc=f32"],
    ),
    Subject::Text { name: "shift.tir", grid: Grid::cubes(2).pes(8), depth: 4 },
    Subject::Text { name: "halves.tir", grid: Grid::cubes(2).pes(8), depth: 4 },
    Subject::Text { name: "exchange.tir", grid: Grid::cubes(2).pes(8), depth: 3 },
    Subject::Text { name: "stencil.tir", grid: Grid::cubes(2).pes(8), depth: 4 },
    Subject::Text { name: "tree.tir", grid: Grid::cubes(2).pes(8), depth: 4 },
];

const fn decode(name: &'static str, instances: &'static [&'static str]) -> Subject {
    shipped(name, "gqa_decode", instances)
}
const fn shipped(name: &'static str, kernel: &'static str, instances: &'static [&'static str]) -> Subject {
    Subject::Shipped { name, kernel, instances }
}

/// Steps that a mutant may take, for one of the unchanged program.
const BUDGET: u64 = 20;

/// A program unchanged.
struct Known {
    subject: &'static Subject,
    module: Arc<Module>,
    sizes: Vec<Whole>,
    mutants: Vec<Mutant>,
}

impl Known {
    fn of(subject: &'static Subject) -> Known {
        let text = subject.text();
        let module = Arc::new(read(&text, FILE).unwrap_or_else(|e| panic!("{}: {e}", subject.name())));
        let sizes = (0..subject.sizes()).map(|size| subject.whole(size, &module)).collect();
        let mut mutants = mutants(&text, &module);
        // Without messages no queue is needed.
        let needed = subject.depth_needed(&module);
        mutants.extend(needed.checked_sub(1).map(|depth| Mutant::queues_of(&text, depth)));
        Known { subject, module, sizes, mutants }
    }
    /// Who catches a mutant, at whichever size: somebody who shows lines if there is one.
    fn caught(&self, change: &Change) -> (By, Diagnostics) {
        let judge = |size: usize| {
            let whole = &self.sizes[size];
            let change = Change { max_steps: whole.steps * BUDGET, ..change.clone() };
            self.subject.judge(size, &change, (&self.module, whole))
        };
        let mut found = (0..self.sizes.len()).map(judge);
        let mut best = found.next().unwrap_or((By::Nobody, Diagnostics::default()));
        while !best.0.shows_lines() {
            let Some(next) = found.next() else { break };
            if next.0 < best.0 {
                best = next;
            }
        }
        best
    }
    /// What becomes of a mutant, or what is wrong with how it was told.
    fn outcome(&self, mutant: &Mutant) -> Result<Outcome, String> {
        let outcome = |by, survivor| Outcome { program: self.subject.name(), kind: mutant.kind, by, survivor };
        let lines = mutant.lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let place = format!("{}: {}, line {lines}: {}", self.subject.name(), mutant.kind.name(), mutant.code());
        let (module, (by, found)) = match read(&mutant.text, FILE) {
            Err(found) => (None, (By::Verifier, found)),
            Ok(module) => {
                let change = Change { module: Arc::new(module), depth: mutant.depth, max_steps: u64::MAX };
                let caught = self.caught(&change);
                if caught.0 == By::Nobody {
                    let change = Change { max_steps: self.sizes.iter().map(|s| s.steps * BUDGET).sum(), ..change };
                    let why = survivors::shown(self.subject, (&self.module, &self.sizes), mutant, &change);
                    let survivor = |why| outcome(By::Nobody, Some((mutant.code().to_string(), why)));
                    return why.map(survivor).ok_or_else(|| format!("{place}: survives"));
                }
                (Some(change.module), caught)
            }
        };
        if by.shows_lines() {
            let parties = parties(mutant, &self.module, module.as_deref());
            accused(&found, FILE, &parties)
                .map_err(|message| format!("{place}: {message}, not at one of {parties:?}\n{found}"))?;
        }
        Ok(outcome(by, None))
    }
}

#[test]
fn every_seeded_fault_is_caught_at_a_line_that_takes_part_or_changes_nothing() {
    let known: Vec<Known> = SUBJECTS.par_iter().map(Known::of).collect();
    let all: Vec<(&Known, &Mutant)> = known.iter().flat_map(|k| k.mutants.iter().map(move |m| (k, m))).collect();
    let results: Vec<Result<Outcome, String>> = all.par_iter().map(|(known, mutant)| known.outcome(mutant)).collect();
    let (outcomes, wrong): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    let stale = survivors::stale(outcomes.iter().filter_map(|o| Some(o.survivor.as_ref()?.1.as_str())));
    assert!(stale.is_empty(), "no survivor has these reasons: {stale:?}");

    let page = page(&outcomes);
    println!("{page}");
    let path = root().join("docs/mutants.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "docs/mutants.md is not what this test found: run it with UPDATE_DOCS=1");
}

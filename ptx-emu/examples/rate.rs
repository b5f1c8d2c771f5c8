//! How many thread-instructions a second the emulator runs, by the processor's time and by the wall's: `cargo run --release -p tilewright-ptx-emu --example rate`.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;
use tilewright_ptx_emu::{Fault, Launch, Limits, Memory, Module, run};

/// A loop over arithmetic alone; one that also streams; one that also goes through shared memory.
const PARTS: [(&str, &str); 3] = [
    ("arithmetic", ""),
    ("global memory", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];\nst.global.v4.f32 [%d2], {%f1, %f2, %f3, %f0};\n"),
    ("shared memory", "st.shared.f32 [%r2], %f0;\nbar.sync 0;\nld.shared.f32 %f1, [%r3];\nbar.sync 0;\n"),
];

fn text(part: &str) -> String {
    format!(
        ".version 7.4\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[1024];\n\
         .visible .entry k(.param .u64 x, .param .u64 y) .reqntid 256, 1, 1 {{\n\
         .reg .pred %p<2>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<6>;\n\
         ld.param.u64 %d1, [x];\nld.param.u64 %d2, [y];\nmov.u32 %r0, %tid.x;\nmov.u32 %r4, %ctaid.x;\n\
         mad.lo.u32 %r5, %r4, 256, %r0;\nmul.wide.u32 %d3, %r5, 16;\nadd.u64 %d1, %d1, %d3;\nadd.u64 %d2, %d2, %d3;\n\
         mov.u32 %r6, tile;\nmad.lo.u32 %r2, %r0, 4, %r6;\nxor.b32 %r7, %r0, 32;\nmad.lo.u32 %r3, %r7, 4, %r6;\n\
         mov.u32 %r1, 0;\nmov.f32 %f0, 0f3F800000;\n\
         $L:\n{part}fma.rn.f32 %f0, %f0, 0f3F7F0000, 0f3C000000;\nadd.rn.f32 %f0, %f0, 0f3C000000;\n\
         mul.rn.f32 %f0, %f0, 0f3F000000;\nmax.f32 %f0, %f0, 0f00000000;\nadd.u32 %r1, %r1, 1;\nshl.b32 %r7, %r1, 3;\n\
         xor.b32 %r7, %r7, %r0;\nsetp.lt.u32 %p0, %r1, 1000;\n@%p0 bra $L;\nret;\n}}\n"
    )
}

/// Seconds that this process has had a core for.
fn processor() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn main() -> Result<(), Fault> {
    const BLOCKS: u32 = 32;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    for (name, part) in PARTS {
        let module = Module::parse(&text(part))?;
        for (how, pool) in [("one core", one.as_ref().ok()), ("all cores", None)] {
            for races in [true, false] {
                let mut memory = Memory::new(1 << 30);
                let bytes = u64::from(BLOCKS) * 4096;
                let place = |memory: &mut Memory| memory.alloc(bytes).unwrap_or(0);
                let (x, y) = (place(&mut memory), place(&mut memory));
                memory.write(x, &vec![0; bytes as usize]).unwrap_or(());
                let params: Vec<u8> = [x, y].iter().flat_map(|at| at.to_le_bytes()).collect();
                let launch = Launch { blocks: BLOCKS, threads: None, shared_bytes: 0, params: &params };
                let limits = Limits { races, ..Limits::default() };
                let (begin, busy) = (Instant::now(), processor());
                let mut all = || run(&module.entries()[0], &launch, &mut memory, limits);
                let ran = match pool {
                    Some(pool) => pool.install(all),
                    None => all(),
                }?;
                let rate = |seconds: f64| ran.steps as f64 / seconds / 1e6;
                let (core, wall) = (rate(processor() - busy), rate(begin.elapsed().as_secs_f64()));
                let races = if races { "races watched" } else { "not watched" };
                println!("{name:<14} {how:<10} {races:<14} {core:>6.0} M/s a core, {wall:>6.0} M/s in all");
            }
        }
    }
    Ok(())
}

//! Texts in, values or faults out.
#![allow(dead_code, reason = "each test file uses its part")]

use tilewright_ptx_emu::{Fault, Launch, Limits, Memory, Module, Ran, run};

/// An argument, which is one parameter.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A buffer that holds these words; afterwards, what it holds then.
    Words(Vec<u32>),
    /// A buffer of so many bytes that nobody has written.
    Unwritten(usize),
    U32(u32),
}

/// Runs the only kernel of a text.
pub fn run_with(text: &str, blocks: u32, args: &mut [Arg], limits: Limits) -> Result<Ran, Fault> {
    let module = Module::parse(text)?;
    let mut memory = Memory::new(1 << 28);
    let (mut params, mut places) = (Vec::new(), Vec::new());
    for arg in args.iter() {
        let bytes = match arg {
            Arg::U32(n) => {
                params.extend_from_slice(&n.to_le_bytes());
                places.push(0);
                continue;
            }
            Arg::Words(words) => words.len() * 4,
            Arg::Unwritten(bytes) => *bytes,
        };
        let at = memory.alloc(bytes as u64).expect("room");
        if let Arg::Words(words) = arg {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            memory.write(at, &bytes).expect("its own");
        }
        params.resize(params.len().next_multiple_of(8), 0);
        params.extend_from_slice(&at.to_le_bytes());
        places.push(at);
    }
    let entry = &module.entries()[0];
    let ran = run(entry, &Launch { blocks, threads: None, shared_bytes: 0, params: &params }, &mut memory, limits)?;
    for (arg, at) in args.iter_mut().zip(places) {
        if let Arg::Words(words) = arg {
            let mut bytes = vec![0; words.len() * 4];
            memory.read(at, &mut bytes).expect("its own");
            *words = bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        }
    }
    Ok(ran)
}
pub fn run_text(text: &str, blocks: u32, args: &mut [Arg]) -> Result<Ran, Fault> {
    run_with(text, blocks, args, Limits::default())
}

/// A kernel `k` of these parameters, with registers of every size and 1 KiB of shared memory called `tile`. `%d0` on are the
/// parameters' addresses, `%r0` is the thread.
pub fn kernel(threads: u32, buffers: usize, body: &str) -> String {
    let params: Vec<String> = (0..buffers).map(|i| format!(".param .u64 a{i}")).collect();
    let load: String = (0..buffers).map(|i| format!("ld.param.u64 %d{i}, [a{i}];\n")).collect();
    format!(
        ".version 7.8\n.target sm_90a\n.address_size 64\n.visible .entry k({}) .reqntid {threads}, 1, 1 {{\n\
         .shared .align 16 .b8 tile[1024];\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<24>; .reg .b64 %d<24>;\n\
         {load}mov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n",
        params.join(", ")
    )
}
/// A fault of a run that has to have one, as it is told.
pub fn fault(text: &str, blocks: u32, args: &mut [Arg]) -> String {
    match run_text(text, blocks, args) {
        Err(fault) => fault.to_string(),
        Ok(_) => panic!("no fault in\n{text}"),
    }
}
/// What a register holds after one instruction on registers that hold these bits.
pub fn value(inst: &str, given: &[(&str, u64)], of: &str) -> u64 {
    let ty = |name: &str| match name.as_bytes()[1] {
        b'h' => "b16",
        b'd' => "b64",
        _ => "b32",
    };
    let movs: String = given.iter().map(|(name, bits)| format!("mov.{} {name}, {bits};\n", ty(name))).collect();
    let store = match of.as_bytes()[1] {
        b'p' => format!("selp.b32 %r20, 1, 0, {of};\ncvt.u64.u32 %d12, %r20;"),
        b'h' => format!("cvt.u64.u16 %d12, {of};"),
        b'd' => format!("mov.b64 %d12, {of};"),
        _ => format!("cvt.u64.u32 %d12, {of};"),
    };
    let text = kernel(1, 1, &format!("{movs}{inst};\n{store}\nst.global.b64 [%d0], %d12;"));
    let mut args = [Arg::Words(vec![0; 2])];
    if let Err(fault) = run_text(&text, 1, &mut args) {
        panic!("{inst}: {fault}");
    }
    let [Arg::Words(words)] = &args else { panic!("a buffer stays one") };
    u64::from(words[1]) << 32 | u64::from(words[0])
}

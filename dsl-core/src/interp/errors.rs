//! What can go wrong in a run, worded and coded. `stall` words who waits for whom.

use super::machine::Limit;
use super::mesh::NoLink;
use super::pe::Halt;
use super::record::{Record, RecordKind};
use super::stall::Scene;
use crate::diag::{CodePage, Diagnostic};
use crate::ir::text::op_text;
use crate::ir::{Op, OpId};
use crate::passes::NO_TURN;

pub(crate) mod codes {
    pub const DEADLOCK: &str = "TW-E0301";
    pub const NO_SENDER: &str = "TW-E0302";
    pub const NO_RECEIVER: &str = "TW-E0303";
    pub const LEFTOVER: &str = "TW-E0304";
    pub const BARRIER: &str = "TW-E0305";
    pub const OFF_MESH: &str = "TW-E0306";
    pub const TO_ITSELF: &str = "TW-E0307";
    pub const LOOP_STEP: &str = "TW-E0308";
    pub const NO_TURN: &str = "TW-E0309";
    pub const LOAD_OUTSIDE: &str = "TW-E0310";
    pub const STORE_OUTSIDE: &str = "TW-E0311";
    pub const MESSAGE_TYPE: &str = "TW-E0312";
    pub const DIVISION: &str = "TW-E0313";
    pub const ASSERT: &str = "TW-E0314";
    pub const NEEDS_DATA: &str = "TW-E0315";
    pub const STEP_LIMIT: &str = "TW-E0316";
    pub const TIME_LIMIT: &str = "TW-E0317";
    pub const LAUNCH: &str = "TW-E0318";
    pub const INVALID: &str = "TW-E0319";
    pub const ORDER: &str = "TW-E0324";
}

/// The codes of runs, for `tilewright explain`.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: codes::DEADLOCK,
        title: "programs wait for each other",
        page: "Every program that has not ended waits for a message, for space in a queue, or at a barrier, and what it \
               waits for can only come from another that waits. A queue holds as many messages as the launch's depth; \
               a send to a full queue waits. Receive before sending more, or raise the depth.",
    },
    CodePage {
        code: codes::NO_SENDER,
        title: "a recv without a send",
        page: "A program waits for a message from one that has ended, so it would wait for ever. Both ends must \
               agree on the number of messages, also where it depends on a parameter. The error names the message \
               by its number in the queue, and what the sender did send.",
    },
    CodePage {
        code: codes::NO_RECEIVER,
        title: "a send without a recv, into a full queue",
        page: "A program waits for space in a queue whose reader has ended, so it would wait for ever. Receive as \
               many messages as are sent. A deeper queue would only hide it: what is left in a queue at the end \
               is an error, too.",
    },
    CodePage {
        code: codes::LEFTOVER,
        title: "messages left in a queue",
        page: "All programs have ended, and messages were sent that nobody received. It is an error even though nothing \
               waits, because with a smaller depth the sender would.",
    },
    CodePage {
        code: codes::BARRIER,
        title: "a barrier that not all programs reach",
        page: "Barriers of a scope match by count: the n-th one is passed when every program of the cube (or launch) has \
               reached its n-th, at whatever line. A program that ends early, or skips one in an `if`, leaves the others \
               waiting.",
    },
    CodePage {
        code: codes::OFF_MESH,
        title: "a port off the mesh",
        page: "The port leads where no program is: past the edge of the 2 x 4 PEs of a cube or the 4 x 4 cubes of a SIP, \
               or to a PE that the launch does not have. Meshes do not wrap around; only SIPs form a ring. Guard the \
               line with a condition on `pe_id()` or `cube_id()`.",
    },
    CodePage {
        code: codes::TO_ITSELF,
        title: "a port to the program itself",
        page: "A queue joins two programs. `Port::peer` of the own PE, or a SIP port in a launch over one SIP, \
               leads back, and a program that waits for its own message waits for ever. Keep the value in a \
               variable, or guard the line.",
    },
    CodePage {
        code: codes::LOOP_STEP,
        title: "a loop step that is not positive",
        page: "A device loop counts up: its step must be at least 1 when the loop is reached, even if it makes no \
               turn. With 0 it would never end. The step is a device value here, so only the run could tell; \
               `assert_k!` says sooner what a kernel expects.",
    },
    CodePage {
        code: codes::NO_TURN,
        title: "a map_reduce without a turn",
        page: "A map_reduce merges the values of its turns, and without a turn there is no value: the language has no value \
               to begin with, as a `for` has in what it carries. The range is a device value here, so only the run \
               could tell. Put the map_reduce into an `if` that asks for a turn, or write a `for`.",
    },
    CodePage {
        code: codes::LOAD_OUTSIDE,
        title: "a load outside its view",
        page: "Elements outside the view were read as 0 and the run went on. `load_or` gives them a value of your choice, \
               `.limit(axis, n)` says how many places exist. The error shows the first coordinate outside.",
    },
    CodePage {
        code: codes::STORE_OUTSIDE,
        title: "a store or atomic outside its view",
        page: "Elements outside the view were dropped and the run went on, so that all such lines are told at \
               once; on a real machine they would have changed other memory. `store_inside` drops them without an \
               error, `.limit(axis, n)` says how many places exist.",
    },
    CodePage {
        code: codes::MESSAGE_TYPE,
        title: "recv expects another type than was sent",
        page: "The next message in the queue has another element type or shape than the recv asks for. Give both ends one \
               type alias, and receive the parts of a struct in the order they were sent.",
    },
    CodePage {
        code: codes::DIVISION,
        title: "an integer divided by zero",
        page: "The quotient and the remainder of a division by zero are 0, and the run went on. The language \
               fixes that value so that all backends agree, but a kernel that relies on it is most likely wrong. \
               Guard the line, or select a divisor that is not zero.",
    },
    CodePage {
        code: codes::ASSERT,
        title: "an assertion does not hold",
        page: "The condition of an `assert_k!` was false on the device. The run went on; the error counts how \
               often, and names the first program. The text is the kernel author's: it says what the kernel \
               expects of its arguments. `print_k!` before the line shows the values.",
    },
    CodePage {
        code: codes::NEEDS_DATA,
        title: "a tensor without elements",
        page: "The tensor was made from a shape only, which is enough to trace and to time a kernel, but this op reads or \
               writes its elements. Give the launch a tensor with data.",
    },
    CodePage {
        code: codes::STEP_LIMIT,
        title: "the step limit is reached",
        page: "The interpreter stops after a number of ops (10^9 unless the caller says otherwise), so that a \
               loop without an end does not hang. The error shows the op that was reached last and the loops around it, \
               and what had gone wrong before. Raise the limit if the kernel is that long.",
    },
    CodePage {
        code: codes::TIME_LIMIT,
        title: "the time limit is reached",
        page: "The interpreter stops after the time that the caller allows, by default any. The error shows the \
               op that was reached last. Either a loop does not end, or the sizes are too large for an \
               interpreter: values can be checked at smaller sizes, and time needs no values (`--timing-only`).",
    },
    CodePage {
        code: codes::LAUNCH,
        title: "the launch does not fit the kernel",
        page: "An argument differs from its parameter in kind, element type or lengths, an axis whose `len` the kernel asks \
               for is longer than i32 holds, or the grid has no programs or too many.",
    },
    CodePage {
        code: codes::INVALID,
        title: "the module is not valid",
        page: "An op was reached that breaks a rule of the IR. Kernels that were traced or parsed are verified \
               before they run, so this module was made or changed by hand, or by a pass. Run the verifier on the \
               module first: it names the rule.",
    },
    CodePage {
        code: codes::ORDER,
        title: "values depend on the order in which programs run",
        page: "The launch was run several times, each time with its programs in another order, and the values in its tensors \
               or the lines it printed differ. Programs that share memory need barriers; the check for races names the \
               lines.",
    },
];

/// `1 message`, `2 messages`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The error of `programs` that had to stop at one op for one reason; `halt` is that of the first of them.
pub fn halted(scene: Scene<'_>, op: OpId, halt: &Halt, programs: &[usize]) -> Diagnostic {
    let (m, loc) = (scene.module, scene.module.op(op).loc);
    let who = scene.names(programs);
    let what = op_text(m, op);
    match halt {
        Halt::Link(NoLink::OffMesh) => Diagnostic::new(codes::OFF_MESH, format!("`{what}` leads off the mesh"))
            .at(m, loc, format!("no neighbour there for {who}"))
            .note(format!("the launch is {}", scene.grid))
            .next("guard the line with a condition on `pe_id()` or `cube_id()`"),
        Halt::Link(NoLink::ToItself) => {
            Diagnostic::new(codes::TO_ITSELF, format!("`{what}` leads back to the program itself"))
                .at(m, loc, format!("reached by {who}"))
                .next("name another PE, or keep the value")
        }
        Halt::MessageType { sent, send, from } => {
            let expects = m.op(op).results.get(0).map_or_else(String::new, |v| m.ty(v).to_string());
            Diagnostic::new(codes::MESSAGE_TYPE, format!("recv expects {expects}, the matching send carries {sent}"))
                .at(m, loc, format!("{expects} expected here, by {who}"))
                .at(m, m.op(*send).loc, format!("{} sends {sent} here", scene.name(*from)))
                .next("give both ends one type, and receive in the order of the sends")
        }
        Halt::LoopStep(step) => loop_step(scene, op, *step, &who),
        Halt::NoTurn => no_turn(scene, op, &who),
        Halt::NeedsData(param) => {
            let name = m.params.get(*param).and_then(|v| m.value(*v).name.as_deref()).unwrap_or("a view");
            Diagnostic::new(codes::NEEDS_DATA, format!("`{name}` has a shape but no elements"))
                .at(m, loc, format!("needed here by {who}"))
                .next("launch with a tensor that has data")
        }
        Halt::Invalid => Diagnostic::new(codes::INVALID, format!("`{what}` breaks a rule of the IR"))
            .at(m, loc, format!("reached by {who}"))
            .next("run the verifier on this module"),
    }
}

fn loop_step(scene: Scene<'_>, op: OpId, step: i128, who: &str) -> Diagnostic {
    Diagnostic::new(codes::LOOP_STEP, format!("the step of this loop is {step}"))
        .at(scene.module, scene.module.op(op).loc, format!("reached by {who}"))
        .next("a step is at least 1")
}

fn no_turn(scene: Scene<'_>, op: OpId, who: &str) -> Diagnostic {
    Diagnostic::new(codes::NO_TURN, "this map_reduce takes no turn: its range is empty".to_string())
        .at(scene.module, scene.module.op(op).loc, format!("reached by {who}"))
        .next("guard it with an `if`, or write a `for`, which has a value to begin with")
}

/// The error of what was recorded at one op.
pub fn record(scene: Scene<'_>, r: &Record) -> Diagnostic {
    let (m, loc) = (scene.module, scene.module.op(r.op).loc);
    let places = plural(r.count, "element", "elements");
    let at = if r.coordinate.is_empty() { String::new() } else { format!(" at {:?}", r.coordinate) };
    let first = format!("first by {}{at}", scene.name(r.pe));
    match r.kind {
        RecordKind::LoadOutside => Diagnostic::new(codes::LOAD_OUTSIDE, format!("{places} loaded outside the view"))
            .at(m, loc, first)
            .note(format!("in `{}`; they were read as 0", op_text(m, r.op)))
            .next("use `load_or`, or `.limit(axis, n)`"),
        RecordKind::StoreOutside => Diagnostic::new(codes::STORE_OUTSIDE, format!("{places} stored outside the view"))
            .at(m, loc, first)
            .note(format!("in `{}`; they were dropped", op_text(m, r.op)))
            // An atomic has one form only.
            .next(if matches!(m.op(r.op).op, Op::Store(_)) {
                "use `store_inside`, or `.limit(axis, n)`"
            } else {
                "say with `.limit(axis, n)` how many places exist"
            }),
        RecordKind::DivisionByZero => {
            let times = plural(r.count, "time", "times");
            Diagnostic::new(codes::DIVISION, format!("division by zero, {times}"))
                .at(m, loc, first)
                .note(format!("in `{}`; the result is 0", op_text(m, r.op)))
                .next("guard the line, or divide by `select(b == 0, 1, b)`")
        }
        // What `passes::expand` puts in front of the turns.
        RecordKind::AssertFailed if matches!(&m.op(r.op).op, Op::Assert(o) if o.text.0 == NO_TURN) => {
            no_turn(scene, r.op, &who(scene, r))
        }
        RecordKind::AssertFailed => {
            let times = plural(r.count, "time", "times");
            let text = if let Op::Assert(o) = &m.op(r.op).op { o.text.0.as_str() } else { "" };
            Diagnostic::new(codes::ASSERT, format!("assertion failed, {times}: {text}")).at(m, loc, first)
        }
        RecordKind::LoopStep => {
            let step = r.coordinate.first().copied().unwrap_or_default();
            loop_step(scene, r.op, i128::from(step), &who(scene, r))
        }
        RecordKind::NoTurn => no_turn(scene, r.op, &who(scene, r)),
    }
}

/// The programs that a fault has stopped.
fn who(scene: Scene<'_>, r: &Record) -> String {
    match r.count {
        1 => scene.name(r.pe),
        n => format!("{} and {} more", scene.name(r.pe), n - 1),
    }
}

/// `loops`: those that the program was in, the innermost first.
pub(super) fn limit(scene: Scene<'_>, (op, loops): (OpId, &[OpId]), pe: usize, limit: Limit) -> Diagnostic {
    let (m, loc) = (scene.module, scene.module.op(op).loc);
    let mut d = match limit {
        Limit::Steps(n) => Diagnostic::new(codes::STEP_LIMIT, format!("stopped after {n} ops")),
        Limit::Time(t) => Diagnostic::new(codes::TIME_LIMIT, format!("stopped after {} s", t.as_secs_f64())),
    };
    d = d.at(m, loc, format!("{} was here", scene.name(pe)));
    for around in loops.iter().filter(|around| **around != op) {
        d = d.at(m, m.op(*around).loc, "in this loop");
    }
    d.next("look for a loop that does not end, or raise the limit")
}

pub fn launch(text: String) -> Diagnostic {
    Diagnostic::new(codes::LAUNCH, text).next("launch with a grid and arguments that fit the kernel's parameters")
}

//! What the lanes of a warp do together, barriers, and control.

use super::Unread;
use super::operands::Operands;
use crate::alu::memory::update;
use crate::inst::{BarVote, Op, Shuffle, Ty, Vote};

const SHUFFLES: [(&str, Shuffle); 4] =
    [("bfly", Shuffle::Bfly), ("up", Shuffle::Up), ("down", Shuffle::Down), ("idx", Shuffle::Idx)];
const VOTES: [(&str, Vote); 4] = [("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uni), ("ballot", Vote::Ballot)];

/// `None`: of another family.
pub(crate) fn op(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Option<Op>, Unread> {
    Ok(Some(match opcode {
        "shfl" => {
            synchronous(o)?;
            o.drop_all(&["b32"]);
            let mode = o.one_of(&SHUFFLES).ok_or("a shuffle of this kind")?;
            let (d, p) = o.reg_and_pred()?;
            let d = d.ok_or("a shuffle without a destination")?;
            let (a, b, c) = (o.src(Ty::B32)?, o.src(Ty::U32)?, o.src(Ty::U32)?);
            Op::Shfl { mode, d, p, a, b, c, mask: o.src(Ty::B32)? }
        }
        "vote" => {
            synchronous(o)?;
            o.drop_all(&["pred", "b32"]);
            match o.one_of(&VOTES).ok_or("a vote of this kind")? {
                Vote::Ballot => Op::Ballot { d: o.reg()?, a: o.truth()?, mask: o.src(Ty::B32)? },
                mode => Op::VoteTruth { mode, d: o.pred()?, a: o.truth()?, mask: o.src(Ty::B32)? },
            }
        }
        "match" => {
            synchronous(o)?;
            let all = o.one_of(&[("all", true), ("any", false)]).ok_or("a match of this kind")?;
            let ty = o.ty()?;
            let (d, p) = o.reg_and_pred()?;
            let d = d.ok_or("a match without a destination")?;
            Op::Match { all, d, p, a: o.src(ty)?, mask: o.src(Ty::B32)? }
        }
        "redux" => {
            synchronous(o)?;
            let name = ["add", "min", "max", "and", "or", "xor"].into_iter().find(|name| o.has(name));
            let (name, ty) = (name.ok_or("a reduction of this kind")?, o.ty()?);
            let f = update(name, ty).filter(|_| ty.bits() == 32).ok_or("a reduction of this type")?;
            Op::Reduce { f, d: o.reg()?, a: o.src(ty)?, mask: o.src(Ty::B32)? }
        }
        "elect" => {
            synchronous(o)?;
            let (d, p) = o.reg_and_pred()?;
            Op::Elect { d, p: p.ok_or("an election without a predicate")?, mask: o.src(Ty::B32)? }
        }
        "activemask" => {
            o.drop_all(&["b32"]);
            Op::ActiveMask { d: o.reg()? }
        }
        "bar" if o.has("warp") => {
            synchronous(o)?;
            Op::BarWarp { mask: o.src(Ty::B32)? }
        }
        "bar" | "barrier" => {
            o.drop_all(&["cta", "aligned"]);
            if o.has("red") {
                let any = o.one_of(&[("or", true), ("and", false)]).filter(|_| o.has("pred"));
                let (any, d, id) = (any.ok_or("a barrier of this kind")?, o.pred()?, o.src(Ty::U32)?);
                let count = if o.left() > 1 { Some(o.src(Ty::U32)?) } else { None };
                let vote = Some(BarVote { any, d, a: o.truth()? });
                return Ok(Some(Op::Bar { id, count, waits: true, vote }));
            }
            let waits = o.one_of(&[("sync", true), ("arrive", false)]).ok_or("a barrier of this kind")?;
            let id = o.src(Ty::U32)?;
            let count = if o.left() > 0 { Some(o.src(Ty::U32)?) } else { None };
            if !waits && count.is_none() {
                return Err("an arrival without the number of threads".into());
            }
            Op::Bar { id, count, waits, vote: None }
        }
        "membar" | "fence" => {
            o.drop_all(&["sc", "acq_rel"]);
            let wide = o.one_of(&[("cta", false), ("cluster", true), ("gpu", true), ("gl", true), ("sys", true)]);
            Op::Fence { wide: wide.ok_or("a fence of this kind")? }
        }
        "bra" => {
            o.drop_all(&["uni"]);
            Op::Bra { to: o.label()? }
        }
        "ret" | "exit" => {
            o.drop_all(&["uni"]);
            Op::Ret
        }
        "trap" => Op::Trap,
        "nanosleep" => {
            o.drop_all(&["u32"]);
            o.src(Ty::U32)?;
            Op::Nothing
        }
        // The kernels of a stream run one after the other here.
        "griddepcontrol" => {
            o.drop_all(&["wait", "launch_dependents"]);
            Op::Nothing
        }
        _ => return Ok(None),
    }))
}
fn synchronous(o: &mut Operands<'_, '_, '_>) -> Result<(), Unread> {
    if o.has("sync") { Ok(()) } else { Err("an instruction of the warp without `.sync`".into()) }
}

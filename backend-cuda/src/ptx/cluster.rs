//! Instructions between the CTAs of a cluster (PTX.md 10). mbarriers take their unqualified forms: a message publishes what
//! it carries, and nothing in global memory.

use super::inst::{Addr, Base, Src};
use super::print::{addr, vector};
use super::ty::Reg;

/// `at` is in this CTA's shared memory, unless it is said to be another's.
#[derive(Clone, Debug, PartialEq)]
pub enum Cluster {
    /// The place that corresponds to `a` in the CTA of this rank.
    Map { d: Reg, a: Reg, rank: Src },
    /// An mbarrier whose phases take one arrival.
    Init { at: Addr },
    /// What was initialised before is known to whoever the cluster's next barrier lets go.
    InitFence,
    /// Comes to the barrier of the cluster; `release`: with all that was written before.
    Arrive { release: bool },
    /// Waits there. All threads of the CTA are in step afterwards.
    Wait,
    /// One, two or four words into another CTA, behind the thread's back; an mbarrier there counts their bytes.
    Store { at: Addr, a: Vec<Reg>, barrier: Addr },
    /// One arrival, and the bytes that the phase waits for besides.
    Expect { at: Addr, bytes: u32 },
    /// The same at another CTA's.
    Ask { at: Addr, bytes: Src },
    /// So many bytes are counted there as if they had come.
    Fill { at: Addr, bytes: u32 },
    /// One arrival at another CTA's mbarrier.
    Tell { at: Addr },
    /// A store into another CTA.
    Put { at: Addr, a: Reg },
    /// Whether the phase of this parity is over; sleeps for a while if it is not.
    TryWait { d: Reg, at: Addr, parity: Src },
}

impl Cluster {
    pub(super) fn text(&self) -> String {
        match self {
            Cluster::Map { d, a, rank } => format!("mapa.shared::cluster.u32 {d}, {a}, {}", number(*rank)),
            Cluster::Init { at } => format!("mbarrier.init.shared::cta.b64 {}, 1", addr(*at)),
            Cluster::InitFence => "fence.mbarrier_init.release.cluster".to_string(),
            Cluster::Arrive { release: false } => "barrier.cluster.arrive.relaxed.aligned".to_string(),
            Cluster::Arrive { release: true } => "barrier.cluster.arrive.release.aligned".to_string(),
            Cluster::Wait => "barrier.cluster.wait.acquire.aligned".to_string(),
            Cluster::Store { at, a, barrier } => {
                let many = if a.len() > 1 { format!(".v{}", a.len()) } else { String::new() };
                format!(
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{many}.b32 {}, {}, {}",
                    addr(*at),
                    vector(a),
                    addr(*barrier)
                )
            }
            Cluster::Expect { at, bytes } => {
                format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, {bytes}", addr(*at))
            }
            Cluster::Ask { at, bytes } => {
                format!("mbarrier.arrive.expect_tx.shared::cluster.b64 _, {}, {}", addr(*at), number(*bytes))
            }
            Cluster::Fill { at, bytes } => {
                format!("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 {}, {bytes}", addr(*at))
            }
            Cluster::Put { at, a } => format!("st.shared::cluster.u32 {}, {a}", addr(*at)),
            Cluster::Tell { at } => format!("mbarrier.arrive.shared::cluster.b64 _, {}", addr(*at)),
            Cluster::TryWait { d, at, parity } => {
                format!("mbarrier.try_wait.parity.shared::cta.b64 {d}, {}, {}", addr(*at), number(*parity))
            }
        }
    }
    /// Every register that is named, and whether it is written.
    pub(super) fn each_reg(&self, f: &mut dyn FnMut(Reg, bool)) {
        let (mut read, mut at, mut written): (Vec<Reg>, Vec<Addr>, Option<Reg>) = Default::default();
        match self {
            Cluster::Map { d, a, rank } => {
                read.push(*a);
                read.extend(register(*rank));
                written = Some(*d);
            }
            Cluster::Store { at: to, a, barrier } => {
                read.extend(a);
                at.extend([*to, *barrier]);
            }
            Cluster::TryWait { d, at: of, parity } => {
                read.extend(register(*parity));
                at.push(*of);
                written = Some(*d);
            }
            Cluster::Ask { at: of, bytes } => {
                read.extend(register(*bytes));
                at.push(*of);
            }
            Cluster::Put { at: of, a } => {
                read.push(*a);
                at.push(*of);
            }
            Cluster::Init { at: of }
            | Cluster::Expect { at: of, .. }
            | Cluster::Fill { at: of, .. }
            | Cluster::Tell { at: of } => at.push(*of),
            Cluster::InitFence | Cluster::Arrive { .. } | Cluster::Wait => {}
        }
        read.extend(at.iter().filter_map(|at| match at.base {
            Base::Reg(reg) => Some(reg),
            Base::Params => None,
        }));
        written.into_iter().for_each(|reg| f(reg, true));
        read.into_iter().for_each(|reg| f(reg, false));
    }
    /// Whether the result is equal in all threads if what it is made of is.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self, Cluster::Map { .. })
    }
}

fn number(a: Src) -> String {
    match a {
        Src::Reg(reg) => reg.to_string(),
        Src::Imm(n) => n.to_string(),
    }
}
fn register(a: Src) -> Option<Reg> {
    match a {
        Src::Reg(reg) => Some(reg),
        Src::Imm(_) => None,
    }
}

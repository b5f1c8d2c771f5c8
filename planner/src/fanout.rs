//! Agents that share a prefix: where their query rows meet the K and V of one KV head, which lies on many PEs (option
//! `fanout`).
//!
//! Stationary-KV: every PE gets all rows and works on its own positions; partial outputs are merged over the PEs.
//! Distributed-Q: groups of PEs share the rows; each group still needs all of K and V, read from the others. Values do not
//! change in either; only the number of rows grows with the agents.

use crate::errors::Fault;
use crate::formula::{Dim, Expr, Graph, Num};
use crate::inputs::Inputs;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Agents<N: Num> {
    /// Agents that share the prefix.
    pub agents: N,
    /// Private tokens of each, whose rows go over the prefix.
    pub tokens: N,
    /// Cubes over which one KV head lies.
    pub cubes: N,
    /// Groups of Distributed-Q.
    pub groups: N,
    /// Pages of K and V that a new assignment of rows copies, in bytes.
    pub remap_bytes: N,
    /// Update of the page table.
    pub table_s: N,
}

impl Agents<f64> {
    /// # Errors
    /// `TW-E0712`: a count below 1, or more groups than PEs.
    pub fn check(&self, pes_per_cube: f64) -> Result<(), Fault> {
        let counts =
            [("--agents", self.agents), ("--tokens", self.tokens), ("--cubes", self.cubes), ("--groups", self.groups)];
        for (flag, value) in counts {
            if !(1.0..=1e6).contains(&value) {
                return Err(Fault::Query { flag, value: value.to_string(), needs: "1 to 1000000".into() });
            }
        }
        let pes = self.cubes * pes_per_cube;
        if self.groups > pes {
            return Err(Fault::Query {
                flag: "--groups",
                value: self.groups.to_string(),
                needs: format!("at most the {pes} PEs that a KV head lies on"),
            });
        }
        Ok(())
    }
}

/// Times of the two policies, of one KV head and one layer.
#[derive(Clone, Copy, Debug)]
pub struct Fanout<N: Num> {
    /// Rows of a query head: agents times tokens.
    pub rows_per_head: N,
    /// PEs that the KV head lies on.
    pub pes: N,
    pub q_multicast_s: N,
    pub local_s: N,
    pub reduce_s: N,
    pub stationary_s: N,
    pub q_part_s: N,
    pub remote_kv_s: N,
    pub group_local_s: N,
    pub group_reduce_s: N,
    pub remap_s: N,
    pub distributed_s: N,
    /// The same agents one after the other, each reading the prefix for itself.
    pub independent_s: N,
}

/// The closed forms. `S` is the prefix; query heads of the KV head ride along as rows.
#[inline(always)]
pub fn fanout<N: Num>(i: &Inputs<N>, a: &Agents<N>) -> Fanout<N> {
    let one = N::lit(1.0);
    let rows_per_head = (a.agents * a.tokens).def("M", Dim::ONE, "query rows of a head: agents x tokens");
    let shared = (i.q_heads / i.kv_heads).def("G", Dim::ONE, "query heads of a KV head");
    let rows = (rows_per_head * shared).def("m", Dim::ONE, "rows over one KV head");
    let pes = (a.cubes * i.pes_per_cube).def("R", Dim::ONE, "PEs that the KV head lies on");
    let positions = (i.s / pes).def("S/R", Dim::ONE, "positions of a PE");
    let cube_rounds = a.cubes.log2().ceil().def("cube_rounds", Dim::ONE, "ceil(log2 C)");
    let send = |rows: N| {
        let bytes = rows * i.h * i.e;
        bytes / i.bw_inter + cube_rounds * i.a_inter + bytes / i.bw_intra + i.a_intra
    };
    let q_multicast_s = send(rows).def("T_Qmulticast", Dim::SECOND, "all rows to every cube, then to its PEs");
    let local_s = local(i, rows, positions).def("T_local", Dim::SECOND, "products, or K and V from HBM");
    let reduce_s = merge(i, rows, N::lit(PE_ROUNDS), cube_rounds).def("T_hier", Dim::SECOND, "8 PEs, then cubes");
    let stationary_s = (q_multicast_s + local_s + reduce_s).def("T_SK", Dim::SECOND, "Stationary-KV");

    let part = rows / a.groups;
    let q_part_s = (part * i.h * i.e / i.bw_inter + i.a_inter).def("T_Qpart", Dim::SECOND, "a group's rows");
    let remote = N::lit(2.0) * (a.groups - one) * i.s * i.h * i.e / pes;
    let remote_kv_s = (remote / i.bw_inter).def("T_remoteKV", Dim::SECOND, "K and V of the other groups, for each PE");
    let group_local_s =
        local(i, part, a.groups * positions).def("T_local_DQ", Dim::SECOND, "fewer rows, more positions");
    let group_pes = pes / a.groups;
    let in_cube = group_pes.min(i.pes_per_cube).log2().ceil();
    let over_cubes = one.max(group_pes / i.pes_per_cube).log2().ceil();
    let group_reduce_s = merge(i, part, in_cube, over_cubes).def("T_groupreduce", Dim::SECOND, "over a group's PEs");
    let remap_s = (a.remap_bytes / i.bw_inter + a.table_s).def("T_remap", Dim::SECOND, "copied pages, and their table");
    let distributed_s =
        (q_part_s + remote_kv_s + group_local_s + group_reduce_s + remap_s).def("T_DQ", Dim::SECOND, "Distributed-Q");

    let alone = a.tokens * shared;
    let one_agent = send(alone) + local(i, alone, positions) + merge(i, alone, N::lit(PE_ROUNDS), cube_rounds);
    Fanout {
        rows_per_head,
        pes,
        q_multicast_s,
        local_s,
        reduce_s,
        stationary_s,
        q_part_s,
        remote_kv_s,
        group_local_s,
        group_reduce_s,
        remap_s,
        distributed_s,
        independent_s: (a.agents * one_agent).def("T_independent", Dim::SECOND, "agents one after the other"),
    }
}

/// Rounds that merge the 8 PEs of a cube.
const PE_ROUNDS: f64 = 3.0;

/// Products on padded rows, or the reading of K and V.
fn local<N: Num>(i: &Inputs<N>, rows: N, positions: N) -> N {
    let pad = padding(i, rows);
    let compute = N::flop(4.0) * rows * i.h * positions / (i.peak * i.u * pad);
    compute.max(N::lit(2.0) * positions * i.h * i.e / i.w)
}

/// Useful over padded rows, on the better of two tiles: 16 x 16 x 16 or 8 x 64 x 8.
fn padding<N: Num>(_: &Inputs<N>, rows: N) -> N {
    let fill = |tile: f64| rows / (rows.div_ceil(N::lit(tile)) * N::lit(tile));
    fill(16.0).max(fill(8.0))
}

/// Partial outputs with maximum and sum, in f32, merged round by round; each merge is work of the MATH engine.
fn merge<N: Num>(i: &Inputs<N>, rows: N, pe_rounds: N, cube_rounds: N) -> N {
    let state = rows * (i.h + N::lit(2.0)) * N::bytes(4.0);
    let merges = (pe_rounds + cube_rounds) * (N::lit(6.0) * rows * (i.h + N::lit(2.0)) / i.math);
    pe_rounds * (state / i.bw_intra + i.a_intra) + cube_rounds * (state / i.bw_inter + i.a_inter) + merges
}

/// The formulas as expressions; agents, tokens and so on are inputs of their own.
pub fn formulas() -> (Graph, Fanout<Expr>) {
    use crate::formula::Input;
    Graph::trace(|| {
        let inputs = Inputs::traced();
        let own = |name, unit, what| Graph::input(Input { name, unit, what, is_flag: false });
        let agents = Agents {
            agents: own("agents", Dim::ONE, "agents that share the prefix"),
            tokens: own("tokens", Dim::ONE, "private tokens of each"),
            cubes: own("C", Dim::ONE, "cubes that a KV head lies on"),
            groups: own("groups", Dim::ONE, "groups of Distributed-Q"),
            remap_bytes: own("remap_bytes", Dim::BYTE, "pages that are copied"),
            table_s: own("table", Dim::SECOND, "update of the page table"),
        };
        fanout(&inputs, &agents)
    })
}

impl Agents<f64> {
    /// In the order in which [`formulas`] declares them, after the inputs of the planner.
    pub fn values(&self) -> Vec<f64> {
        vec![self.agents, self.tokens, self.cubes, self.groups, self.remap_bytes, self.table_s]
    }
}

/// The smallest number of rows a head from which Distributed-Q is shorter, if there is one up to a million; by doubling and
/// bisection over whole agents of one token.
pub fn crossover(i: &Inputs<f64>, a: &Agents<f64>) -> Option<u64> {
    let shorter = |rows: u64| {
        let f = fanout(i, &Agents { agents: rows as f64, tokens: 1.0, ..*a });
        f.distributed_s < f.stationary_s
    };
    let mut high = (0..=20).map(|p| 1u64 << p).find(|rows| shorter(*rows))?;
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if shorter(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

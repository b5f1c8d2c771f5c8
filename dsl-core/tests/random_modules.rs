//! What random modules are worth as tests: they hold every op with every element it takes, and those whose programs run
//! side by side have neither races nor values that depend on who runs first.

use std::collections::BTreeSet;
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::interp::{Options, Order};
use tilewright_core::ir::ops::OpRow;
use tilewright_core::ir::text::print;
use tilewright_core::ir::{Module, Op, OpId};
use tilewright_core::launch::Grid;
use tilewright_test_random::{Purpose, Source, module, run};

fn chosen(seed: u64, purpose: Purpose) -> Module {
    module(&Source::seeded(seed).some_bytes(600), purpose)
}

/// The elements that a row must come with. Empty: its types say nothing about it, once is enough.
fn elements(row: &OpRow) -> Vec<ElemType> {
    let all = |is: &dyn Fn(ElemType) -> bool| ElemType::ALL.iter().copied().filter(|e| is(*e)).collect();
    match (row.class, row.name) {
        (Some(class), _) => all(&|e| e.is(class)),
        (None, "Cmp") => all(&|e| e.is(Class::Num) || e == ElemType::I1),
        (None, "Iota") => all(&|e| e.is(Class::Int)),
        (None, "Dot") => all(&|e| !e.dot_into().is_empty()),
        (None, "AtomicAdd" | "AtomicMax") => all(&|e| e.is(Class::Num)),
        (None, "Len" | "Assert" | "Barrier") => Vec::new(),
        (None, _) if ["place", "control"].contains(&row.family) => Vec::new(),
        (None, _) => all(&|_| true),
    }
}
/// The element by which an op is told from others of its row: that of its first operand, or of its result.
fn element(m: &Module, id: OpId) -> Option<ElemType> {
    let data = m.op(id);
    let result = data.results.get(0);
    let by = if matches!(data.op, Op::Select(_)) { result } else { data.op.operands().first().copied().or(result) };
    by.map(|v| m.ty(v).elem())
}

#[test]
fn every_op_comes_with_every_element_it_takes() {
    // One program has nobody to talk to.
    let alone = ["Send", "Recv"];
    for (purpose, never) in [(Purpose::Reading, &[][..]), (Purpose::Running, &alone), (Purpose::RunningTogether, &[])] {
        let (mut ops, mut pairs) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..4000 {
            let m = chosen(seed, purpose);
            m.each_op(&mut |id| {
                let mnemonic = m.op(id).op.mnemonic();
                ops.insert(mnemonic);
                pairs.extend(element(&m, id).map(|e| (mnemonic, e)));
            });
        }
        let mut missing = Vec::new();
        for row in Op::ROWS.iter().filter(|row| !never.contains(&row.name)) {
            missing.extend((!ops.contains(row.mnemonic)).then(|| row.mnemonic.to_string()));
            let elements = elements(row).into_iter().filter(|e| !pairs.contains(&(row.mnemonic, *e)));
            missing.extend(elements.map(|e| format!("{} of {e}", row.mnemonic)));
        }
        assert!(missing.is_empty(), "{purpose:?}: {missing:?}");
    }
}

#[test]
fn programs_that_share_by_the_rules_have_no_races_and_one_result_in_every_order() {
    let grid = Grid::cubes(2).pes(2);
    let (mut ended, mut talked) = (0, 0);
    for seed in 0..600 {
        let m = chosen(seed, Purpose::RunningTogether);
        let options = Options { max_steps: 8_000, ..Options::default() };
        let plain = run(&m, grid, options);
        if !plain.ended() {
            continue;
        }
        ended += 1;
        m.each_op(&mut |id| talked += usize::from(matches!(m.op(id).op, Op::Recv(_))));
        for order in Order::adversarial(3) {
            let other = run(&m, grid, Options { order, check_races: true, ..options });
            let difference = plain.difference(&other).or(other.difference(&plain));
            assert!(
                difference.is_none(),
                "seed {seed}, {order:?}: {}\n{}\n{}",
                difference.unwrap(),
                other.errors,
                print(&m)
            );
        }
    }
    assert!(ended >= 300 && talked >= 80, "{ended} of 600 ended, with {talked} messages");
}

use tilewright::prelude::*;

#[kernel(fast)]
fn a() {}
#[kernel(deny)]
fn b() {}
#[kernel(deny())]
fn c() {}
#[kernel(deny(checks))]
fn d() {}
#[kernel(deny(in_kernel_checks), grid = 4)]
fn e() {}
#[kernel("deny")]
fn f() {}
#[device(inline)]
fn g() {}
// These are right.
#[kernel()]
fn h() {}
#[kernel(deny(in_kernel_checks))]
fn i() {}

fn main() {}

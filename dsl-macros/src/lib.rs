//! `#[kernel]`, `#[device]`, `#[derive(Value)]`.

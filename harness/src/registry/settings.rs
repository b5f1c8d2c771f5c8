//! What the parameters of one kernel are set to. Assignments keep their order and print as `mode=A1,elem=f16`, without
//! blanks, so that an instance is one shell word.

use super::param::{Param, Values};
use crate::errors;
use std::fmt;
use tilewright_core::diag::{Diagnostic, Diagnostics};

/// Assignments to some of a kernel's parameters; the others have their defaults.
///
/// Any text can be assigned; [`Settings::check`] and the getters say what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    params: &'static [Param],
    given: Vec<(String, String)>,
}

impl Settings {
    /// All parameters at their defaults.
    pub const fn new(params: &'static [Param]) -> Settings {
        Settings { params, given: Vec::new() }
    }
    /// The same with one more assignment; a later one to the same name replaces an earlier one.
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Settings {
        match self.given.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value.to_string(),
            None => self.given.push((name.to_string(), value.to_string())),
        }
        self
    }
    /// Reads `a=1,b=2`.
    ///
    /// # Errors
    /// An assignment without `=`, an unknown name, a value that is not allowed.
    pub fn parse(params: &'static [Param], text: &str) -> Result<Settings, Diagnostics> {
        let mut settings = Settings::new(params);
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| errors::assignment(text, part))?;
            settings = settings.with(name, value);
        }
        settings.check()?;
        Ok(settings)
    }
    /// All that is wrong with the assignments.
    ///
    /// # Errors
    /// Unknown names and values that are not allowed.
    pub fn check(&self) -> Result<(), Diagnostics> {
        let wrong = self.given.iter().filter_map(|(name, value)| self.fault(name, value));
        Diagnostics(wrong.collect()).finish()
    }
    /// The assignments as they were made.
    pub fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }
    /// Every parameter with its value, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.params.iter().map(|p| (p.name, self.assigned(p)))
    }
    pub fn params(&self) -> &'static [Param] {
        self.params
    }

    /// The text of a parameter's value.
    ///
    /// # Errors
    /// The kernel has no such parameter, or its value is not allowed.
    pub fn text(&self, name: &str) -> Result<&str, Diagnostics> {
        let param = self.params.iter().find(|p| p.name == name).ok_or_else(|| errors::undeclared(name, self.params))?;
        let text = self.assigned(param);
        match self.fault(name, text) {
            Some(d) => Err(d.into()),
            None => Ok(text),
        }
    }
    /// A whole number.
    ///
    /// # Errors
    /// As [`Settings::text`], or the parameter is not declared as an integer.
    pub fn integer(&self, name: &str) -> Result<usize, Diagnostics> {
        let text = self.text(name)?;
        text.parse().map_err(|_| errors::value(name, text, &Values::Integer(0..=usize::MAX)).into())
    }
    /// A finite number.
    ///
    /// # Errors
    /// As [`Settings::text`], or the parameter is not declared as a number.
    pub fn number(&self, name: &str) -> Result<f64, Diagnostics> {
        let text = self.text(name)?;
        text.parse().map_err(|_| errors::value(name, text, &Values::Number).into())
    }
    /// The entry of a table for the word that a parameter is set to: what an element type, a mode or a choice stands for.
    ///
    /// # Errors
    /// As [`Settings::text`], or the table has no entry for the word.
    pub fn pick<T: Clone>(&self, name: &str, entries: &[(&str, T)]) -> Result<T, Diagnostics> {
        let text = self.text(name)?;
        let entry = entries.iter().find(|(word, _)| *word == text);
        entry.map(|(_, entry)| entry.clone()).ok_or_else(|| {
            let words = entries.iter().map(|(word, _)| *word);
            errors::no_entry(name, text, words).into()
        })
    }

    fn assigned(&self, param: &Param) -> &str {
        self.given.iter().find(|(n, _)| n == param.name).map_or(param.default, |(_, v)| v)
    }
    fn fault(&self, name: &str, value: &str) -> Option<Diagnostic> {
        match self.params.iter().find(|p| p.name == name) {
            None => Some(errors::unknown_parameter(name, self.params)),
            Some(p) if !p.values.allow(value) => Some(errors::value(name, value, &p.values)),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.given().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    const PARAMS: &[Param] = &[
        Param::one_of("mode", &["A1", "B"], "A1", ""),
        Param::integer("s-kv", 1..=65536, "8192", ""),
        Param::number("slope", "0.5", ""),
    ];
    fn parsed(text: &str) -> String {
        match Settings::parse(PARAMS, text) {
            Ok(s) => s.all().map(|(n, v)| format!("{n} {v}")).collect::<Vec<_>>().join("; "),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn assignments_replace_defaults_and_print_as_they_were_given() {
        assert_snapshot!(parsed(""), @"mode A1; s-kv 8192; slope 0.5");
        assert_snapshot!(parsed("s-kv=64,mode=B"), @"mode B; s-kv 64; slope 0.5");
        let s = Settings::parse(PARAMS, "s-kv=64,mode=B").unwrap();
        assert_eq!(s.to_string(), "s-kv=64,mode=B");
        assert_eq!(s.integer("s-kv"), Ok(64));
        assert_eq!(s.text("mode"), Ok("B"));
        assert_eq!(s.number("slope"), Ok(0.5));
    }
    #[test]
    fn all_wrong_assignments_are_told_with_what_is_allowed() {
        assert_snapshot!(parsed("mode=C,skv=1,s-kv=0"), @r"
        error[TW-E0590]: --mode cannot be `C`
         |
         = note: allowed: A1, B
         = next: --mode A1
         = more: tilewright explain TW-E0590
        error[TW-E0592]: the kernel has no parameter `skv`
         |
         = note: its parameters: mode, s-kv, slope
         = next: did you mean `s-kv`?
         = more: tilewright explain TW-E0592
        error[TW-E0590]: --s-kv cannot be `0`
         |
         = note: allowed: a whole number from 1 to 65536
         = next: --s-kv 1
         = more: tilewright explain TW-E0590
        ");
        assert_snapshot!(parsed("mode"), @r"
        error[TW-E0802]: `mode` in `mode` is not an assignment
         |
         = next: write NAME=VALUE,NAME=VALUE without blanks
         = more: tilewright explain TW-E0802
        ");
        assert_snapshot!(Settings::new(PARAMS).integer("tile").unwrap_err(), @r"
        error[TW-E0591]: the kernel reads a parameter `tile` that it does not declare
         |
         = note: declared: mode, s-kv, slope
         = next: add a row to the kernel's table of parameters
         = more: tilewright explain TW-E0591
        ");
    }
}

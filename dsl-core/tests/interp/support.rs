//! Launches of `.tir` text: the only place that knows the interpreter's API.

use std::sync::Arc;
use tilewright_core::data::{Data, Stored};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::{Interp, Options, Order, Outcome};
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_core::unwritten::Unwritten;

pub fn module(text: &str) -> Module {
    parse(text, "t.tir").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[derive(Clone)]
enum Given {
    In(AnyTensor),
    Out(AnyTensor),
    Scalar(Literal),
}

/// A kernel with its arguments; they are given in the order of its parameters.
#[derive(Clone)]
pub struct Launch {
    module: Arc<Module>,
    args: Vec<Given>,
    config: LaunchConfig,
    pub options: Options,
}

pub struct Ran {
    pub result: Result<Outcome, Diagnostics>,
    /// The tensors, also after an error.
    pub tensors: Vec<Data>,
}

impl Ran {
    /// The elements of the `n`-th tensor, of a run without errors.
    pub fn get<T: Stored>(&self, n: usize) -> Vec<T> {
        if let Err(e) = &self.result {
            panic!("{e}");
        }
        self.after_error(n)
    }
    pub fn after_error<T: Stored>(&self, n: usize) -> Vec<T> {
        T::slice(&self.tensors[n]).expect("the tensor's element type").to_vec()
    }
    /// The rendered errors of a run that has some.
    pub fn errors(&self) -> String {
        self.result.as_ref().expect_err("the run went well").to_string()
    }
    /// The codes of the errors, in their order; empty if there are none.
    pub fn codes(&self) -> Vec<&'static str> {
        self.result.as_ref().err().map_or(Vec::new(), |e| e.0.iter().map(|d| d.code).collect())
    }
}

fn tensor(dims: &[usize], data: Option<Data>, elem: tilewright_core::elem::ElemType) -> AnyTensor {
    AnyTensor::new(elem, dims.to_vec(), data, Placement::default())
}

impl Launch {
    pub fn new(text: &str) -> Launch {
        Launch::of(module(text))
    }
    pub fn of(module: Module) -> Launch {
        let config = LaunchConfig::default();
        Launch { module: Arc::new(module), args: Vec::new(), config, options: Options::default() }
    }
    pub fn input<T: Stored>(mut self, dims: &[usize], v: Vec<T>) -> Launch {
        self.args.push(Given::In(tensor(dims, Some(T::wrap(v)), T::ELEM)));
        self
    }
    pub fn output<T: Stored>(mut self, dims: &[usize], v: Vec<T>) -> Launch {
        self.args.push(Given::Out(tensor(dims, Some(T::wrap(v)), T::ELEM)));
        self
    }
    /// An output that the host has not written.
    pub fn uninit<T: Stored>(mut self, dims: &[usize]) -> Launch {
        let len = dims.iter().product();
        let mut t = tensor(dims, Some(Data::zeros(T::ELEM, len)), T::ELEM);
        t.unwritten = Unwritten::all(len);
        self.args.push(Given::Out(t));
        self
    }
    pub fn shape_only<T: Stored>(mut self, dims: &[usize]) -> Launch {
        self.args.push(Given::In(tensor(dims, None, T::ELEM)));
        self
    }
    pub fn scalar(mut self, v: impl Into<Literal>) -> Launch {
        self.args.push(Given::Scalar(v.into()));
        self
    }
    pub fn grid(mut self, grid: Grid) -> Launch {
        self.config.grid = grid;
        self
    }
    pub fn depth(mut self, queue_depth: u32) -> Launch {
        self.config.queue_depth = Some(queue_depth);
        self
    }
    pub fn order(mut self, order: Order) -> Launch {
        self.options.order = order;
        self
    }
    pub fn check_races(mut self) -> Launch {
        self.options.check_races = true;
        self
    }
    pub fn run(&self) -> Ran {
        self.run_on(&mut Interp::new(self.options))
    }
    pub fn run_on(&self, backend: &mut impl Backend<Report = Outcome>) -> Ran {
        let mut given = self.args.clone();
        let args = given.iter_mut().map(|g| match g {
            Given::In(t) => Arg::View(t),
            Given::Out(t) => Arg::ViewMut(t),
            Given::Scalar(v) => Arg::Scalar(*v),
        });
        let ready = Ready { module: self.module.clone(), args: args.collect(), config: self.config };
        let result = backend.execute(ready);
        let tensors = given.into_iter().filter_map(|g| match g {
            Given::In(t) | Given::Out(t) => t.data,
            Given::Scalar(_) => None,
        });
        Ran { result, tensors: tensors.collect() }
    }
}

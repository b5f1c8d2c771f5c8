//! Every kernel the project needs, one file each; here only the kernels, without references and launches.
pub mod attention;
pub mod basics;
pub mod bounds;
pub mod decode;
pub mod fan_out;
pub mod faulty;
pub mod gemv;
pub mod long_decode;
pub mod matmul;
pub mod prefill;
pub mod probe;

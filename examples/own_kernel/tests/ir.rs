//! The kernel's IR as a snapshot: `cargo insta review` shows what a change of the kernel, or of tilewright, changes in it.

use own_kernel::leaky_relu;
use tilewright::prelude::*;

#[test]
fn one_product_and_one_select_a_block() {
    let (x, mut y) = (Tensor::shape_only([100]), Tensor::shape_only([100]));
    let module = leaky_relu::<64>(&x, &mut y, 0.5).trace().unwrap();
    insta::assert_snapshot!(tilewright::ir::text::print(&module), @r"
    kernel @leaky_relu<N=64>(%x: view<?xf32>, %y: view_mut<?xf32>, %slope: f32) {
      %0 = program_id : i32
      %1 = mul %0, 64 : i32
      %2 = len %x axis 0 : i32
      %3 = num_programs : i32
      %4 = mul %3, 64 : i32
      for %i in %1..%2 step %4 {
        %x'2 = load %x[%i] else 0.0 : tile<64xf32>
        %5 = splat 0.0 : tile<64xf32>
        %6 = cmp gt %x'2, %5 : tile<64xi1>
        %7 = splat %slope : tile<64xf32>
        %8 = mul %x'2, %7 : tile<64xf32>
        %9 = select %6, %x'2, %8 : tile<64xf32>
        store inside %y[%i], %9
      }
    }
    ");
}

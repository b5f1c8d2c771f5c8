use crate::support::Launch;
use tilewright_core::launch::Grid;

/// Matmul with a loop, a guard at the edge, and one program a block.
#[test]
fn a_blocked_product_of_ragged_matrices() {
    let text = r#"kernel @matmul(%a: view<?x?xf32>, %b: view<?x?xf32>, %c: view_mut<?x?xf32>) {
  %n = len %b axis 1 : i32
  %k = len %a axis 1 : i32
  %n'2 = add %n, 3 : i32
  %blocks = div %n'2, 4 : i32
  %p = program_id : i32
  %r = div %p, %blocks : i32
  %q = rem %p, %blocks : i32
  %row = mul %r, 4 : i32
  %col = mul %q, 4 : i32
  %zero = splat 0.0 : tile<4x4xf32>
  %acc = for %i in 0..%k step 2 stages 3 carry (%acc'2 = %zero) {
    %x = load %a[%row, %i] else 0.0 : tile<4x2xf32>
    %y = load %b[%i, %col] else 0.0 : tile<2x4xf32>
    %acc'3 = dot %x, %y, %acc'2 : tile<4x4xf32>
    yield %acc'3
  }
  store inside %c[%row, %col], %acc
}
"#;
    let (m, k, n) = (7, 5, 6);
    let a: Vec<f32> = (0..m * k).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let want: Vec<f32> = (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect();
    let ran = Launch::new(text)
        .input(&[m, k], a)
        .input(&[k, n], b)
        .output(&[m, n], vec![f32::NAN; m * n])
        .grid(Grid::cubes(4))
        .run();
    assert_eq!(ran.get::<f32>(2), want);
}

/// A ring inside a cube: each PE sends its id East, South, West, North along the 2 x 4 mesh and receives its neighbour's.
#[test]
fn a_ring_of_messages() {
    let text = r#"kernel @ring(%y: view_mut<?xi32>) {
  %id = pe_id : i32
  %c = cmp lt %id, 3:i32 : i1
  if %c {
    send pe.east, %id
  } else {
    %c'2 = cmp eq %id, 3:i32 : i1
    if %c'2 {
      send pe.south, %id
    } else {
      %c'3 = cmp gt %id, 4:i32 : i1
      if %c'3 {
        send pe.west, %id
      } else {
        send pe.north, %id
      }
    }
  }
  %z = cmp eq %id, 0:i32 : i1
  %got = if %z {
    %g = recv pe.south : i32
    yield %g
  } else {
    %c'4 = cmp lt %id, 4:i32 : i1
    %g'2 = if %c'4 {
      %g'3 = recv pe.west : i32
      yield %g'3
    } else {
      %c'5 = cmp eq %id, 7:i32 : i1
      %g'4 = if %c'5 {
        %g'5 = recv pe.north : i32
        yield %g'5
      } else {
        %g'6 = recv pe.east : i32
        yield %g'6
      }
      yield %g'4
    }
    yield %g'2
  }
  store %y[%id], %got
}
"#;
    let ran = Launch::new(text).output(&[8], vec![-1i32; 8]).grid(Grid::cubes(1).pes(8)).run();
    assert_eq!(ran.get::<i32>(0), [4, 0, 1, 2, 5, 6, 7, 3]);
}

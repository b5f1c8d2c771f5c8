//! `cache`: what is kept, and that it can be cleared.

use super::support::{self, tilewright, tilewright_in};
use tilewright_cuda::cache::{Cache, Key, MAX_BYTES};

#[test]
fn what_is_kept_is_listed_and_cleared() {
    let dir = support::temp_dir("cache_of_two");
    let cache = Cache::at(dir.join("kept"), MAX_BYTES);
    for name in ["row_softmax, sm_90a on NVIDIA H200, CUDA 12.8", "vector_add, sm_80 on NVIDIA A100, CUDA 12.0"] {
        cache.put(Key::of(&[name.as_bytes()]), name, b"machine code").expect("the folder can be written");
    }
    std::fs::write(dir.join("kept/0123.cubin"), "damaged").expect("the folder can be written");
    let list = tilewright_in(&dir, "cache ls --dir kept");
    assert_eq!(list.code, 0, "{}", list.err);
    for part in ["row_softmax, sm_90a on NVIDIA H200, CUDA 12.8", "vector_add, sm_80", "damaged; it will be made again"]
    {
        assert!(list.out.contains(part), "{part}:\n{}", list.out);
    }
    let json: serde_json::Value =
        serde_json::from_str(&tilewright_in(&dir, "cache ls --dir kept --json").out).expect("JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3), "{json}");
    let cleared = tilewright_in(&dir, "cache clear --dir kept");
    assert!(cleared.out.starts_with("removed 3 files, "), "{}", cleared.out);
    assert!(tilewright_in(&dir, "cache clear --dir kept").out.starts_with("removed 0 files, 0 bytes"));
}
#[test]
fn the_folder_is_printed() {
    assert_eq!(tilewright("cache path --dir some/where").out, "some/where\n");
}

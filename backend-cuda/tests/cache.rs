//! The cache of machine code, on folders of its own.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tilewright_cuda::cache::{Cache, Entry, Key, MAX_BYTES};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"))
}
fn key(name: &str) -> Key {
    Key::of(&[name.as_bytes()])
}
fn put(cache: &Cache, name: &str, content: &[u8]) {
    cache.put(key(name), name, content).unwrap_or_else(|e| panic!("{e}"));
}
/// The files of the cache, in the order in which they would go.
fn files(cache: &Cache) -> Vec<PathBuf> {
    cache.entries().unwrap_or_else(|e| panic!("{e}")).into_iter().map(|entry| entry.path).collect()
}
fn labels(cache: &Cache) -> Vec<Option<String>> {
    cache.entries().unwrap_or_else(|e| panic!("{e}")).iter().map(Entry::label).collect()
}
/// As if it was used last so long ago.
fn age(path: &PathBuf, seconds: u64) {
    let at = SystemTime::now() - Duration::from_secs(seconds);
    let file = fs::File::options().write(true).open(path).unwrap_or_else(|e| panic!("{e}"));
    file.set_modified(at).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn what_was_kept_comes_back_in_another_process() {
    let dir = folder();
    put(&Cache::at(dir.path().join("a/b"), MAX_BYTES), "x", b"code");
    let cache = Cache::at(dir.path().join("a/b"), MAX_BYTES);
    assert_eq!(cache.get(key("x")).as_deref(), Some(&b"code"[..]));
    assert_eq!(cache.get(key("y")), None);
    put(&cache, "x", b"newer code");
    assert_eq!(cache.get(key("x")).as_deref(), Some(&b"newer code"[..]));
    assert_eq!(files(&cache).len(), 1);
}
#[cfg(unix)]
#[test]
fn only_the_owner_may_look_into_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder();
    let cache = Cache::at(dir.path().join("cache"), MAX_BYTES);
    put(&cache, "x", b"code");
    let mode = |path: &std::path::Path| fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777).ok();
    assert_eq!(cache.dir().and_then(mode), Some(0o700));
    assert_eq!(files(&cache).first().and_then(|path| mode(path)), Some(0o600));
}
#[test]
fn a_damaged_file_is_as_good_as_none_and_is_replaced() {
    let dir = folder();
    let cache = Cache::at(dir.path(), MAX_BYTES);
    put(&cache, "x", b"machine code of some length");
    let path = files(&cache).remove(0);
    let whole = fs::read(&path).unwrap_or_else(|e| panic!("{e}"));
    let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap_or_else(|e| panic!("{e}"));
    for len in 0..whole.len() {
        write(&whole[..len]);
        assert_eq!(cache.get(key("x")), None, "cut to {len} bytes");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        write(&bytes);
        assert_eq!(cache.get(key("x")), None, "byte {at} changed");
    }
    write(&[whole.as_slice(), b"more"].concat());
    assert_eq!(cache.get(key("x")), None, "something after its end");
    assert_eq!(labels(&cache), [None]);
    put(&cache, "x", b"machine code");
    assert_eq!(cache.get(key("x")).as_deref(), Some(&b"machine code"[..]));
}
#[test]
fn a_file_of_another_key_under_this_name_is_not_taken() {
    let dir = folder();
    let cache = Cache::at(dir.path(), MAX_BYTES);
    put(&cache, "x", b"code of x");
    let x = files(&cache).remove(0);
    put(&cache, "y", b"code of y");
    let y = files(&cache).into_iter().find(|path| *path != x).unwrap_or_else(|| panic!("no file of y"));
    fs::copy(y, x).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(cache.get(key("x")), None);
}
#[test]
fn the_files_that_were_not_used_for_longest_go_first() {
    let dir = folder();
    let cache = Cache::at(dir.path(), 3 * 1200);
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        put(&cache, name, &[0; 1000]);
        let path = files(&cache).pop().unwrap_or_else(|| panic!("no file"));
        age(&path, 1000 - i as u64);
    }
    // `a` is used again, so that `b` is the oldest now.
    assert!(cache.get(key("a")).is_some());
    put(&cache, "d", &[0; 1000]);
    let kept = ["a", "b", "c", "d"].map(|name| cache.get(key(name)).is_some());
    assert_eq!(kept, [true, false, true, true]);
}
#[test]
fn what_another_process_left_half_written_goes_after_an_hour() {
    let dir = folder();
    let cache = Cache::at(dir.path(), MAX_BYTES);
    let half = |name: &str, seconds| {
        let path = dir.path().join(name);
        fs::File::create(&path).and_then(|mut file| file.write_all(b"half")).unwrap_or_else(|e| panic!("{e}"));
        age(&path, seconds);
        path
    };
    let (old, young) = (half("1-0.cubin-part", 4000), half("2-0.cubin-part", 10));
    let foreign = half("notes.txt", 4000);
    put(&cache, "x", b"code");
    assert_eq!([&old, &young, &foreign].map(|path| path.exists()), [false, true, true]);
    let cleared = cache.clear().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((cleared.0, young.exists(), foreign.exists()), (1, false, true));
    assert_eq!(cache.get(key("x")), None);
}
#[test]
fn many_at_once_see_whole_files_or_none() {
    let dir = folder();
    let content = |n: usize| vec![n as u8; 10_000 + n];
    std::thread::scope(|scope| {
        for t in 0..8 {
            let cache = Cache::at(dir.path(), 40_000);
            scope.spawn(move || {
                for i in 0..50 {
                    let n = (t + i) % 5;
                    let key = Key::of(&[&[n as u8]]);
                    if let Some(found) = cache.get(key) {
                        assert!(found == content(n), "a mixture under key {n}");
                    }
                    cache.put(key, "x", &content(n)).unwrap_or_else(|e| panic!("{e}"));
                }
            });
        }
    });
}
#[test]
fn a_cache_that_is_off_keeps_nothing_and_a_folder_that_is_none_says_so() {
    let off = Cache::off();
    put(&off, "x", b"code");
    assert_eq!((off.get(key("x")), off.dir(), files(&off).len()), (None, None, 0));
    let dir = folder();
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap_or_else(|e| panic!("{e}"));
    let cache = Cache::at(&file, MAX_BYTES);
    assert!(cache.put(key("x"), "x", b"code").is_err());
    assert!(cache.entries().is_err());
    assert_eq!(cache.get(key("x")), None);
}
#[test]
fn keys_tell_parts_apart() {
    assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
    assert_ne!(Key::of(&[b"ab"]), Key::of(&[b"ab", b""]));
}

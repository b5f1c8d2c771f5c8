//! Machine code that a driver made, kept on disk between processes: assembling takes the driver tens of milliseconds,
//! reading a file less than one. A kernel's PTX is made anew each time (docs/decisions/0021).
//!
//! Kept true: what `get` gives is what `put` got, whole: a file has its length and the hash of its content, and one that
//! does not fit them is as good as none. Files appear by renaming, so that processes side by side see whole ones. A
//! failure here never fails a launch: the code is made again. `file.rs`: what a file holds. `errors.rs`: texts of the
//! commands that show and clear it.

mod errors;
mod file;

pub use errors::{CODES, unusable};
pub use file::Entry;

use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Chooses the folder; empty: no cache.
pub const VARIABLE: &str = "TILEWRIGHT_CACHE_DIR";

/// Of all files together, where nobody says otherwise.
pub const MAX_BYTES: u64 = 256 << 20;

/// A file that a process began to write, and did not rename after so long, is left over.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of files, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    dir: Option<PathBuf>,
    max_bytes: u64,
}

/// Names what is kept: everything that it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// Parts that differ, or are divided differently, give other keys.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hash.finalize().into())
    }
    /// Half of the hash tells files apart.
    fn file_name(self) -> String {
        let hex: String = self.0.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}.{EXTENSION}")
    }
}

const EXTENSION: &str = "cubin";

impl Cache {
    /// The user's: the folder that `TILEWRIGHT_CACHE_DIR` names, else the place for caches of this system.
    pub fn user() -> Cache {
        use etcetera::BaseStrategy;
        let dir = match std::env::var_os(VARIABLE) {
            Some(dir) => (!dir.is_empty()).then(|| PathBuf::from(dir)),
            None => etcetera::choose_base_strategy().ok().map(|of| of.cache_dir().join("tilewright")),
        };
        Cache { dir, max_bytes: MAX_BYTES }
    }
    pub fn at(dir: impl Into<PathBuf>, max_bytes: u64) -> Cache {
        Cache { dir: Some(dir.into()), max_bytes }
    }
    /// Keeps nothing.
    pub fn off() -> Cache {
        Cache { dir: None, max_bytes: 0 }
    }
    /// Where it is; `None`: it is off.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// What was kept under this key.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.dir()?.join(key.file_name());
        let content = file::read(&path, key)?;
        // What was used last goes last. A folder that cannot be written is still good to read.
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(content)
    }
    /// Keeps `content` under the key; `label` says what it is to whoever lists the folder.
    ///
    /// # Errors
    /// It could not be written; nothing is kept then, and nothing half.
    pub fn put(&self, key: Key, label: &str, content: &[u8]) -> io::Result<()> {
        let Some(dir) = self.dir() else { return Ok(()) };
        make(dir)?;
        let (temporary, path) = (dir.join(temporary_name()), dir.join(key.file_name()));
        let written = write(&temporary, &file::bytes(key, label, content)).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary); // perhaps it never was
        }
        written?;
        self.trim(dir)
    }
    /// All that is kept, the oldest first.
    ///
    /// # Errors
    /// The folder cannot be read. One that is not there is empty.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let Some(dir) = self.dir() else { return Ok(Vec::new()) };
        let mut entries: Vec<Entry> =
            files(dir)?.filter(|path| is_ours(path)).filter_map(|path| Entry::of(&path)).collect();
        entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        Ok(entries)
    }
    /// Removes all that is kept, and what is left over; says how many files, and of how many bytes.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let entries = self.entries()?;
        entries.iter().try_for_each(|entry| gone(&entry.path))?;
        if let Some(dir) = self.dir() {
            sweep(dir, Duration::ZERO)?;
        }
        Ok((entries.len(), entries.iter().map(|entry| entry.bytes).sum()))
    }
    /// Removes the oldest files until the rest fits.
    fn trim(&self, dir: &Path) -> io::Result<()> {
        sweep(dir, ABANDONED)?;
        let entries = self.entries()?;
        let mut held: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if held <= self.max_bytes {
                break;
            }
            gone(&entry.path)?;
            held -= entry.bytes;
        }
        Ok(())
    }
}

/// Only its owner may read or write the folder: what lies in it is run.
fn make(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
/// No other file of this or another process has it.
fn temporary_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}.{TEMPORARY}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
const TEMPORARY: &str = "cubin-part";

fn files(dir: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let found = match fs::read_dir(dir) {
        Ok(found) => Some(found),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    Ok(found.into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path())))
}
fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == EXTENSION)
}
/// Removes what other processes began to write so long ago.
fn sweep(dir: &Path, age: Duration) -> io::Result<()> {
    let old = |path: &PathBuf| {
        let modified = fs::metadata(path).and_then(|meta| meta.modified());
        modified.is_ok_and(|at| at.elapsed().unwrap_or_default() >= age)
    };
    let left_over = |path: &PathBuf| path.extension().is_some_and(|ending| ending == TEMPORARY) && old(path);
    files(dir)?.filter(left_over).try_for_each(|path| gone(&path))
}
/// Removes a file; another process may have been faster.
fn gone(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

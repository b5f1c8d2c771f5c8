//! What a file of the cache holds: a mark, the whole key, the lengths of label and content, the hash of both, and both.

use super::Key;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Ends in the number of this form of files.
const MARK: [u8; 8] = *b"twcache1";

/// Mark, key, length of the label, length of the content, hash.
const HEAD_BYTES: usize = 8 + 32 + 8 + 8 + 32;

/// No machine code of a kernel comes near; a file that says more is damaged.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
}

impl Entry {
    pub(super) fn of(path: &Path) -> Option<Entry> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Entry { path: path.to_path_buf(), bytes: meta.len(), used: meta.modified().ok()? })
    }
    /// What it is; `None`: the file is damaged, or gone.
    pub fn label(&self) -> Option<String> {
        whole(&self.path).map(|(_, label, _)| label)
    }
}

pub(super) fn bytes(key: Key, label: &str, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + label.len() + content.len());
    out.extend(MARK);
    out.extend(key.0);
    out.extend((label.len() as u64).to_le_bytes());
    out.extend((content.len() as u64).to_le_bytes());
    out.extend(hash(label.as_bytes(), content));
    out.extend(label.as_bytes());
    out.extend(content);
    out
}

/// The content, if the file is whole and of this key.
pub(super) fn read(path: &Path, key: Key) -> Option<Vec<u8>> {
    let (of, _, content) = whole(path)?;
    (of == key).then_some(content)
}

/// Key, label and content, if the file is whole.
fn whole(path: &Path) -> Option<(Key, String, Vec<u8>)> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    let (head, body) = bytes.split_at_checked(HEAD_BYTES)?;
    let (mark, head) = head.split_first_chunk::<8>()?;
    let (key, head) = head.split_first_chunk::<32>()?;
    let (label_len, head) = head.split_first_chunk::<8>()?;
    let (content_len, head) = head.split_first_chunk::<8>()?;
    let (label, content) = body.split_at_checked(u64::from_le_bytes(*label_len) as usize)?;
    let whole =
        *mark == MARK && content.len() as u64 == u64::from_le_bytes(*content_len) && *head == hash(label, content);
    whole.then(|| (Key(*key), String::from_utf8_lossy(label).into_owned(), content.to_vec()))
}

fn hash(label: &[u8], content: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(label).chain_update(content).finalize().into()
}

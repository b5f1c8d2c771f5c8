//! The texts that labels point into.

use super::Diagnostic;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files above this size are not shown: source code is smaller.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The text of each file a diagnostic names, where there is one.
pub(super) struct Sources {
    texts: Vec<(Arc<str>, Option<Arc<str>>)>,
}

impl Sources {
    pub fn of(d: &Diagnostic) -> Sources {
        let mut texts: Vec<(Arc<str>, Option<Arc<str>>)> = Vec::new();
        for label in &d.labels {
            let file = &label.place.file;
            if !texts.iter().any(|(name, _)| name == file) {
                let carried = d.sources.iter().find(|(name, _)| **name == **file).map(|(_, text)| text.clone());
                texts.push((file.clone(), carried.or_else(|| read(file))));
            }
        }
        Sources { texts }
    }
    pub fn get(&self, file: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| **name == *file)?.1.as_deref()
    }
}

/// The file as it is on disk now. Names may come from text of strangers, so only regular files of sane size are opened.
fn read(file: &str) -> Option<Arc<str>> {
    let path = find(Path::new(file))?;
    let size = path.metadata().ok()?.len();
    if size > MAX_FILE_BYTES {
        return None;
    }
    std::fs::read_to_string(path).ok().map(Arc::from)
}

/// rustc names files from the workspace's root, cargo runs tests in the package's folder: so look upwards, too.
fn find(file: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|dir| dir.join(file)).find(|path| path.is_file())
}

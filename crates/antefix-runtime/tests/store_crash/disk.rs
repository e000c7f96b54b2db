//! A disk with a page cache that loses, at a power failure, any part of what was not synced.

mod file;
mod random;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use antefix_runtime::store::{Disk, SyncPoint};

use file::FileState;
pub use random::Random;

/// A handle to the disk as one process sees it.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Rc<RefCell<State>>,
}

/// When the next things go wrong, counted in operations from the start.
#[derive(Clone, Copy, Debug)]
pub struct Mishaps {
    /// The process dies in this operation.
    pub crash_at: u64,
    /// This operation fails, and the process goes on.
    pub fail_at: u64,
}

impl Mishaps {
    pub const NONE: Self = Self { crash_at: u64::MAX, fail_at: u64::MAX };
}

#[derive(Clone, Debug)]
struct State {
    nodes: Vec<Node>,
    /// Folder entries as processes see them, and as the disk has them.
    cached: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    locks: BTreeSet<usize>,
    random: Random,
    operations: u64,
    mishaps: Mishaps,
    crashed: bool,
    /// Every sync from this place in the store reports success and does nothing.
    ignored: Option<SyncPoint>,
}

#[derive(Clone, Debug)]
enum Node {
    Dir,
    File(FileState),
}

/// What becomes of one operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    Failed,
    Crashed,
}

impl SimDisk {
    /// A disk with nothing but the durable folder `root`.
    pub fn new(root: &str, random: Random, ignored: Option<SyncPoint>) -> Self {
        let entries: BTreeMap<_, _> = [(PathBuf::from(root), 0)].into();
        let state = State {
            nodes: vec![Node::Dir],
            cached: entries.clone(),
            durable: entries,
            locks: BTreeSet::new(),
            random,
            operations: 0,
            mishaps: Mishaps::NONE,
            crashed: false,
            ignored,
        };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// Number of changing operations so far.
    pub fn operations(&self) -> u64 {
        self.state.borrow().operations
    }

    pub fn plan(&self, mishaps: Mishaps) {
        self.state.borrow_mut().mishaps = mishaps;
    }

    pub fn has_crashed(&self) -> bool {
        self.state.borrow().crashed
    }

    /// The disk after the process was killed: the page cache lives on.
    pub fn after_kill(&self) -> Self {
        let mut state = self.state.borrow().clone();
        state.locks.clear();
        state.crashed = false;
        state.mishaps = Mishaps::NONE;
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// The disk after the power failed.
    pub fn after_power_loss(&self) -> Self {
        let next = self.after_kill();
        next.state.borrow_mut().lose_power();
        next
    }

    /// Cuts a file, durably, behind the store's back.
    pub fn cut(&self, path: &Path, length: usize) {
        let mut state = self.state.borrow_mut();
        let Some(inode) = state.cached.get(path).copied() else { return };
        if let Node::File(file) = &mut state.nodes[inode] {
            file.truncate(length);
            file.sync();
        }
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|state, fate| {
            state.parent_exists(path)?;
            if state.cached.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if fate != Fate::Failed {
                state.add(path, Node::Dir);
            }
            Ok(())
        })
    }

    fn create(&self, path: &Path) -> io::Result<SimFile> {
        let inode = self.change(|state, fate| {
            state.parent_exists(path)?;
            if !state.cached.contains_key(path) && fate != Fate::Failed {
                state.add(path, Node::File(FileState::default()));
            }
            Ok(state.cached.get(path).copied())
        })?;
        self.file(inode)
    }

    fn open(&self, path: &Path) -> io::Result<SimFile> {
        self.file(self.look()?.cached.get(path).copied())
    }

    fn lock(&self, file: &SimFile) -> io::Result<bool> {
        let mut state = self.look()?;
        let taken = state.locks.insert(file.inode);
        file.locked.set(taken);
        Ok(taken)
    }

    fn write_at(&self, file: &SimFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(|state, fate| {
            let length = match fate {
                Fate::Done => bytes.len(),
                Fate::Failed | Fate::Crashed => state.random.below(bytes.len() as u64 + 1) as usize,
            };
            state.contents(file.inode).write(offset as usize, &bytes[..length]);
            Ok(())
        })
    }

    fn truncate(&self, file: &SimFile, length: u64) -> io::Result<()> {
        self.change(|state, fate| {
            if fate != Fate::Failed {
                state.contents(file.inode).truncate(length as usize);
            }
            Ok(())
        })
    }

    fn sync(&self, file: &SimFile, point: SyncPoint) -> io::Result<()> {
        self.change(|state, fate| {
            let State { nodes, random, ignored, .. } = state;
            let Node::File(contents) = &mut nodes[file.inode] else { unreachable!("a folder is no file") };
            match fate {
                _ if *ignored == Some(point) => {}
                Fate::Done => contents.sync(),
                Fate::Failed => contents.fail_sync(random),
                Fate::Crashed => {}
            }
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path, point: SyncPoint) -> io::Result<()> {
        self.change(|state, fate| {
            if state.ignored != Some(point) && fate == Fate::Done {
                state.durable.retain(|entry, _| entry.parent() != Some(path));
                let entries = state.cached.iter().filter(|(entry, _)| entry.parent() == Some(path));
                state.durable.extend(entries.map(|(entry, inode)| (entry.clone(), *inode)));
            }
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|state, fate| {
            if fate != Fate::Failed {
                let inode = state.cached.remove(from).ok_or(io::ErrorKind::NotFound)?;
                state.cached.insert(to.to_owned(), inode);
            }
            Ok(())
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_start(path, u64::MAX)
    }

    fn read_start(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut state = self.look()?;
        let inode = state.cached.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        let bytes = state.contents(inode).bytes();
        Ok(bytes[..bytes.len().min(usize::try_from(limit).unwrap_or(usize::MAX))].to_vec())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.look()?;
        if !state.cached.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let entries = state.cached.keys().filter(|entry| entry.parent() == Some(path));
        Ok(entries.filter_map(|entry| Some(entry.file_name()?.to_str()?.to_owned())).collect())
    }
}

impl SimDisk {
    fn look(&self) -> io::Result<std::cell::RefMut<'_, State>> {
        let state = self.state.borrow_mut();
        if state.crashed { Err(io::Error::other("crashed")) } else { Ok(state) }
    }

    /// Runs a changing operation with its fate, and turns a bad fate into an error.
    fn change<T>(&self, run: impl FnOnce(&mut State, Fate) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.look()?;
        state.operations += 1;
        let fate = state.fate();
        // In the operation of the crash all, some or nothing of it has happened.
        if fate == Fate::Crashed && state.random.below(2) == 0 {
            return Err(io::Error::other("crashed"));
        }
        let outcome = run(&mut state, fate)?;
        match fate {
            Fate::Done => Ok(outcome),
            Fate::Crashed => Err(io::Error::other("crashed")),
            Fate::Failed if state.random.below(2) == 0 => Err(io::ErrorKind::StorageFull.into()),
            Fate::Failed => Err(io::Error::other("input/output error")),
        }
    }

    fn file(&self, inode: Option<usize>) -> io::Result<SimFile> {
        let inode = inode.ok_or(io::ErrorKind::NotFound)?;
        Ok(SimFile { inode, locked: std::cell::Cell::new(false), state: Rc::clone(&self.state) })
    }
}

impl State {
    fn fate(&mut self) -> Fate {
        if self.operations == self.mishaps.crash_at {
            self.crashed = true;
            return Fate::Crashed;
        }
        if self.operations == self.mishaps.fail_at { Fate::Failed } else { Fate::Done }
    }

    fn parent_exists(&self, path: &Path) -> io::Result<()> {
        let found = path.parent().is_some_and(|parent| self.cached.contains_key(parent));
        if found { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn add(&mut self, path: &Path, node: Node) {
        self.cached.insert(path.to_owned(), self.nodes.len());
        self.nodes.push(node);
    }

    fn contents(&mut self, inode: usize) -> &mut FileState {
        match &mut self.nodes[inode] {
            Node::File(file) => file,
            Node::Dir => unreachable!("a folder is no file"),
        }
    }

    fn lose_power(&mut self) {
        for node in &mut self.nodes {
            if let Node::File(file) = node {
                file.lose_power(&mut self.random);
            }
        }
        let paths: BTreeSet<PathBuf> = self.cached.keys().chain(self.durable.keys()).cloned().collect();
        let mut left = BTreeMap::new();
        // A folder sorts before what is in it.
        for path in paths {
            let (new, old) = (self.cached.get(&path), self.durable.get(&path));
            let inode = if self.random.below(2) == 0 { new } else { old };
            let reachable = path.parent().is_none_or(|up| up == Path::new("/") || left.contains_key(up));
            if let (Some(inode), true) = (inode, reachable) {
                left.insert(path, *inode);
            }
        }
        self.cached.clone_from(&left);
        self.durable = left;
    }
}

/// An open file; gives its lock back when dropped.
#[derive(Debug)]
pub struct SimFile {
    inode: usize,
    locked: std::cell::Cell<bool>,
    state: Rc<RefCell<State>>,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        if self.locked.get() {
            self.state.borrow_mut().locks.remove(&self.inode);
        }
    }
}

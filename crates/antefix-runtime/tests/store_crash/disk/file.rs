use std::collections::BTreeMap;

use super::random::Random;

/// Far smaller than a real sector, so that lines and index slots lie on several and tear more often.
const SECTOR: usize = 64;

/// A file's bytes as processes see them, as the disk has them, and all that may be on its way there.
#[derive(Clone, Debug, Default)]
pub struct FileState {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Each content a sector had since the last sync: any of them may have been written back.
    dirty: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    /// Each size since the last sync.
    sizes: Vec<usize>,
}

impl FileState {
    pub fn bytes(&self) -> &[u8] {
        &self.cached
    }

    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        if end > self.cached.len() {
            self.resize(end);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            let content = sector_of(&self.cached, sector);
            let versions = self.dirty.entry(sector).or_default();
            if versions.last() != Some(&content) {
                versions.push(content);
            }
        }
    }

    pub fn truncate(&mut self, length: usize) {
        if length != self.cached.len() {
            self.resize(length);
        }
    }

    /// Brings the dirty sectors and the size to the disk, and nothing else: a sector that is clean by mistake stays
    /// as it was.
    pub fn sync(&mut self) {
        let shortest = self.sizes.iter().copied().fold(self.durable.len(), usize::min);
        self.durable.truncate(shortest);
        self.durable.resize(self.cached.len(), 0);
        for sector in std::mem::take(&mut self.dirty).into_keys() {
            let start = (sector * SECTOR).min(self.cached.len());
            let end = (start + SECTOR).min(self.cached.len());
            self.durable[start..end].copy_from_slice(&self.cached[start..end]);
        }
        self.sizes.clear();
    }

    /// Some of the pages reach the disk, and the kernel takes all of them for clean.
    pub fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.sample(random);
        self.dirty.clear();
    }

    pub fn lose_power(&mut self, random: &mut Random) {
        self.cached = self.sample(random);
        self.durable.clone_from(&self.cached);
        self.dirty.clear();
        self.sizes.clear();
    }

    fn resize(&mut self, length: usize) {
        self.cached.resize(length, 0);
        self.sizes.push(length);
    }

    /// One of the contents the disk may have: sector by sector, and the size, independently of each other.
    fn sample(&self, random: &mut Random) -> Vec<u8> {
        if self.dirty.is_empty() && self.sizes.is_empty() {
            return self.durable.clone();
        }
        let size = match random.below(self.sizes.len() as u64 + 2) as usize {
            0 => self.durable.len(),
            // The newest size is the likeliest: without it little of the rest can be seen.
            pick => self.sizes.get(pick - 1).or(self.sizes.last()).copied().unwrap_or(self.durable.len()),
        };
        let keep_old = random.below(4);
        let mut bytes = Vec::with_capacity(size + SECTOR);
        for sector in 0..size.div_ceil(SECTOR) {
            bytes.extend_from_slice(&self.pick(sector, keep_old, random));
        }
        bytes.truncate(size);
        bytes
    }

    /// `keep_old` in 4 sectors were not written back at all.
    fn pick(&self, sector: usize, keep_old: u64, random: &mut Random) -> [u8; SECTOR] {
        let versions = self.dirty.get(&sector).map_or(&[][..], Vec::as_slice);
        if versions.is_empty() || random.happens(keep_old, 4) {
            return sector_of(&self.durable, sector);
        }
        versions[random.below(versions.len() as u64) as usize]
    }
}

/// A sector's bytes, with zeros behind the end.
fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR] {
    let mut content = [0; SECTOR];
    let start = (sector * SECTOR).min(bytes.len());
    let part = &bytes[start..(start + SECTOR).min(bytes.len())];
    content[..part.len()].copy_from_slice(part);
    content
}

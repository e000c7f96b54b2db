//! Blocks of tokens: a tree whose edges are the tokens of full blocks, so that equal prefixes are equal paths.

use std::collections::BTreeMap;

use crate::Millis;
use crate::chat::token::Token;
use crate::config::BlockRules;

use super::{Ask, Kept};

/// All blocks of all scopes.
#[derive(Clone, Debug)]
pub(crate) struct BlockCache {
    rules: BlockRules,
    roots: BTreeMap<String, u64>,
    blocks: BTreeMap<Name, Block>,
    /// Names by last use, the least recent first. A block is used whenever one behind it is, and counts as used
    /// after that: a parent outlives its children.
    by_use: BTreeMap<u64, Name>,
    /// The last number given, to a block or to a use.
    last: u64,
}

impl BlockCache {
    pub fn new(rules: BlockRules) -> Self {
        Self { rules, roots: BTreeMap::new(), blocks: BTreeMap::new(), by_use: BTreeMap::new(), last: 0 }
    }

    /// Tokens of the blocks at the front of a prompt that are there.
    pub fn look_up(&self, ask: &Ask<'_>) -> usize {
        let Some(&root) = self.roots.get(ask.scope) else { return 0 };
        let most = ask.prompt.len() - usize::from(self.rules.computes_last && !ask.prompt.is_empty());
        let mut parent = root;
        let mut found = 0;
        for tokens in ask.prompt.get(..most).unwrap_or_default().chunks_exact(self.size()) {
            let Some(block) = self.blocks.get(&(parent, tokens.to_vec())) else { break };
            if block.computed_at > ask.now || self.is_gone(block, ask.now) {
                break;
            }
            (parent, found) = (block.id, found + tokens.len());
        }
        if ask.reuse && found >= self.rules.minimum { found } else { 0 }
    }

    /// Keeps the full blocks of a prompt and its answer, and drops those least recently used.
    pub fn keep(&mut self, ask: &Ask<'_>, kept: &Kept<'_>) {
        let output = if self.rules.keeps_output { kept.output } else { &[] };
        let tokens: Vec<Token> = ask.prompt.iter().chain(output).copied().collect();
        let root = self.root(ask.scope);
        let mut path: Vec<Name> = Vec::new();
        let mut parent = root;
        for tokens in tokens.chunks_exact(self.size()) {
            let name = (parent, tokens.to_vec());
            parent = self.made(&name, ask, kept);
            path.push(name);
        }
        for name in path.into_iter().rev() {
            self.used(name, kept.finished_at);
        }
        self.drop_oldest(ask.now);
    }

    /// Drops what is over the capacity, and what has been idle for too long.
    fn drop_oldest(&mut self, now: Millis) {
        while let Some((_, name)) = self.by_use.first_key_value() {
            let over = self.rules.capacity.is_some_and(|capacity| self.blocks.len() > capacity);
            if !over && !self.blocks.get(name).is_some_and(|block| self.is_gone(block, now)) {
                break;
            }
            self.blocks.remove(name);
            self.by_use.pop_first();
        }
    }

    /// The number of the block of that name, which is made if it is not there.
    fn made(&mut self, name: &Name, ask: &Ask<'_>, kept: &Kept<'_>) -> u64 {
        let gone = self.blocks.get(name).is_none_or(|block| self.is_gone(block, ask.now));
        if gone {
            let id = self.number();
            let block = Block { id, used: id, used_at: kept.finished_at, computed_at: kept.computed_at };
            if let Some(old) = self.blocks.insert(name.clone(), block) {
                self.by_use.remove(&old.used);
            }
        }
        self.blocks.get(name).map(|block| block.id).unwrap_or_default()
    }

    fn used(&mut self, name: Name, now: Millis) {
        let number = self.number();
        let Some(block) = self.blocks.get_mut(&name) else { return };
        self.by_use.remove(&block.used);
        (block.used, block.used_at) = (number, now);
        self.by_use.insert(number, name);
    }

    fn root(&mut self, scope: &str) -> u64 {
        if let Some(&root) = self.roots.get(scope) {
            return root;
        }
        let root = self.number();
        self.roots.insert(scope.to_owned(), root);
        root
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn is_gone(&self, block: &Block, now: Millis) -> bool {
        self.rules.idle.is_some_and(|idle| now >= block.used_at.after(idle))
    }

    fn size(&self) -> usize {
        self.rules.size.max(1)
    }
}

/// The number of what stands in front of a block, and its tokens.
type Name = (u64, Vec<Token>);

#[derive(Clone, Copy, Debug)]
struct Block {
    id: u64,
    /// Number of its last use.
    used: u64,
    used_at: Millis,
    computed_at: Millis,
}

//! Numbers and sentences from a seed.

#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A sentence in one of several languages, seldom the same twice.
    pub fn sentence(&mut self) -> String {
        const WORDS: [&[&str]; 5] = [
            &["find", "the", "retry", "budget", "in", "crate", "module"],
            &["suche", "die", "Grenze", "für", "Wiederholungen", "im", "Quelltext"],
            &["где", "находится", "предел", "повторов", "в", "коде"],
            &["再試行", "上限", "は", "どこ", "コード"],
            &["trouve", "la", "limite", "d'essais", "\\n", "\\\"ici\\\""],
        ];
        let words = WORDS[self.below(WORDS.len())];
        let count = 4 + self.below(20);
        let text: Vec<_> = (0..count).map(|_| self.of(words)).collect();
        let number = NUMBERS[self.below(NUMBERS.len())].repeat(1 + self.below(3));
        format!("{} ({number} apples)", text.join(" "))
    }
}

const NUMBERS: [&str; 8] = ["one-", "deux-", "drei-", "quatre-", "five-", "sechs-", "sete-", "acht-"];

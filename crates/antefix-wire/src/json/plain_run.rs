/// Length of the run at the start of `bytes` without quote, backslash or control character.
///
/// Works on words of eight bytes; vector instructions would need `unsafe`.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let hits = hits(u64::from_le_bytes(*word));
        if hits != 0 {
            return index * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + tail.iter().take_while(|&&byte| is_plain(byte)).count()
}

/// Marks the high bit of each byte that ends a run. The lowest mark is exact; a borrow out of it can only
/// feign marks above.
fn hits(word: u64) -> u64 {
    let quote = (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control) & !word & HIGHS
}

fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

#[cfg(test)]
mod tests {
    use super::{is_plain, plain_run};

    #[test]
    fn every_byte_at_every_place() {
        for len in 0..30 {
            for (at, byte) in (0..len).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
                let mut bytes = vec![b'a'; len];
                bytes[at] = byte;
                check(&bytes);
            }
        }
    }

    #[test]
    fn every_pair_of_neighbours() {
        for (first, second) in (0..=255).flat_map(|first| (0..=255).map(move |second| (first, second))) {
            let mut bytes = [0xc3; 24];
            bytes[6..8].copy_from_slice(&[first, second]);
            check(&bytes);
        }
    }

    fn check(bytes: &[u8]) {
        let expect = bytes.iter().position(|&byte| !is_plain(byte)).unwrap_or(bytes.len());
        assert_eq!(plain_run(bytes), expect, "{bytes:?}");
    }
}

//! The digest of a body as it is handed to the connection.

use bytes::Bytes;

/// Hashes bodies piece by piece at the socket. A piece that is the same memory as in the body before, behind
/// pieces that all are, is not hashed again: it is kept alive here and cannot have changed.
#[derive(Default)]
pub struct SocketDigest {
    /// Each piece with the state behind it.
    pieces: Vec<(Bytes, blake3::Hasher)>,
    seen: usize,
    hashed: u64,
}

impl SocketDigest {
    /// Begins a body.
    pub fn begin(&mut self) {
        self.seen = 0;
    }

    /// Takes the next piece.
    pub fn piece(&mut self, piece: &Bytes) {
        let same = |known: &Bytes| known.as_ptr() == piece.as_ptr() && known.len() == piece.len();
        if !self.pieces.get(self.seen).is_some_and(|(known, _)| same(known)) {
            self.pieces.truncate(self.seen);
            let mut hasher = self.pieces.last().map(|(_, hasher)| hasher.clone()).unwrap_or_default();
            hasher.update(piece);
            self.hashed += piece.len() as u64;
            self.pieces.push((piece.clone(), hasher));
        }
        self.seen += 1;
    }

    /// The digest of the pieces since [`begin`](Self::begin).
    pub fn finish(&mut self) -> blake3::Hash {
        self.pieces.truncate(self.seen);
        self.pieces.last().map(|(_, hasher)| hasher.clone()).unwrap_or_default().finalize()
    }

    /// Bytes hashed so far, over all bodies.
    pub fn hashed(&self) -> u64 {
        self.hashed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_all_bytes_whatever_is_shared() {
        let shared = Bytes::from(vec![b'a'; 1000]);
        let mut digest = SocketDigest::default();
        let bodies: [Vec<Bytes>; 4] = [
            vec![shared.clone(), Bytes::from_static(b"x")],
            vec![shared.clone(), Bytes::from_static(b"yz")],
            vec![Bytes::from(vec![b'a'; 1000]), Bytes::from_static(b"yz")],
            vec![shared.clone()],
        ];
        for body in bodies {
            digest.begin();
            for piece in &body {
                digest.piece(piece);
            }
            assert_eq!(digest.finish(), blake3::hash(&body.concat()));
        }
    }

    #[test]
    fn shared_pieces_are_hashed_once() {
        let shared = Bytes::from(vec![b'a'; 1000]);
        let mut digest = SocketDigest::default();
        for _ in 0..10 {
            digest.begin();
            digest.piece(&shared);
            digest.piece(&Bytes::from(vec![b'b'; 10]));
            digest.finish();
        }
        assert_eq!(digest.hashed(), 1000 + 100);
    }
}

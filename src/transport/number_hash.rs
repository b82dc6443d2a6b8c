//! Hashes numbers that we gave out ourselves: nobody can choose them to collide.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps by the number of an endpoint. It takes a tenth of what the hash of std takes, which has to
/// withstand keys chosen by others.
pub(super) type NumberHash = BuildHasherDefault<Spread>;

/// Spreads numbers that follow each other over all bits: Fibonacci hashing, by 2^64 over the golden
/// ratio.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    /// A map looks at the low bits to find a group of places, and at the highest seven within it.
    #[test]
    fn numbers_that_follow_each_other_share_neither_their_low_nor_their_high_bits() {
        let hashes: Vec<u64> = (0..128_u64).map(|n| NumberHash::default().hash_one(n)).collect();
        let low: HashSet<u64> = hashes.iter().map(|hash| hash % 128).collect();
        let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert_eq!(low.len(), 128);
        assert!(high.len() > 64, "{}", high.len());
    }
}

//! Random numbers that belong to places of the program, so that one change of it leaves all others as they were.
//!
//! Numbers from one sequence change for everything that comes after what was added or taken out. A run with a fault and
//! the same run without it can only be compared where each operator has numbers of its own.

use std::collections::HashMap;

use super::random::Random;

/// Numbers by step, layer, operator with its arguments, and how often that was asked.
pub(super) struct Placed {
    seed: u64,
    /// The step and the layer that runs.
    stretch: (u64, u64),
    /// The operators and frames around what runs, the innermost last.
    sites: Vec<u64>,
    asked: HashMap<u64, u64>,
}

impl Placed {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, stretch: (0, 0), sites: Vec::new(), asked: HashMap::new() }
    }

    /// What is asked for from here on is for this step; the numbers of those before are not needed any more.
    pub(super) fn begin_step(&mut self, step: u64) {
        self.stretch = (step, 0);
        self.asked.clear();
    }

    pub(super) fn begin_layer(&mut self, layer: u64) {
        self.stretch.1 = layer;
    }

    /// An operator or a frame of this name, with these arguments, begins.
    pub(super) fn enter(&mut self, name: &str, arguments: &str) {
        self.sites.push(mixed(hash(name), hash(arguments)));
    }

    pub(super) fn leave(&mut self) {
        self.sites.pop();
    }

    /// A number of `low..high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let site = self.sites.last().copied().unwrap_or_default();
        let place = mixed(mixed(mixed(self.seed, self.stretch.0), self.stretch.1), site);
        let asked = self.asked.entry(place).or_default();
        *asked += 1;
        Random::new(mixed(place, *asked)).between(low, high)
    }
}

/// FNV-1a (Fowler, Noll, Vo).
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// A number that depends on both.
pub(super) fn mixed(one: u64, other: u64) -> u64 {
    Random::new(one ^ other.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(placed: &mut Placed, name: &str) -> [u64; 2] {
        placed.enter(name, "");
        let numbers = [placed.between(0, 1 << 40), placed.between(0, 1 << 40)];
        placed.leave();
        numbers
    }

    #[test]
    fn what_one_operator_asks_for_changes_nothing_for_another() {
        let (mut one, mut other) = (Placed::new(5), Placed::new(5));
        numbers(&mut one, "aten::item");
        let expected = numbers(&mut one, "aten::mm");
        assert_eq!(numbers(&mut other, "aten::mm"), expected);
        assert_ne!(
            numbers(&mut other, "aten::mm"),
            expected,
            "the second of the step has numbers of its own"
        );
        other.begin_step(1);
        assert_ne!(numbers(&mut other, "aten::mm"), expected);
    }
}

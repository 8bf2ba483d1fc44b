//! A few hundred damaged extension scripts in every test run: each is refused, or does what is left of it within its
//! limits, and none ends the process. `fuzz/fuzz_targets/starlark_extension.rs` goes further.

use super::script_probe;

/// Pieces that change what a script does, or how much of it.
const PIECES: [&str; 16] = [
    " * 1000000000",
    "[0] * (1 << 40)",
    "while True",
    "for x in range(1 << 60):\n  ",
    "\"a\" * 3000000000",
    "(((((((((((((((",
    "]",
    "\\",
    "'''",
    "\u{0}",
    "\u{1f600}",
    ".join",
    "lambda x: x(x)",
    " % 0",
    "None",
    "\n    ",
];

/// Pseudo-random numbers (SplitMix64): the same damage in every run and on every machine.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as usize
}

/// The script with up to three pieces put in, taken out or doubled.
fn damaged(script: &str, state: &mut u64) -> String {
    let mut text: Vec<char> = script.chars().collect();
    for _ in 0..1 + next(state) % 3 {
        let at = next(state) % (text.len() + 1);
        let length = (next(state) % 40).min(text.len() - at);
        match next(state) % 3 {
            0 => drop(text.splice(at..at, PIECES[next(state) % PIECES.len()].chars())),
            1 => drop(text.drain(at..at + length)),
            _ => {
                let doubled = text[at..at + length].to_vec();
                text.splice(at..at, doubled);
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn damaged_scripts_are_refused_or_stay_within_their_limits() {
    let scripts = [
        include_str!("../../../../examples/extensions/my_attention.star"),
        include_str!("../../../../examples/extensions/my_block.star"),
        include_str!("../../../../examples/extensions/megatron_te_v2.star"),
    ];
    let (mut state, mut loaded, mut refused) = (1, 0, 0);
    for round in 0..400 {
        let text = damaged(scripts[round % scripts.len()], &mut state);
        match script_probe::run(&text) {
            true => loaded += 1,
            false => refused += 1,
        }
    }
    assert!(loaded > 20 && refused > 20, "{loaded} loaded, {refused} refused");
}

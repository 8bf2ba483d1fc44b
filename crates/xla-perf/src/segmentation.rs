//! Where one execution of a compiled program ends and the next begins, told from what the program launched.
//!
//! A GPU profile has no event per execution. The host's event around the launches is the surest sign; without it a
//! new execution begins where the program's first kernel comes again.

use std::hash::Hash;

/// A kernel of a program, as far as it matters where executions begin. `Kernel` tells kernels of one program apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launched<Kernel, Host> {
    /// Which kernel.
    pub(super) kernel: Kernel,
    /// The host's execution that the launch lies in, where the profile has it.
    pub(super) host: Option<Host>,
    /// Whether the program runs it once per execution: the instruction is in no loop. A loop's first kernel comes
    /// again without a new execution.
    pub(super) once: bool,
}

/// Number of the execution that each kernel of one program on one device belongs to, from 0. The kernels are in the
/// order in which they were launched.
pub(super) fn executions<Kernel: Copy + Eq + Hash, Host: Copy + Eq>(
    launched: &[Launched<Kernel, Host>],
) -> Vec<usize> {
    let first = launched.iter().position(|launched| launched.once);
    let marker = first.map(|at| launched[at].kernel);
    // A program of one kernel: each is an execution.
    let is_single = launched.iter().all(|other| Some(other.kernel) == marker);
    let mut numbers = Vec::with_capacity(launched.len());
    let (mut number, mut other_since) = (0, false);
    for (at, current) in launched.iter().enumerate() {
        let previous = at.checked_sub(1).map(|before| &launched[before]);
        let begins = match (previous, current.host) {
            (None, _) => false,
            (Some(Launched { host: Some(before), .. }), Some(host)) => *before != host,
            _ => marker == Some(current.kernel) && first != Some(at) && (other_since || is_single),
        };
        if begins {
            number += 1;
        }
        other_since = marker != Some(current.kernel) && (other_since || !begins);
        numbers.push(number);
    }
    numbers
}

/// How much longer than the steady ones an execution is that counts as warming up.
const WARM_UP: f64 = 1.1;

/// Number of executions at the start that took longer than the rest: caches, clocks and allocators that had not
/// settled. `times` are the busy times in order. Fewer than three executions tell nothing.
pub(super) fn warm_up_executions(times: &[i64]) -> usize {
    if times.len() < 3 {
        return 0;
    }
    // Of the later half, so that a long warm-up does not hide itself.
    let mut steady = times[times.len() / 2..].to_vec();
    steady.sort_unstable();
    let limit = steady[steady.len() / 2] as f64 * WARM_UP;
    let warm_up = times.iter().take_while(|&&time| time as f64 > limit).count();
    // Times that fall from beginning to end have no steady part.
    if warm_up * 2 >= times.len() { 0 } else { warm_up }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernels: &str) -> Vec<usize> {
        let launched: Vec<Launched<char, u32>> = kernels
            .chars()
            .map(|kernel| Launched { kernel, host: None, once: kernel.is_uppercase() })
            .collect();
        executions(&launched)
    }

    #[test]
    fn the_first_kernel_begins_an_execution() {
        // Lower case: inside a loop.
        for (kernels, expected) in [
            ("ABCABC", vec![0, 0, 0, 1, 1, 1]),
            ("AABAAB", vec![0, 0, 0, 1, 1, 1]),
            ("AAA", vec![0, 1, 2]),
            ("AbcbcDAbcD", vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
            ("bcbc", vec![0, 0, 0, 0]),
            ("", vec![]),
        ] {
            assert_eq!(of(kernels), expected, "{kernels}");
        }
    }

    #[test]
    fn the_hosts_execution_is_surer_than_repetition() {
        let launched =
            [(1, Some(7)), (2, Some(7)), (1, Some(7)), (2, Some(8)), (1, Some(8)), (2, None), (1, None)]
                .map(|(kernel, host)| Launched { kernel, host, once: true });
        assert_eq!(executions(&launched), [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn slow_executions_at_the_start_are_warm_up() {
        for (times, expected) in [
            (&[240, 150, 151, 149, 150][..], 1),
            (&[400, 240, 150, 151, 149, 150], 2),
            (&[150, 151, 240, 149, 150], 0),
            (&[500, 400, 300, 200], 0),
            (&[240, 150], 0),
            (&[0, 0, 0], 0),
        ] {
            assert_eq!(warm_up_executions(times), expected, "{times:?}");
        }
    }
}

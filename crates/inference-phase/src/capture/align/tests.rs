use super::*;
use proptest::prelude::*;

fn named(name: char) -> Dispatch {
    Dispatch { work: Work::Kernel, kernel: Some(name as u32) }
}

fn unnamed(work: Work) -> Dispatch {
    Dispatch { work, kernel: None }
}

/// Calls of named kernels, one a letter; `M` copies, `S` fills, `?` is a kernel without a name.
fn calls(text: &str) -> Vec<Dispatch> {
    let call = |letter| match letter {
        'M' => unnamed(Work::Copy),
        'S' => unnamed(Work::Fill),
        '?' => unnamed(Work::Kernel),
        name => named(name),
    };
    text.chars().map(call).collect()
}

/// Device events, one a letter followed by its stream.
fn events(text: &str) -> Vec<Replayed> {
    let letters: Vec<char> = text.chars().collect();
    let event = |pair: &[char]| {
        let work = match pair[0] {
            'M' => Work::Copy,
            'S' => Work::Fill,
            _ => Work::Kernel,
        };
        let stream = pair[1].to_digit(10).map(i64::from);
        let is_kernel = work == Work::Kernel;
        Replayed { work, is_kernel, name: pair[0] as u32, stream, node: None }
    };
    letters.chunks(2).map(event).collect()
}

/// Pairing, pairs, number of unverified ones.
type Parts = (Pairing, Vec<(usize, usize)>, usize);

fn outcome(dispatches: &str, replayed: &str) -> Result<Parts, Mismatch> {
    let alignment = align(&calls(dispatches), &events(replayed))?;
    Ok((alignment.pairing, alignment.pairs, alignment.unverified))
}

#[test]
fn one_stream_is_paired_in_order() {
    let pairs = |count| (0..count).map(|at| (at, at)).collect::<Vec<_>>();
    assert_eq!(outcome("MaSb", "M1a1S1b1"), Ok((Pairing::InOrder, pairs(4), 0)));
    assert_eq!(outcome("M??", "M1a1b1"), Ok((Pairing::InOrder, pairs(3), 2)));
    assert_eq!(outcome("", ""), Ok((Pairing::InOrder, vec![], 0)));
    assert_eq!(outcome("Ma", "z1a1"), Ok((Pairing::InOrder, pairs(2), 1)), "a kernel may copy");
    assert_eq!(outcome("M?", "M2a1"), Ok((Pairing::InOrder, pairs(2), 1)), "kernels on one stream");
}

#[test]
fn names_that_differ_are_no_pair() {
    for (dispatches, replayed) in
        [("a", "b1"), ("aab", "a1b1b1"), ("M", "S1"), ("?a", "M1a1"), ("?a", "b1c1")]
    {
        assert_eq!(outcome(dispatches, replayed), Err(Mismatch::Names), "{dispatches} {replayed}");
    }
}

#[test]
fn another_order_is_paired_by_name() {
    assert_eq!(outcome("ab", "b1a1"), Ok((Pairing::ByName, vec![(0, 1), (1, 0)], 0)));
    assert_eq!(outcome("aMa", "a1a1M1"), Ok((Pairing::ByName, vec![(0, 0), (1, 2), (2, 1)], 0)));
}

#[test]
fn calls_without_device_event_are_skipped_when_names_tell_which() {
    assert_eq!(outcome("xkl", "k1l1"), Ok((Pairing::Skipping, vec![(1, 0), (2, 1)], 0)));
    assert_eq!(outcome("xMk", "M1k1"), Ok((Pairing::Skipping, vec![(1, 0), (2, 1)], 0)));
    assert_eq!(outcome("kl", "l1k1x1"), Err(Mismatch::Counts));
    assert_eq!(outcome("xkl", "l1k1"), Err(Mismatch::Counts));
    assert_eq!(outcome("??", "k1"), Err(Mismatch::Counts));
}

#[test]
fn calls_go_to_the_stream_that_waits_for_them() {
    let by_stream = |pairs: &[(usize, usize)]| Ok((Pairing::ByStream, pairs.to_vec(), 0));
    assert_eq!(outcome("kkl", "k1k2l1"), by_stream(&[(0, 0), (1, 1), (2, 2)]));
    // Stream 1 started first but has the shorter run: k, m against k, l.
    assert_eq!(outcome("klkm", "k1k2l2m1"), by_stream(&[(0, 1), (1, 2), (2, 0), (3, 3)]));
    assert_eq!(outcome("xaMb", "a1M2b2"), by_stream(&[(1, 0), (2, 1), (3, 2)]), "x is left over");
    assert_eq!(outcome("ab", "a1c2"), Err(Mismatch::Names));
    assert_eq!(outcome("a?", "a1c2"), Err(Mismatch::Unnamed));
}

#[test]
fn without_names_several_streams_need_node_numbers() {
    let with_nodes = |replayed: &str, nodes: &[i64]| {
        let mut events = events(replayed);
        for (event, &node) in events.iter_mut().zip(nodes) {
            event.node = Some(node);
        }
        align(&calls("?M?"), &events)
            .map(|alignment| (alignment.pairing, alignment.pairs, alignment.unverified))
    };
    assert_eq!(with_nodes("a1b2M1", &[10, 14, 12]), Ok((Pairing::ByNode, vec![(0, 0), (1, 2), (2, 1)], 2)));
    assert_eq!(with_nodes("a1b2M1", &[10, 12, 14]), Err(Mismatch::Names), "the copy is not the last call");
    assert_eq!(
        with_nodes("a1b2M1", &[12, 14, 10]),
        Err(Mismatch::Unnamed),
        "stream 1 runs against the numbers"
    );
    assert_eq!(with_nodes("a1b2M1", &[10, 12]), Err(Mismatch::Unnamed), "a number is missing");
    assert_eq!(with_nodes("a1M2b3", &[10, 10, 12]), Err(Mismatch::Unnamed), "two have one number");
}

#[test]
fn many_equal_kernels_on_two_streams_are_paired_in_time() {
    let dispatches = vec![named('k'); 200_000];
    let mut replayed = events("k1k2").repeat(100_000);
    replayed.truncate(dispatches.len());
    assert_eq!(align(&dispatches, &replayed).unwrap().pairs.len(), 200_000);
}

proptest! {
    /// Streams with kernels of their own: whichever way they interleave, every call finds its device event.
    #[test]
    fn streams_with_their_own_kernels_are_told_apart(
        launches in prop::collection::vec((0usize..3, 0u32..4), 1..60),
        shuffle in prop::collection::vec(0usize..3, 200),
        drop_every in 2usize..9,
    ) {
        let name = |&(stream, kernel): &(usize, u32)| stream as u32 * 10 + kernel;
        let dispatches: Vec<Dispatch> =
            launches.iter().map(|launch| Dispatch { work: Work::Kernel, kernel: Some(name(launch)) }).collect();
        let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); 3];
        for (call, launch) in launches.iter().enumerate() {
            queues[launch.0].push_back(call);
        }
        let mut origin = Vec::new();
        for stream in shuffle.into_iter().chain([0, 1, 2].repeat(60)) {
            origin.extend(queues[stream].pop_front());
        }
        let replay = |origin: &[usize]| -> Vec<Replayed> {
            let event = |&call: &usize| Replayed {
                work: Work::Kernel,
                is_kernel: true,
                name: name(&launches[call]),
                stream: Some(launches[call].0 as i64),
                node: None,
            };
            origin.iter().map(event).collect()
        };
        let alignment = align(&dispatches, &replay(&origin)).unwrap();
        prop_assert_eq!(alignment.pairs.len(), origin.len());
        prop_assert_eq!(alignment.unverified, 0);
        let mut calls: Vec<usize> = alignment.pairs.iter().map(|&(call, _)| call).collect();
        calls.sort_unstable();
        prop_assert_eq!(calls, (0..launches.len()).collect::<Vec<_>>());
        for &(call, event) in &alignment.pairs {
            prop_assert_eq!(launches[call], launches[origin[event]]);
            if alignment.pairing == Pairing::ByStream {
                prop_assert_eq!(call, origin[event]);
            }
        }
        // A subset never pairs a device event with a call of another kernel.
        let fewer: Vec<usize> = origin.into_iter().enumerate().filter(|(at, _)| at % drop_every != 0).map(|(_, call)| call).collect();
        if let Ok(alignment) = align(&dispatches, &replay(&fewer)) {
            prop_assert_eq!(alignment.pairs.len(), fewer.len());
            for &(call, event) in &alignment.pairs {
                prop_assert_eq!(launches[call], launches[fewer[event]]);
            }
        }
    }
}

use super::*;

#[test]
fn one_is_not_several() {
    let above = |rows| MetalNotice::AboveHundred { rows, id: 7, percent: 120.0 };
    let calls =
        |calls| MetalNotice::IncompleteCalls { calls, first: "Matmul".to_owned(), id: 3, lacking: vec![1] };
    for (notice, start) in [
        (above(1), "1 row reaches more than 100 % of the chip (120.0 % at ID 7): "),
        (above(2), "2 rows reach more than 100 % of the chip (120.0 % at ID 7): "),
        (calls(1), "1 call is not on all devices (first: Matmul, ID 3, not on device 1)"),
        (calls(2), "2 calls are not on all devices (first: Matmul, ID 3, not on device 1)"),
        (MetalNotice::OnlySignposts { signposts: 1 }, "the files hold 1 signpost and no operation"),
        (MetalNotice::NothingLeft { of: 1 }, "the filters leave none of 1 row"),
        (MetalNotice::NothingLeft { of: 3 }, "the filters leave none of 3 rows"),
        (
            MetalNotice::DevicesMerged { devices: 2, rows: 2, into: 1 },
            "2 operations of 2 devices merged into 1 row",
        ),
        (MetalNotice::AlignedByName { rows: 1 }, "1 row has no call count"),
        (MetalNotice::DeviceUnknown { rows: 1 }, "1 operation of a device does not say which device"),
        (MetalNotice::ActiveExpertsUnknown { rows: 1 }, "1 sparse product does not say how many experts"),
        (MetalNotice::InvalidDurations { rows: 1, id: 4 }, "1 row has no duration that can be right"),
    ] {
        let text = notice.to_string();
        assert!(text.starts_with(start), "{text}");
    }
}

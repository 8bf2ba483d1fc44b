/// Eight colours that people with colour-blindness can tell apart: Okabe and Ito,
/// <https://jfly.uni-koeln.de/color/>, ordered so that neighbours differ most.
pub(crate) const PALETTE: [u32; 8] =
    [0x0072B2, 0xE69F00, 0x009E73, 0xD55E00, 0x56B4E9, 0xCC79A7, 0xF0E442, 0x999999];

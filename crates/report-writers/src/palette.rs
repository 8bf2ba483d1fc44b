/// Eight colours that people with colour-blindness can tell apart: Okabe and Ito,
/// <https://jfly.uni-koeln.de/color/>, ordered so that neighbours differ most.
pub(crate) const PALETTE: [u32; 8] =
    [0x0072B2, 0xE69F00, 0x009E73, 0xD55E00, 0x56B4E9, 0xCC79A7, 0xF0E442, 0x999999];

/// Four colours for kinds that must be told apart in print without colour too: dark blue, yellow and red of Tol's
/// high-contrast scheme, <https://sronpersonalpages.nl/~pault/>, and a light grey, each of another lightness.
pub(crate) const KINDS: [u32; 4] = [0x004488, 0xDDAA33, 0xBB5566, 0xD0D0D0];

/// Whether text on a colour must be white to be read.
pub(crate) fn is_dark(color: u32) -> bool {
    let [_, red, green, blue] = color.to_be_bytes().map(u32::from);
    // Weights of ITU-R BT.601, in thousandths; 128 of 255 is the middle.
    299 * red + 587 * green + 114 * blue < 128_000
}

#[cfg(test)]
mod tests {
    use super::{KINDS, is_dark};

    #[test]
    fn text_on_the_dark_kinds_is_white() {
        assert_eq!(KINDS.map(is_dark), [true, false, true, false]);
    }

    #[test]
    fn no_two_kinds_have_one_lightness() {
        let mut lightness = KINDS.map(|color| {
            let [_, red, green, blue] = color.to_be_bytes().map(u32::from);
            (299 * red + 587 * green + 114 * blue) / 1000
        });
        lightness.sort_unstable();
        assert!(lightness.windows(2).all(|pair| pair[1] - pair[0] >= 25), "{lightness:?}");
    }
}

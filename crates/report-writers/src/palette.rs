/// Eight colours that people with colour-blindness can tell apart: Okabe and Ito,
/// <https://jfly.uni-koeln.de/color/>, ordered so that neighbours differ most.
pub(crate) const PALETTE: [u32; 8] =
    [0x0072B2, 0xE69F00, 0x009E73, 0xD55E00, 0x56B4E9, 0xCC79A7, 0xF0E442, 0x999999];

/// Four colours for kinds that must be told apart in print without colour too: dark blue, yellow and red of Tol's
/// high-contrast scheme, <https://sronpersonalpages.nl/~pault/>, and a light grey, each of another lightness.
pub(crate) const KINDS: [u32; 4] = [0x004488, 0xDDAA33, 0xBB5566, 0xD0D0D0];

/// The darkest shades of categories, each of another hue: purple, blue, green, orange, red, grey.
const HUES: [u32; 6] = [0x54278F, 0x08519C, 0x006D2C, 0xA63603, 0x99000D, 0x4D4D4D];

/// A shade of a category's colour: from the darkest, 0, twelve steps to a light one, and so on from the darkest again.
pub(crate) fn shade_of(category: usize, shade: usize) -> u32 {
    // The lightest is two thirds of the way to white.
    let step = (shade % 12) as u32;
    let lighter = |channel: u8| u32::from(channel) + (255 - u32::from(channel)) * step * 2 / 33;
    let [_, red, green, blue] = HUES[category % HUES.len()].to_be_bytes().map(lighter);
    red << 16 | green << 8 | blue
}

/// Whether text on a colour must be white to be read.
pub(crate) fn is_dark(color: u32) -> bool {
    let [_, red, green, blue] = color.to_be_bytes().map(u32::from);
    // Weights of ITU-R BT.601, in thousandths; 128 of 255 is the middle.
    299 * red + 587 * green + 114 * blue < 128_000
}

#[cfg(test)]
mod tests {
    use super::{KINDS, is_dark, shade_of};

    #[test]
    fn shades_go_from_dark_to_light() {
        for category in 0..6 {
            assert!(is_dark(shade_of(category, 0)) && !is_dark(shade_of(category, 11)), "{category}");
            assert_eq!(shade_of(category, 12), shade_of(category, 0));
        }
    }

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

//! Bytes of a text looked at several at a time.

use wide::u8x16;

/// Bytes that are compared at once.
pub(super) const LANES: usize = 16;

/// A bit per byte that is `wanted`, that of the first byte lowest.
#[inline(always)]
pub(super) fn equal(bytes: u8x16, wanted: u8) -> u32 {
    bytes.simd_eq(u8x16::splat(wanted)).to_bitmask()
}

/// The same of bytes that are none of `-./0123456789`. All that end a number are among them.
#[inline(always)]
pub(super) fn beside_digits(bytes: u8x16) -> u32 {
    let from_dash = bytes - u8x16::splat(b'-');
    from_dash.max(u8x16::splat(b'9' - b'-' + 1)).simd_eq(from_dash).to_bitmask()
}

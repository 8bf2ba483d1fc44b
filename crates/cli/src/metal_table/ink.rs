//! Colours of the 256 that most terminals have, and what is in which.

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Grey,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
    Orange,
}

impl Ink {
    /// Its number among the 256.
    const fn number(self) -> u8 {
        match self {
            Ink::Grey => 8,
            Ink::Red => 9,
            Ink::Green => 10,
            Ink::Yellow => 11,
            Ink::Blue => 12,
            Ink::Magenta => 13,
            Ink::Cyan => 14,
            Ink::White => 15,
            Ink::Orange => 208,
        }
    }
}

/// Whether colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    pub(crate) colored: bool,
}

impl Paint {
    pub(crate) fn text(self, text: &str, ink: Option<Ink>) -> String {
        match ink {
            Some(ink) if self.colored && !text.is_empty() => {
                format!("\u{1b}[38;5;{}m{text}\u{1b}[0m", ink.number())
            }
            _ => text.to_owned(),
        }
    }
}

/// What names of operations are coloured by: the first part that a name has.
const OPERATIONS: [(&str, Ink); 12] = [
    ("(torch)", Ink::Red),
    ("Matmul", Ink::Magenta),
    ("OptimizedConvNew", Ink::Orange),
    ("Conv2d", Ink::Orange),
    ("LayerNorm", Ink::Cyan),
    ("AllGather", Ink::Cyan),
    ("AllReduce", Ink::Cyan),
    ("ScaledDotProductAttentionDecode", Ink::Blue),
    ("ScaledDotProductAttentionGQADecode", Ink::Blue),
    ("NlpCreateHeadsDeviceOperation", Ink::Blue),
    ("NLPConcatHeadsDecodeDeviceOperation", Ink::Blue),
    ("UpdateCache", Ink::Blue),
];

/// Colour of an operation's name.
pub(crate) fn of_label(label: &str) -> Ink {
    OPERATIONS.iter().find(|(part, _)| label.contains(part)).map_or(Ink::White, |(_, ink)| *ink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_a_name_has_decides() {
        for (label, ink) in [
            ("AllGatherMatmulDeviceOperation 32 x 64 x 32", Ink::Magenta),
            ("Matmul (torch)", Ink::Red),
            ("Conv2dDeviceOperation 8 x 8 x 8", Ink::Orange),
            ("AllGatherAsyncDeviceOperation", Ink::Cyan),
            ("PagedUpdateCacheDeviceOperation", Ink::Blue),
            ("Transpose", Ink::White),
        ] {
            assert_eq!(of_label(label), ink, "{label}");
        }
    }

    #[test]
    fn colours_are_those_of_256() {
        let paint = Paint { colored: true };
        assert_eq!(paint.text("x", Some(Ink::Orange)), "\u{1b}[38;5;208mx\u{1b}[0m");
        assert_eq!(paint.text("", Some(Ink::Red)), "");
        assert_eq!(Paint { colored: false }.text("x", Some(Ink::Red)), "x");
    }
}

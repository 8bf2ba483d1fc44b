//! What the text of an operation's attributes says: `{'key': 'value'; 'config': 'Config(a=1;b=2)'}`.
//!
//! The profiler writes a `;` for every comma.

/// Numbers of a program configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramConfig {
    pub(crate) inner_block_width: Option<u32>,
    pub(crate) out_subblock_h: Option<u32>,
    pub(crate) out_subblock_w: Option<u32>,
}

/// Numbers of the program configuration; none without one.
pub(crate) fn program_config(attributes: &str) -> ProgramConfig {
    if !attributes.contains("program_config") {
        return ProgramConfig::default();
    }
    ProgramConfig {
        inner_block_width: first_number(attributes, "in0_block_w="),
        out_subblock_h: first_number(attributes, "out_subblock_h="),
        out_subblock_w: first_number(attributes, "out_subblock_w="),
    }
}

/// Digits behind the first occurrence of `marker` that has digits behind it.
fn first_number(attributes: &str, marker: &str) -> Option<u32> {
    attributes.match_indices(marker).find_map(|(at, _)| {
        let rest = &attributes[at + marker.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        (end > 0).then(|| rest[..end].parse().ok())
    })?
}

/// Text behind the first occurrence of `marker`.
pub(crate) fn after<'a>(attributes: &'a str, marker: &str) -> Option<&'a str> {
    attributes.split_once(marker).map(|(_, rest)| rest)
}

/// Whole number from behind `marker` up to the next `;`.
pub(crate) fn number_after(attributes: &str, marker: &str) -> Option<u64> {
    after(attributes, marker)?.split(';').next()?.trim().parse().ok()
}

/// Value of an attribute: quoted if any occurrence of its key has a quoted value, else up to the next separator.
pub(crate) fn value<'a>(attributes: &'a str, key: &str) -> Option<&'a str> {
    let quoted = |rest: &'a str| {
        let rest = rest.strip_prefix(['\'', '"'])?;
        let end = rest.find(['\'', '"']).filter(|end| *end > 0)?;
        Some(&rest[..end])
    };
    let bare = |rest: &'a str| {
        let end =
            rest.find(|c: char| matches!(c, ';' | ',' | '}') || c.is_whitespace()).unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    };
    values(attributes, key).find_map(quoted).or_else(|| values(attributes, key).find_map(bare))
}

/// Text behind `'key':` of every occurrence.
fn values<'a>(attributes: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    attributes.match_indices(key).filter_map(move |(at, found)| {
        attributes[..at].ends_with(['\'', '"']).then_some(())?;
        let rest = attributes[at + found.len()..].strip_prefix(['\'', '"'])?;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    })
}

/// Height and width of the sliding window (`window_hw=(3;3); …`).
pub(crate) fn window(attributes: &str) -> Option<(u64, u64)> {
    let text = after(attributes, "window_hw")?.split("; ").next()?;
    // Between `=(` and `)`.
    let mut inner = text.chars();
    inner.next()?;
    inner.next()?;
    inner.next_back()?;
    let mut parts = inner.as_str().split(';').map(|part| part.trim().parse::<u64>().ok().filter(|n| *n > 0));
    Some((parts.next()??, parts.next()??))
}

/// The first `count` pieces of a nested tuple behind `marker`, with commas: `(3;3)` gives `(3,3)`.
pub(crate) fn tuple(attributes: &str, marker: &str, count: usize) -> Option<String> {
    let pieces: Vec<&str> = after(attributes, marker)?.split(';').take(count).collect();
    Some(pieces.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_program_config_are_its_first_ones() {
        let text =
            "{'program_config': 'Config(in0_block_w=2;out_subblock_h=x;out_subblock_h=4;out_subblock_w=1)'}";
        let config = program_config(text);
        assert_eq!(config.inner_block_width, Some(2));
        assert_eq!((config.out_subblock_h, config.out_subblock_w), (Some(4), Some(1)));
        assert_eq!(program_config("{'other': 'Config(in0_block_w=2)'}"), ProgramConfig::default());
        assert_eq!(program_config("program_config in0_block_w=99999999999").inner_block_width, None);
    }

    #[test]
    fn values_may_be_quoted_either_way_or_bare() {
        assert_eq!(value("{'nnz': '8'; 'x': 'y'}", "nnz"), Some("8"));
        assert_eq!(value("{\"nnz\" : \"8\"}", "nnz"), Some("8"));
        assert_eq!(value("{'nnz': 8; 'x': 'y'}", "nnz"), Some("8"));
        assert_eq!(value("{'nnz': std::nullopt}", "nnz"), Some("std::nullopt"));
        assert_eq!(value("{'nnzs': '8'}", "nnz"), None);
        assert_eq!(value("{'x': 'nnz'}", "nnz"), None);
        assert_eq!(value("", "nnz"), None);
    }

    #[test]
    fn windows_need_two_whole_numbers() {
        assert_eq!(window("window_hw=(3;5); stride_hw=(1;1)"), Some((3, 5)));
        for broken in [
            "",
            "window_hw",
            "window_hw=",
            "window_hw=(3)",
            "window_hw=(a;3); ",
            "window_hw=(0;3); ",
            "window_hwé",
        ] {
            assert_eq!(window(broken), None, "{broken}");
        }
    }

    #[test]
    fn tuples_keep_their_nesting() {
        assert_eq!(
            tuple("padding=((1; 1); (1; 0)); output", "padding=", 4).as_deref(),
            Some("((1, 1), (1, 0))")
        );
        assert_eq!(tuple("padding=1", "padding=", 4).as_deref(), Some("1"));
        assert_eq!(tuple("", "padding=", 4), None);
    }
}

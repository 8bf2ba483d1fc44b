//! What the path of a recording tells of it.

use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use regex::Regex;

/// Where the path of a recording tells the rank: a regular expression with a group `rank`, else its first group.
#[derive(Clone, Debug)]
pub struct RankPattern(Regex);

impl RankPattern {
    /// The pattern of TraceLens: `rank` and a number.
    pub const USUAL: &'static str = r"rank[\[\-_/]?(?P<rank>\d+)";

    /// The rank: by the name of the file, else by the whole path.
    #[must_use]
    pub fn rank(&self, path: &Path) -> Option<u32> {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let whole = path.to_string_lossy();
        let found =
            name.as_deref().and_then(|name| self.0.captures(name)).or_else(|| self.0.captures(&whole))?;
        found.name("rank").or_else(|| found.get(1))?.as_str().parse().ok()
    }
}

impl FromStr for RankPattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        Regex::new(text).map(RankPattern)
    }
}

/// The rank by [`RankPattern::USUAL`].
pub(crate) fn usual_rank_of_path(path: &Path) -> Option<u32> {
    static PATTERN: OnceLock<Option<RankPattern>> = OnceLock::new();
    PATTERN.get_or_init(|| RankPattern::USUAL.parse().ok()).as_ref()?.rank(path)
}

/// The host: of a file that PyTorch's TensorBoard handler named (`HOST_PID.TIME.pt.trace.json`), else a folder above
/// the file that is called `node…` or `host…` with a number.
pub(crate) fn host_of_path(path: &Path) -> Option<String> {
    static FILE_PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    static FOLDER_PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern =
        |cell: &'static OnceLock<Option<Regex>>, text| cell.get_or_init(|| Regex::new(text).ok()).as_ref();
    let file_pattern = pattern(&FILE_PATTERN, r"^(.+)_\d+\.\d+(?:\.\d+)?\.pt\.trace\.json")?;
    let folder_pattern = pattern(&FOLDER_PATTERN, r"(?i)^(?:node|host)[-_]?[\w.-]*\d[\w.-]*$")?;
    let name = path.file_name()?.to_string_lossy();
    if let Some(found) = file_pattern.captures(&name).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned());
    }
    let folders = path.parent()?.components().rev().map(|part| part.as_os_str().to_string_lossy());
    folders.map(|folder| folder.into_owned()).find(|folder| folder_pattern.is_match(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_hosts_by_path() {
        for (path, rank, host) in [
            ("rank3_trace.json", Some(3), None),
            ("t/rank[12].json.gz", Some(12), None),
            ("rank-7/trace.json", Some(7), None),
            ("rank_1/rank2.json", Some(2), None),
            ("gpu-a17_4711.1690000000123.pt.trace.json.gz", None, Some("gpu-a17")),
            ("job/node_04/rank9.json", Some(9), Some("node_04")),
            ("hosts/trace.json", None, None),
        ] {
            let path = Path::new(path);
            assert_eq!(usual_rank_of_path(path), rank, "{path:?}");
            assert_eq!(host_of_path(path).as_deref(), host, "{path:?}");
        }
        let own: RankPattern = r"worker(\d+)".parse().unwrap();
        assert_eq!(own.rank(Path::new("worker5.json")), Some(5));
    }
}

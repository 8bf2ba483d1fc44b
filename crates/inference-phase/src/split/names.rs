//! What files with parts of a trace are called.

use std::path::Path;

use super::load::WindowLoad;

/// Longest file name that every common file system takes, in bytes.
const LONGEST: usize = 255;

const ENDING: &str = ".json.gz";

/// A trace file's name without what tells its format.
#[must_use]
pub fn base_name(trace: &Path) -> String {
    let mut name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for ending in [".zip", ".gz", ".zst", ".json", ".pt.trace"] {
        if let Some(base) = name.strip_suffix(ending).filter(|base| !base.is_empty()) {
            name.truncate(base.len());
        }
    }
    name
}

/// The file of one step.
pub(crate) fn of_step(base: &str, index: usize, name: Option<&str>) -> String {
    let stem = format!("{base}_annotation_iteration_{index}");
    match name {
        Some(name) => shortened(format!("{stem}_{}", plain(name)), ""),
        None => shortened(stem, ""),
    }
}

/// The file of several steps.
pub(crate) fn of_window(label: &str, load: &WindowLoad, base: &str) -> String {
    let stem = format!(
        "{label}_prefill_{}_prefilldecode_{}_decode_{}_bs{}_conc{}_",
        load.prefill, load.mixed, load.decode, load.mean_batch_size, load.mean_requests
    );
    shortened(stem, base)
}

/// The parts and the ending, what is too much cut off at the end of the parts.
fn shortened(stem: String, rest: &str) -> String {
    let mut name = stem + rest;
    while name.len() > LONGEST - ENDING.len() {
        name.pop();
    }
    name + ENDING
}

/// A name without what a path cannot have.
fn plain(name: &str) -> String {
    let is_kept = |&c: &char| !matches!(c, ')' | ':');
    let replaced = |c: char| match c {
        '/' | '\\' | '(' | ' ' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    name.chars().filter(is_kept).map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_traces_are_taken_off() {
        for (path, base) in [
            ("dir/rank0.123.pt.trace.json.gz", "rank0.123"),
            ("rank0.pt.trace.json", "rank0"),
            ("a.json.zip", "a"),
            ("a.json.zst", "a"),
            ("a.trace", "a.trace"),
            (".json", ".json"),
        ] {
            assert_eq!(base_name(Path::new(path)), base);
        }
    }

    #[test]
    fn names_of_steps_are_made_fit_for_paths() {
        let name = of_step("t", 3, Some("execute_context_0(0)_x/y: z\n\\"));
        assert_eq!(name, "t_annotation_iteration_3_execute_context_0_0_x_y_z__.json.gz");
        assert_eq!(of_step("t", 3, None), "t_annotation_iteration_3.json.gz");
        let long = of_step("t", 3, Some(&"é".repeat(300)));
        assert!(long.len() <= 255 && long.ends_with("é.json.gz"), "{long}");
    }
}

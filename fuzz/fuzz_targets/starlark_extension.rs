//! Extension scripts: loading, a model of each operator that they have one for, and their rule on a tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tracelens_fuzz::script_probe;

fuzz_target!(|text: &str| {
    script_probe::run(text);
});

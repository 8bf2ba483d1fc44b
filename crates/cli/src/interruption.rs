//! Ctrl-C.

/// What a shell reports of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Makes Ctrl-C remove the files that are being written before it ends the program, with exit code 130. What was
/// at their destinations stays.
///
/// Only for a process that is the command's own. Where Ctrl-C is ignored, as in a script's background jobs, or handled
/// otherwise, it stays so. A signal that asks for no answer, such as SIGKILL, leaves temporary files behind but no
/// damaged ones.
pub fn clean_up_when_interrupted() {
    // Without a handler Ctrl-C ends the program too, only less tidily.
    let _ = ctrlc::try_set_handler(|| {
        let _no_file_is_made = atomic_file::remove_unfinished();
        std::process::exit(INTERRUPTED);
    });
}

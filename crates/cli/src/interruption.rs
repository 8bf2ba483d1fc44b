//! Ctrl-C, and the signals that end programs: SIGTERM and SIGHUP.

/// What a shell reports of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Makes Ctrl-C, SIGTERM and SIGHUP remove the files and folders that are being written before they end the program, with
/// exit code 130. What was at their destinations stays.
///
/// Only for a process that is the command's own. Where one of them is ignored, as Ctrl-C in a script's background
/// jobs and SIGHUP by `nohup`, or handled otherwise, all stay as they are. A signal that asks for no answer, such as
/// SIGKILL, leaves temporary files behind but no damaged ones.
pub fn clean_up_when_interrupted() {
    // Without a handler Ctrl-C ends the program too, only less tidily.
    let _ = ctrlc::try_set_handler(|| {
        let _no_file_is_made = atomic_file::remove_unfinished();
        std::process::exit(INTERRUPTED);
    });
}

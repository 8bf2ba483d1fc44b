//! The detector.

use trace2tree::TraceTree;

use crate::level::Level;
use crate::program::Program;
use crate::reason::Reason;

/// What the detector may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// Marks that say step: `ProfilerStep#12`, annotations of engines, runs of XLA programs.
    pub use_recorded_steps: bool,
    /// Other ranges that the program named.
    pub use_annotations: bool,
    /// Python frames, where the tree has them.
    pub use_frames: bool,
}

impl Default for DetectOptions {
    fn default() -> Self {
        DetectOptions { use_recorded_steps: true, use_annotations: true, use_frames: true }
    }
}

/// The iterations of a program on all levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterations {
    levels: Vec<Level>,
    steps: Option<usize>,
    reason: Reason,
    program: Program,
}

impl Iterations {
    /// Finds the iterations of a trace. Where nothing repeats there are no levels, and [`Iterations::reason`] says why.
    #[must_use]
    pub fn detect(tree: &TraceTree, options: &DetectOptions) -> Iterations {
        let _ = (tree, options);
        Iterations {
            levels: Vec::new(),
            steps: None,
            reason: Reason::NothingRecorded,
            program: Program::Unknown,
        }
    }

    /// All levels, outermost first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The level that a person would call steps.
    #[must_use]
    pub fn steps(&self) -> Option<&Level> {
        self.levels.get(self.steps?)
    }

    /// Why [`Iterations::steps`] is the level that it is, or why there is none.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// What kind of program was recorded.
    #[must_use]
    pub fn program(&self) -> Program {
        self.program
    }
}

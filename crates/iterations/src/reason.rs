//! Why a level is the steps, or why there are none.

use std::fmt;

use crate::level::{LevelKind, with_article};

/// Why [`crate::Iterations::steps`] is the level that it is. Displays as a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The recorder or the program marked its steps with this name.
    Marked(String),
    /// An inference engine annotated its steps.
    EngineAnnotations,
    /// Runs of this compiled program cover most device time.
    ProgramRuns(String),
    /// So many runs of compiled programs come in turn.
    ProgramsInTurn(usize),
    /// A range of this name, or a call of this frame, comes once per pass of the outermost loop.
    Repeats(String),
    /// Each step ends with an update of the parameters.
    ParameterUpdates,
    /// The same, but so many updates follow one another before the program does something else: a step of the program
    /// may have all of them.
    UpdatesInGroups(usize),
    /// Training without an optimizer in the recording: each step is a forward and a backward pass.
    ForwardBackward,
    /// Each step ends with the choice of tokens.
    TokenChoices,
    /// The longest sequence of operators or kernels that repeats.
    LongestRepeat,
    /// The program changes: what repeats at first is not what repeats later.
    Changes,
    /// One image alone was made, so its denoising steps are the steps.
    OneImage,
    /// One pass over the model alone was recorded; what repeats are its parts.
    SinglePass(Option<LevelKind>),
    /// Graphs are captured, which happens once, before the program begins; what repeats are their parts.
    Capture,
    /// What repeats does not cover enough of the work.
    NothingRepeats,
    /// Neither operators nor device work were recorded.
    NothingRecorded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Marked(name) => write!(f, "the recording marks its steps with {name}"),
            Reason::EngineAnnotations => f.write_str("the inference engine annotated its steps"),
            Reason::ProgramRuns(name) => write!(f, "runs of the program {name} cover most device time"),
            Reason::ProgramsInTurn(runs) => write!(f, "the same sequence of {runs} program runs repeats"),
            Reason::Repeats(name) => write!(f, "{name} occurs once per pass of the outermost loop"),
            Reason::ParameterUpdates => f.write_str("each step ends with a parameter update"),
            Reason::UpdatesInGroups(updates) => write!(
                f,
                "each step ends with a parameter update, but the program does other work after every {updates} \
                 updates, so these may be one step"
            ),
            Reason::ForwardBackward => {
                f.write_str("no optimizer was recorded, so a step is one forward and backward pass")
            }
            Reason::TokenChoices => f.write_str("each step ends with token sampling"),
            Reason::LongestRepeat => f.write_str("it is the longest repeating sequence of work"),
            Reason::Changes => f.write_str(
                "the program changes: early and late repetitions do different \
                work",
            ),
            Reason::OneImage => {
                f.write_str("only one image was generated, so each denoising step counts as a step")
            }
            Reason::SinglePass(Some(parts)) => {
                let part = with_article(parts.as_str());
                write!(f, "only one pass was recorded; within it, {part} repeats")
            }
            Reason::SinglePass(None) => f.write_str("only one pass was recorded"),
            Reason::Capture => f.write_str("graphs were captured, but no repeating work was run"),
            Reason::NothingRepeats => f.write_str("no repetition covers most of the work"),
            Reason::NothingRecorded => f.write_str("neither operators nor device work were recorded"),
        }
    }
}

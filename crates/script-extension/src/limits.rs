//! How much a script may use.

use std::time::{Duration, Instant};

use starlark::eval::Evaluator;

use crate::error::Fault;

/// How much a script may use.
///
/// Work is counted in calls and passes of loops, so that a script ends at the same place on every machine; the
/// clock is for work that this does not see. What would make a large value out of little (`"a" * n`,
/// `list(range(n))`, `text.replace(…)`) is refused before it is made. A single call of a builtin function is not
/// interrupted, so what only takes time in one, such as comparing lists that hold one another many times over, is not
/// bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls and passes of loops while loading, which takes no more than seconds.
    pub loading_steps: u64,
    /// The same for the rule on the tree, which may look at millions of events.
    pub tree_steps: u64,
    /// The same for one model.
    pub model_steps: u64,
    /// Bytes of the script's values. A text may have a 64th of them.
    pub memory_bytes: usize,
    /// Functions that call each other.
    pub call_depth: usize,
    /// Time of loading, of the tree's postprocessing, and of one model.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            loading_steps: 10_000_000,
            tree_steps: 100_000_000,
            model_steps: 1_000_000,
            memory_bytes: 1 << 30,
            call_depth: 50,
            time: Duration::from_secs(60),
        }
    }
}

/// Bytes of a compiled script, which the interpreter counts among the values.
const COMPILED: usize = 64 << 20;

impl Limits {
    /// Puts an evaluator under the limits.
    pub(crate) fn apply(self, steps: u64, eval: &mut Evaluator<'_, '_, '_>) -> Result<Instant, Fault> {
        let until = Instant::now() + self.time;
        eval.set_check_cancelled(Box::new(move || Instant::now() > until));
        eval.set_max_callstack_size(self.call_depth.max(1))
            .and_then(|()| eval.set_max_heap_size(self.memory_bytes.saturating_add(COMPILED)))
            .and_then(|()| eval.set_max_tick_count(steps.max(1)))
            .map_err(|error| Fault::limit(error.to_string()))?;
        Ok(until)
    }

    /// The limit that ended an evaluation, if one did.
    pub(crate) fn exceeded(
        self,
        steps: u64,
        until: Instant,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> Option<String> {
        if eval.get_total_tick_count() > steps {
            Some(format!("the script made {steps} calls and passes of loops without an end"))
        } else if eval.heap().peak_allocated_bytes() > self.memory_bytes {
            Some(format!("the script holds more than {} MiB", self.memory_bytes >> 20))
        } else if Instant::now() > until {
            Some(format!("the script ran longer than {} s", self.time.as_secs_f64()))
        } else {
            None
        }
    }
}

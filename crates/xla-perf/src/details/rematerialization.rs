//! Device time of values that are computed again.

use super::origin::{Share, origins, shares};
use tree_perf::{Column, ColumnKind, Unit};
use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// Whether an instruction computes a value again that was computed before and thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rematerialization {
    /// In the backward pass, because `jax.checkpoint` says so.
    Framework,
    /// Because the compiler saves memory that way.
    Compiler,
    /// No: the first computation in a region that may be computed again.
    Checkpointed,
    /// No.
    None,
}

impl Rematerialization {
    const ALL: [Self; 4] = [Self::Framework, Self::Compiler, Self::Checkpointed, Self::None];

    /// By the framework's path and the instruction's name. JAX puts what it computes again into
    /// `rematted_computation`, and the region is a `checkpoint` or, in old releases, a `remat`; the compiler adds `.remat` to the names
    /// of its copies.
    fn of(op_name: &str, instruction: &str) -> Self {
        let is_copy =
            |part: &str| part.starts_with("remat") && part[5..].bytes().all(|byte| byte.is_ascii_digit());
        if op_name.contains("rematted_computation") {
            Self::Framework
        } else if instruction.split('.').skip(1).any(is_copy) {
            Self::Compiler
        } else if op_name.contains("checkpoint") || op_name.contains("remat") {
            Self::Checkpointed
        } else {
            Self::None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Framework => "recomputed by jax.checkpoint",
            Self::Compiler => "recomputed by the compiler",
            Self::Checkpointed => "first computation in a checkpointed region",
            Self::None => "other",
        }
    }
}

/// One row per kind.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "rematerialization",
    current_name: "rematerialization",
    description: "Share of the device time that computes values again to save memory; left out where nothing is computed again or may be.",
    columns: &[
        Column::new(
            "kind",
            ColumnKind::Text,
            "Recomputed by jax.checkpoint (op_name has rematted_computation), recomputed by the compiler (the instruction is a .remat copy), first computation in a region that may be computed again (op_name has checkpoint or remat), or other.",
        ),
        Column::new("instructions", ColumnKind::Count, "Instructions."),
        Column::new("executions", ColumnKind::Count, "Their executions on all GPUs."),
        Column::new("kernels", ColumnKind::Count, "Kernels, copies and fills of these."),
        Column::new(
            "total_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum in ms over executions of the time in which a kernel of the instruction ran.",
        ),
        Column::new(
            "percent",
            ColumnKind::Number(Unit::Percent),
            "Share of the device time of all rows, in percent.",
        ),
    ],
    chart: None,
    build: |analysis| {
        let mut kinds = Rematerialization::ALL.map(|kind| (kind, Share::default()));
        for ((origin, share), operator) in
            origins(analysis).iter().zip(&shares(analysis)).zip(analysis.operators())
        {
            let op_name = origin.as_ref().map_or("", |origin| origin.op_name.as_str());
            let of = Rematerialization::of(op_name, &operator.name);
            kinds.iter_mut().filter(|(kind, _)| *kind == of).for_each(|(_, sum)| sum.add(share));
        }
        let rows: Vec<_> = kinds.iter().filter(|(_, share)| share.calls > 0).collect();
        if rows.iter().all(|(kind, _)| *kind == Rematerialization::None) {
            return Ok(None);
        }
        let whole = rows.iter().fold(0_i64, |sum, (_, share)| sum.saturating_add(share.time));
        let mut frame = FrameBuilder::default();
        frame.text("kind", rows.iter().map(|(kind, _)| Some(kind.name())));
        frame.integer("instructions", rows.iter().map(|(_, share)| Some(share.instructions as i64)));
        frame.integer("executions", rows.iter().map(|(_, share)| Some(share.calls as i64)));
        frame.integer("kernels", rows.iter().map(|(_, share)| Some(share.kernels as i64)));
        frame.float("total_time_ms", rows.iter().map(|(_, share)| Some(analysis.ms(share.time))));
        frame.float("percent", rows.iter().map(|(_, share)| percent(share.time, whole)));
        frame.finish().map(Some)
    },
};

#[cfg(test)]
mod tests {
    use super::Rematerialization::{self, Checkpointed, Compiler, Framework, None};

    #[test]
    fn paths_and_names_tell_what_is_computed_again() {
        let cases = [
            ("jit(f)/transpose(jvp(checkpoint))/rematted_computation/dot_general", "dot.3", Framework),
            ("jit(f)/jvp(checkpoint)/dot_general", "dot.1", Checkpointed),
            ("jit(f)/remat(core)/dot_general", "dot.1", Checkpointed),
            ("jit(f)/dot_general", "fusion.12.remat2", Compiler),
            ("jit(f)/dot_general", "fusion.remat.1", Compiler),
            ("jit(f)/dot_general", "fusion.12", None),
            ("", "remat", None),
        ];
        for (op_name, instruction, kind) in cases {
            assert_eq!(Rematerialization::of(op_name, instruction), kind, "{op_name} {instruction}");
        }
    }
}

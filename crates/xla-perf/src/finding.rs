//! One sentence on where the time of the GPUs goes.

use std::collections::BTreeMap;
use std::fmt;

use super::analysis::JaxAnalysis;
use super::gpu::stem;

/// What most of the kernel time went to, and how much of the time the GPUs did anything.
#[derive(Clone, Debug, PartialEq)]
pub struct JaxFinding {
    /// Kind of work with the most kernel time.
    pub category: String,
    /// Its share of the kernel time, 0 to 1.
    pub category_share: f64,
    /// Instruction with the most kernel time, without its number.
    pub operator: String,
    /// Its share of the kernel time, 0 to 1.
    pub operator_share: f64,
    /// Share of the GPUs' time in which something computed, 0 to 1.
    pub compute_share: f64,
    /// Share of the GPUs' time in which nothing ran, 0 to 1.
    pub idle_share: f64,
}

/// Where the time goes; `None` when nothing took time on a GPU.
#[must_use]
pub fn jax_finding(analysis: &JaxAnalysis) -> Option<JaxFinding> {
    let (mut categories, mut names) = (BTreeMap::new(), BTreeMap::new());
    for call in analysis.calls() {
        let operator = &analysis.operators()[call.operator];
        *categories.entry(operator.category.as_str()).or_insert(0) += call.time;
        *names.entry(stem(&operator.name)).or_insert(0) += call.time;
    }
    let all: i64 = categories.values().sum();
    let most = |sums: BTreeMap<&str, i64>| {
        let (name, time) = sums.into_iter().max_by_key(|&(_, time)| time)?;
        Some((name.to_owned(), time as f64 / all as f64))
    };
    if all <= 0 {
        return None;
    }
    let ((category, category_share), (operator, operator_share)) = (most(categories)?, most(names)?);
    let sum = |time: fn(&gpu_timeline::Breakdown) -> i64| {
        analysis.gpus().iter().map(|gpu| time(&gpu.breakdown)).sum::<i64>() as f64
    };
    let total = sum(|breakdown| breakdown.total);
    Some(JaxFinding {
        category,
        category_share,
        operator,
        operator_share,
        compute_share: sum(|breakdown| breakdown.computation) / total,
        idle_share: sum(|breakdown| breakdown.idle) / total,
    })
}

impl fmt::Display for JaxFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [category, operator, compute, idle] =
            [self.category_share, self.operator_share, self.compute_share, self.idle_share]
                .map(|share| share * 100.0);
        if self.idle_share > 0.5 {
            write!(
                f,
                "program is bound by what feeds the GPUs: idle {idle:.1} % of the time; of kernel time "
            )?;
        } else {
            write!(f, "program is bound by {}: ", self.category)?;
        }
        write!(
            f,
            "{} {category:.1} %, {} {operator:.1} %; compute {compute:.1} % of the time",
            self.category, self.operator
        )
    }
}

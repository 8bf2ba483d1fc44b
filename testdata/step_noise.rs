//! How the steps of a program scatter: what the rule of a gate is tried on.

use crate::random::Random;

/// Noise of the steps of a run and between runs. Amounts are shares of the time of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepNoise {
    /// Steps of a run. The first one is slow.
    pub steps: usize,
    /// Standard deviation between runs.
    pub run_sd: f64,
    /// How often a step is slow.
    pub slow_steps: f64,
    /// Most that a run becomes slower or faster by, from its first step to its last.
    pub drift: f64,
}

impl StepNoise {
    /// Runs of 20 steps, of which 3% are slow, with drifts of up to 1%.
    pub const fn between_runs(run_sd: f64) -> Self {
        StepNoise { steps: 20, run_sd, slow_steps: 0.03, drift: 0.01 }
    }

    /// The times of the steps of a run, as multiples of that of an undisturbed step.
    pub fn run(&self, random: &mut Random) -> Vec<f64> {
        /// Standard deviation of a step, and how much of its deviation the next one has.
        const SD: f64 = 0.015;
        const CORRELATION: f64 = 0.3;
        /// Mean by which the first step and slow steps are longer.
        const FIRST: f64 = 0.3;
        const SLOW: f64 = 0.25;
        let run = (self.run_sd * random.normal()).exp();
        let drift = self.drift * (2.0 * random.unit() - 1.0);
        let mut deviation = random.normal();
        let mut times = Vec::with_capacity(self.steps);
        for step in 0..self.steps {
            if step > 0 {
                deviation =
                    CORRELATION * deviation + (1.0 - CORRELATION * CORRELATION).sqrt() * random.normal();
            }
            let at = step as f64 / (self.steps.max(2) - 1) as f64;
            let mut time = (1.0 + SD * deviation) * (1.0 + drift * at);
            if step == 0 {
                time += random.exponential(FIRST);
            }
            if random.unit() < self.slow_steps {
                time += random.exponential(SLOW);
            }
            times.push(run * time);
        }
        times
    }
}

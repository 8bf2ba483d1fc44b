//! The requests of an inference engine: when they come, how long they are, and which of their tokens a step computes.

use perf_models::{StepStatistics, TokenStatistics};

use super::Workload;
use super::random::Random;
use super::serving::Batch;

/// What clients send.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrivals {
    /// As many clients as the engine has places; a new request comes as soon as one is answered.
    Steady { places: u64, prompt: u64, answer: u64 },
    /// Agents whose requests repeat all that was said before, and who run tools between an answer and the next request.
    Agents { agents: u64, system_prompt: u64 },
}

impl Arrivals {
    pub(super) fn draw(workload: Workload, random: &mut Random) -> Self {
        match workload {
            Workload::ServingAgentic => {
                Arrivals::Agents { agents: random.between(2, 8), system_prompt: random.between(500, 4_000) }
            }
            _ => Arrivals::Steady {
                places: random.between(4, 25),
                prompt: random.between(100, 1_500),
                answer: random.between(10, 60),
            },
        }
    }
}

/// A client with its request: what the cache has of it, what is to be computed, and what is to be answered.
#[derive(Debug, Clone, Copy)]
struct Request {
    cached: u64,
    prompt: u64,
    answer: u64,
    /// When it comes, in nanoseconds of the engine's own count.
    arrival: u64,
}

/// Chooses the tokens of each step: all that generate, and of prompts as many as fit.
pub(super) struct Scheduler {
    arrivals: Arrivals,
    requests: Vec<Request>,
    /// Most tokens of a step; longer prompts are computed in parts.
    budget: u64,
    now: u64,
}

/// How long the count of time takes a step to be: it only orders steps and arrivals.
const STEP_NANOSECONDS: u64 = 4_000_000;

impl Scheduler {
    pub(super) fn new(arrivals: Arrivals, random: &mut Random) -> Self {
        let budget = 1 << random.between(9, 13);
        let mut scheduler = Self { arrivals, requests: Vec::new(), budget, now: 0 };
        let (Arrivals::Steady { places: clients, .. } | Arrivals::Agents { agents: clients, .. }) = arrivals;
        scheduler.requests = (0..clients).map(|_| scheduler.first_request(random)).collect();
        scheduler
    }

    fn first_request(&self, random: &mut Random) -> Request {
        match self.arrivals {
            Arrivals::Steady { prompt, answer, .. } => Request {
                cached: 0,
                prompt: random.about(prompt),
                answer: random.between(2, 2 * answer),
                arrival: self.now,
            },
            // The first agent's prompt is in the cache when the others come.
            Arrivals::Agents { system_prompt, .. } => Request {
                cached: if self.now > 0 || random.between(0, 2) == 1 { system_prompt } else { 0 },
                prompt: random.about(system_prompt),
                answer: random.between(4, 24),
                arrival: random.between(0, 6 * STEP_NANOSECONDS),
            },
        }
    }

    /// The request that comes after one was answered.
    fn next_request(&self, answered: Request, random: &mut Random) -> Request {
        match self.arrivals {
            Arrivals::Steady { .. } => self.first_request(random),
            Arrivals::Agents { .. } => Request {
                prompt: random.between(30, 900),
                answer: random.between(4, 24),
                arrival: self.now + random.between(1, 20) * STEP_NANOSECONDS,
                ..answered
            },
        }
    }

    /// How long the engine waits for work, in nanoseconds, and what its next step computes.
    pub(super) fn next(&mut self, random: &mut Random) -> (u64, Batch) {
        let first = self.requests.iter().map(|request| request.arrival).min().unwrap_or(self.now);
        let idle = first.saturating_sub(self.now);
        self.now += idle;
        let mut batch = Batch::default();
        let mut statistics = StepStatistics::default();
        let mut budget = self.budget;
        for at in 0..self.requests.len() {
            let request = &mut self.requests[at];
            if request.arrival > self.now || budget == 0 {
                continue;
            }
            batch.cached_tokens += request.cached;
            let tokens = request.prompt.clamp(1, budget);
            budget -= tokens;
            request.cached += tokens;
            let kind_statistics =
                if request.prompt > 0 { &mut statistics.context } else { &mut statistics.generation };
            add(kind_statistics, tokens, request.cached);
            if request.prompt > 0 {
                batch.context_requests += 1;
                batch.context_tokens += tokens;
                request.prompt -= tokens;
            } else {
                batch.generation_requests += 1;
            }
            // The step that ends the prompt gives the first token of the answer.
            if request.prompt == 0 {
                request.answer = request.answer.saturating_sub(1);
                if request.answer == 0 {
                    let answered = *request;
                    self.requests[at] = self.next_request(answered, random);
                }
            }
        }
        self.now += STEP_NANOSECONDS;
        // What agents' steps cost, their requests do not show.
        batch.statistics = matches!(self.arrivals, Arrivals::Agents { .. }).then_some(statistics);
        (idle, batch)
    }
}

/// Adds a request with so many new tokens, which attend to so many.
fn add(sums: &mut TokenStatistics, queries: u64, keys: u64) {
    let [queries, keys] = [queries, keys].map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
    sums.queries += queries;
    sums.keys += keys;
    sums.squared_queries += queries * queries;
    sums.query_key_pairs += queries * keys;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(arrivals: Arrivals, seed: u64) -> Vec<(u64, Batch)> {
        let mut random = Random::new(seed);
        let mut scheduler = Scheduler::new(arrivals, &mut random);
        (0..400).map(|_| scheduler.next(&mut random)).collect()
    }

    #[test]
    fn steady_serving_never_idles_and_keeps_all_places_busy() {
        let batches = batches(Arrivals::Steady { places: 8, prompt: 200, answer: 20 }, 3);
        assert!(
            batches.iter().all(|(idle, batch)| *idle == 0 && batch.requests() <= 8 && batch.tokens() > 0)
        );
        let late = &batches[50..];
        assert!(late.iter().filter(|(_, batch)| batch.requests() == 8).count() * 10 > 9 * late.len());
        let mixed = late.iter().filter(|(_, batch)| batch.context_requests > 0).count();
        assert!(mixed > 20 && mixed < late.len() / 2, "{mixed}");
    }

    #[test]
    fn agents_pause_and_their_cached_prefixes_grow() {
        let batches = batches(Arrivals::Agents { agents: 3, system_prompt: 1_000 }, 5);
        assert!(batches.iter().all(|(_, batch)| batch.requests() > 0));
        assert!(batches.iter().any(|(idle, _)| *idle > STEP_NANOSECONDS));
        for (_, batch) in &batches {
            let StepStatistics { context, generation } = batch.statistics.expect("statistics");
            assert_eq!((context.queries + generation.queries) as u64, batch.tokens());
            let cached = context.keys + generation.keys - context.queries - generation.queries;
            assert_eq!(cached as u64, batch.cached_tokens);
        }
        let cached = |part: &[(u64, Batch)]| {
            part.iter().map(|(_, batch)| batch.cached_tokens / batch.requests()).max().unwrap_or_default()
        };
        assert!(cached(&batches[300..]) > 2 * cached(&batches[..50]));
        let sizes: std::collections::BTreeSet<u64> =
            batches.iter().map(|(_, batch)| batch.requests()).collect();
        assert!(sizes.len() > 2, "{sizes:?}");
    }
}

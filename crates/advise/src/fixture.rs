//! Small facts for tests.

use gpu_timeline::{Activity, Breakdown, DeviceEvent, HostActivity, Interval, Wait, WaitCause};
use perf_models::{Category, ComputeSpec, ComputeUnit, DataPath, Precision};

use crate::facts::{Call, Copied, Facts, Input, LeastTime, Machine, Operator, Work};

/// A kernel on queue 0, of no call.
pub(crate) fn work(launch: i64, start: i64, end: i64) -> Work {
    Work {
        event: DeviceEvent::new(start, end, Activity::Computation).launched(Some(launch)),
        name: 0,
        call: None,
        launched: None,
        exposed: end - start,
        uid: start as u32,
        copy: None,
        message: None,
    }
}

/// Facts of kernels one after the other on one queue, in nanoseconds, launched early but where a gap says otherwise.
#[derive(Default)]
pub(crate) struct Program {
    facts: Facts,
    now: i64,
}

impl Program {
    pub(crate) fn new() -> Self {
        let machine = Machine {
            name: "machine".into(),
            bytes_per_us: 3.35e6,
            matrix_flops_per_us: vec![
                (Precision::Bf16, 989.4e6),
                (Precision::Tf32, 494.7e6),
                (Precision::Fp32, 67e6),
            ],
            units: Some(132),
            is_nominal: true,
        };
        let facts = Facts { units_per_us: 1000, machine: Some(machine), ..Facts::default() };
        Program { facts, now: 1_000_000 }
    }

    fn name(&mut self, name: &str) -> u32 {
        let known = self.facts.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.facts.names.push(name.to_owned());
            self.facts.names.len() - 1
        }) as u32
    }

    /// The device waits for a launch.
    pub(crate) fn late(mut self, us: f64) -> Self {
        if self.facts.works.is_empty() {
            return self;
        }
        let span = Interval::between(self.now, self.now + (us * 1e3) as i64);
        let (event, cause) = (self.facts.works.len() as u32, WaitCause::Host(HostActivity::Other));
        self.facts.idle.push(Wait { span, event, cause, waited_for: None });
        self.now = span.end;
        self
    }

    /// A call of one kernel.
    pub(crate) fn call(
        mut self,
        name: &str,
        kind: Category,
        us: f64,
        least: LeastTime,
        inputs: &[Input],
    ) -> Self {
        let named = self.name(name);
        let known =
            self.facts.operators.iter().position(|known| known.name == named && known.inputs == inputs);
        let operator = known.unwrap_or_else(|| {
            self.facts.operators.push(Operator {
                name: named,
                category: kind.as_str().to_owned(),
                kind: Some(kind),
                arguments: format!("{} inputs", inputs.len()),
                inputs: inputs.to_vec(),
                product: matches!(kind, Category::Gemm).then_some(crate::Product {
                    m: 4096,
                    n: 4096,
                    k: 4096,
                    batch: 1,
                }),
                change: (name == "aten::copy_").then_some(crate::facts::DataChange::Copy),
                unknown: None,
            });
            self.facts.operators.len() - 1
        });
        let (start, end) = (self.now, self.now + (us * 1e3) as i64);
        let bytes = Some(least.memory_us * 3.35e6);
        let uid = self.facts.works.len() as u32;
        self.facts.works.push(Work {
            call: Some(self.facts.calls.len() as u32),
            name: named,
            uid,
            ..work(
                if self.facts.idle.last().is_some_and(|idle| idle.event == uid) { start - 5000 } else { 0 },
                start,
                end,
            )
        });
        self.facts.calls.push(Call {
            operator: operator as u32,
            time: end - start,
            bytes,
            least: Some(least),
            uid,
            tile: None,
            module: None,
            recomputed: false,
        });
        self.now = end;
        self
    }

    /// One more device event of the last call, after its others.
    pub(crate) fn also(mut self, us: f64, copy: Option<Copied>) -> Self {
        let Some(&last) = self.facts.works.last().as_ref() else { return self };
        let (start, end) = (self.now, self.now + (us * 1e3) as i64);
        let activity = if copy.is_some() { Activity::Memcpy } else { Activity::Computation };
        let uid = self.facts.works.len() as u32;
        let (call, name) = (last.call, last.name);
        let event = DeviceEvent::new(start, end, activity).launched(Some(0));
        self.facts.works.push(Work { call, name, uid, event, copy, ..work(0, start, end) });
        if let Some(call) = self.facts.calls.last_mut() {
            call.time += end - start;
        }
        self.now = end;
        self
    }

    /// The extents of the last call's product.
    pub(crate) fn with_extents(mut self, [m, n, k]: [u64; 3]) -> Self {
        if let Some(operator) = self.facts.operators.last_mut() {
            operator.product = Some(crate::Product { m, n, k, batch: 1 });
        }
        self
    }

    /// The facts with their breakdown.
    pub(crate) fn facts(mut self) -> Facts {
        let events = self.facts.works.iter().map(|work| work.event);
        self.facts.breakdown = Breakdown::from_events(events, None).unwrap_or_default();
        self.facts.works = Work::charged(self.facts.works);
        self.facts
    }
}

/// A BF16 product of square matrices at a share of the peak: its time in µs, and the least.
pub(crate) fn product(extent: f64, share: f64) -> (f64, LeastTime) {
    let flops = 2.0 * extent.powi(3);
    let least = LeastTime {
        compute_us: flops / 989.4e6,
        memory_us: 6.0 * extent.powi(2) / 3.35e6,
        path: DataPath::Memory,
        flops,
        spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Bf16 }),
        ..LeastTime::default()
    };
    (least.compute_us / share, least)
}

/// An elementwise kernel that reads and writes so many BF16 elements, at 80% of the bandwidth.
pub(crate) fn elementwise(elements: f64) -> (f64, LeastTime) {
    let memory_us = 4.0 * elements / 3.35e6;
    (memory_us / 0.8 + 2.0, LeastTime { memory_us, path: DataPath::Memory, ..LeastTime::default() })
}

/// A BF16 tensor.
pub(crate) fn tensor(shape: &[u64]) -> Input {
    Input { shape: shape.to_vec(), element_bytes: 2.0 }
}

/// Two BF16 tensors of one shape.
pub(crate) fn operands(shape: &[u64]) -> [Input; 2] {
    [tensor(shape), tensor(shape)]
}

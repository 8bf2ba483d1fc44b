//! Agents of CSV files: their description, and how records refer to them.

use super::table::{Fault, Names, Table};
use crate::error::IngestError;
use crate::rocprof::builder::{Machines, ProfileBuilder};
use crate::rocprof::profile::{Agent, AgentKind};
use crate::string_table::lossy;

/// The agents of one process.
#[derive(Default)]
pub(super) struct Agents {
    host: Option<String>,
    described: Vec<Described>,
    /// What a text in a record about an agent of a kind refers to, and whether the files describe that agent. A
    /// machine has a handful, so these are searched one by one.
    known: Vec<(Vec<u8>, AgentKind, u32, bool)>,
}

/// The numbers by which records may refer to an agent.
struct Described {
    kind: AgentKind,
    /// On the machine (`--agent-index absolute`).
    node: i64,
    /// Among the visible agents (`--agent-index relative`, the default).
    logical: i64,
    /// Among those of its kind (`--agent-index type-relative`).
    ordinal: i64,
    position: u32,
}

const NODE: Names = &["node_id"];
const KIND: Names = &["agent_type", "type"];

impl Agents {
    pub(super) fn new(host: Option<String>) -> Self {
        Agents { host, ..Agents::default() }
    }

    /// Reads the file that describes the agents.
    pub(super) fn describe(
        &mut self,
        table: &mut Table<'_>,
        builder: &mut ProfileBuilder,
        machines: &mut Machines,
    ) -> Result<(), IngestError> {
        let [node, kind] = table.required([NODE, KIND])?;
        let logical = table.column(&["logical_node_id"]);
        let ordinal = table.column(&["logical_node_type_id"]);
        let name = table.column(&["name"]);
        let product = table.column(&["product_name"]);
        const NUMBERS: [Names; 7] = [
            &["cu_count"],
            &["simd_per_cu"],
            &["max_waves_per_simd"],
            &["wave_front_size"],
            &["lds_size_in_kb"],
            &["num_xcc"],
            &["max_engine_clk_fcompute"],
        ];
        let numbers = NUMBERS.map(|names| table.column(names));
        let mut next_of_kind = [0; 3];
        table.rows(|row| {
            let node = row.integer(node)?.ok_or_else(|| Fault("Node_Id is empty".to_string()))?;
            let logical = row.integer(logical)?.unwrap_or(node);
            let kind = match row.bytes(kind).to_ascii_uppercase().as_slice() {
                b"CPU" | b"1" => AgentKind::Cpu,
                b"GPU" | b"2" => AgentKind::Gpu,
                _ => AgentKind::Unknown,
            };
            let next = &mut next_of_kind[kind as usize];
            let ordinal = row.integer(ordinal)?.unwrap_or(*next);
            *next = ordinal + 1;
            let [compute_units, simds, waves, wave_size, lds, dies, clock] = numbers.map(|column| {
                row.unsigned(column).ok().flatten().and_then(|value| u32::try_from(value).ok())
            });
            let mut text = |column| {
                let text = lossy(row.bytes(column), &mut builder.invalid_utf8);
                (!text.is_empty()).then(|| text.into_owned())
            };
            let agent = Agent {
                kind,
                label: format!("Agent {logical}"),
                name: text(name),
                product_name: text(product),
                node_id: Some(node),
                logical_node_id: Some(logical),
                ordinal: Some(ordinal),
                compute_units,
                simds_per_compute_unit: simds,
                max_waves_per_simd: waves,
                wave_size,
                lds_kib: lds,
                dies,
                max_clock_mhz: clock,
                ..Agent::default()
            };
            let position = machines.agent(builder, self.host.as_deref(), agent);
            self.described.push(Described { kind, node, logical, ordinal, position });
            Ok(())
        })
    }

    /// The agent that a record of something on an agent of `kind` refers to. `None` where it refers to none.
    pub(super) fn find(
        &mut self,
        text: &[u8],
        kind: AgentKind,
        builder: &mut ProfileBuilder,
        machines: &mut Machines,
    ) -> Option<u32> {
        if text.is_empty() {
            return None;
        }
        let known = self.known.iter().find(|(other, wanted, _, _)| *wanted == kind && other == text);
        let (position, described) = match known {
            Some(&(_, _, position, described)) => (position, described),
            None => {
                let (position, described) = match self.described_as(text, kind) {
                    Some(position) => (position, true),
                    None => (machines.agent(builder, self.host.as_deref(), undescribed(text, kind)), false),
                };
                self.known.push((text.to_vec(), kind, position, described));
                (position, described)
            }
        };
        if !described && !self.described.is_empty() {
            builder.unknown_agents += 1;
        }
        Some(position)
    }

    /// `Agent 4` and `4` give the number among all agents, `GPU 0` that among those of a kind.
    fn described_as(&self, text: &[u8], wanted: AgentKind) -> Option<u32> {
        let text = std::str::from_utf8(text).ok()?;
        let (words, number) = text.rsplit_once(' ').unwrap_or(("", text));
        let number: i64 = number.trim().parse().ok()?;
        let kind_agent =
            |kind| self.described.iter().find(|agent| agent.kind == kind && agent.ordinal == number);
        let found = match words.trim().to_ascii_uppercase().as_str() {
            "GPU" => kind_agent(AgentKind::Gpu),
            "CPU" => kind_agent(AgentKind::Cpu),
            _ => {
                // The files do not say which numbers they use. They differ where some agents are hidden; then
                // a number that no agent of the right kind has is one of the machine.
                let suits = |agent: &&Described| wanted == AgentKind::Unknown || agent.kind == wanted;
                let logical = || self.described.iter().filter(|agent| agent.logical == number);
                let absolute = || self.described.iter().filter(|agent| agent.node == number);
                logical()
                    .find(suits)
                    .or_else(|| absolute().find(suits))
                    .or_else(|| logical().next())
                    .or_else(|| absolute().next())
            }
        };
        found.map(|agent| agent.position)
    }
}

/// What is known of an agent that only records name.
fn undescribed(text: &[u8], kind: AgentKind) -> Agent {
    let text = String::from_utf8_lossy(text);
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    let label = if number { format!("Agent {text}") } else { text.into_owned() };
    Agent { kind, label, ..Agent::default() }
}

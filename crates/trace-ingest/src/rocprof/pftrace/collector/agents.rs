//! The agents that slices name.

use super::Collector;
use crate::rocprof::pftrace::arguments::{Arguments, Key};
use crate::rocprof::profile::{Agent, AgentKind};

impl Collector {
    /// The agent that an argument names.
    pub(super) fn agent(&mut self, arguments: &Arguments<'_>, key: Key, kind: AgentKind) -> Option<u32> {
        let device: Option<i64> = (key == Key::Agent).then(|| arguments.integer(Key::Device)).flatten();
        let label = arguments.text(key).or_else(|| device.map(|device| device.to_string().into()))?;
        let node = node_number(&label);
        let position = match node.and_then(|node| self.numbered_agents.get(&node)) {
            Some(&position) => position,
            None => self.builder.agent(&label, || Agent {
                label: label.to_string(),
                logical_node_id: node,
                ..Agent::default()
            }),
        };
        if let Some(node) = node {
            self.numbered_agents.entry(node).or_insert(position);
        }
        let agent = &mut self.builder.profile.agents[position as usize];
        // What dispatches call an agent is its name.
        if key == Key::Agent && agent.label != *label {
            agent.label = label.to_string();
        }
        if agent.kind == AgentKind::Unknown {
            agent.kind = kind;
        }
        agent.ordinal = agent.ordinal.or(device);
        Some(position)
    }
}

/// The number of a node by which an agent is called: `2`, `Agent 2`, `Agent-2`.
fn node_number(label: &str) -> Option<i64> {
    let digits = label.strip_prefix("Agent").map_or(label, |rest| rest.trim_start_matches([' ', '-', '_']));
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_number_are_one() {
        for (label, number) in [
            ("2", Some(2)),
            ("Agent 2", Some(2)),
            ("Agent-12", Some(12)),
            ("GPU-0", None),
            ("Agent", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(node_number(label), number, "{label:?}");
        }
    }
}

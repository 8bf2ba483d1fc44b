//! Agents of several machines told apart, those of several processes of one machine put together.

use hashbrown::HashMap;

use super::builder::ProfileBuilder;
use super::profile::Agent;

/// Which agents were added for which machine. Processes of one machine describe the same agents; processes of
/// different machines call different agents by the same labels.
#[derive(Default)]
pub(crate) struct Machines {
    /// Machine (name of the host) and position, by label.
    owners: HashMap<String, Vec<(Option<String>, u32)>>,
}

impl Machines {
    /// Position of an agent of `host`, added when its label is new there. On a second machine the label gets the
    /// name of the machine. An agent that records named before it was described takes the description.
    pub(crate) fn agent(
        &mut self,
        builder: &mut ProfileBuilder,
        host: Option<&str>,
        mut agent: Agent,
    ) -> u32 {
        let owners = self.owners.entry(agent.label.clone()).or_default();
        if let Some((_, position)) = owners.iter().find(|(owner, _)| owner.as_deref() == host) {
            let known = &mut builder.profile.agents[*position as usize];
            if known.node_id.is_none() && agent.node_id.is_some() {
                agent.label.clone_from(&known.label);
                *known = agent;
            }
            return *position;
        }
        if !owners.is_empty() {
            agent.label = match host {
                Some(host) => format!("{} ({host})", agent.label),
                None => format!("{} (machine {})", agent.label, owners.len() + 1),
            };
        }
        let position = builder.add_agent(agent);
        owners.push((host.map(str::to_string), position));
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(label: &str, node_id: Option<i64>) -> Agent {
        Agent { label: label.to_string(), node_id, ..Agent::default() }
    }

    #[test]
    fn one_machine_has_one_agent_of_a_label_and_two_have_two() {
        let mut builder = ProfileBuilder::default();
        let mut machines = Machines::default();
        let first = machines.agent(&mut builder, Some("a"), agent("Agent 2", None));
        assert_eq!(machines.agent(&mut builder, Some("a"), agent("Agent 2", Some(2))), first);
        let second = machines.agent(&mut builder, Some("b"), agent("Agent 2", Some(2)));
        assert_ne!(first, second);
        let third = machines.agent(&mut builder, None, agent("Agent 2", Some(2)));
        let agents = &builder.profile.agents;
        assert_eq!(agents[first as usize], agent("Agent 2", Some(2)));
        assert_eq!(agents[second as usize].label, "Agent 2 (b)");
        assert_eq!(agents[third as usize].label, "Agent 2 (machine 3)");
    }
}

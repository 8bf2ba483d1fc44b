//! Names of CPUs and GPUs as these sheets show them.

use hashbrown::HashMap;
use trace_ingest::rocprof::{Agent, AgentKind, Profile};

/// Name of each agent of a profile: kind and number, `GPU 0`, where the file gives both, else what its records call it.
/// Agents that would have one name, as those of several machines do, are told apart by what records call them.
pub(super) fn agent_names(profile: &Profile) -> Vec<String> {
    let plain = |agent: &Agent| match (agent.kind, agent.ordinal) {
        (AgentKind::Cpu, Some(ordinal)) => format!("CPU {ordinal}"),
        (AgentKind::Gpu, Some(ordinal)) => format!("GPU {ordinal}"),
        _ => agent.label.clone(),
    };
    let names: Vec<String> = profile.agents.iter().map(plain).collect();
    let mut bearers: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *bearers.entry(name.as_str()).or_default() += 1;
    }
    let distinct = |(name, agent): (&String, &Agent)| match bearers.get(name.as_str()) {
        Some(2..) if *name != agent.label => format!("{name} ({})", agent.label),
        _ => name.clone(),
    };
    names.iter().zip(&profile.agents).map(distinct).collect()
}

#[cfg(test)]
mod tests {
    use trace_ingest::rocprof::{Agent, AgentKind, Profile};

    use super::agent_names;

    #[test]
    fn agents_are_named_by_kind_and_number_or_else_by_label() {
        let agent =
            |kind, label: &str, ordinal| Agent { kind, label: label.into(), ordinal, ..Agent::default() };
        let profile = Profile {
            agents: vec![
                agent(AgentKind::Cpu, "100", Some(0)),
                agent(AgentKind::Gpu, "101", Some(0)),
                agent(AgentKind::Gpu, "102", Some(1)),
                agent(AgentKind::Gpu, "201", Some(1)),
                agent(AgentKind::Gpu, "Agent 9", None),
                agent(AgentKind::Unknown, "7", Some(3)),
            ],
            ..Profile::default()
        };
        let names = ["CPU 0", "GPU 0", "GPU 1 (102)", "GPU 1 (201)", "Agent 9", "7"];
        assert_eq!(agent_names(&profile), names);
    }
}
